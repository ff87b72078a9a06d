-- GIVES settle_others
-- TAKES store, prepare, body, call, moves
-- USES now, REST, SCHEDULE, split, join, decode, claim_of, count, remember, body_refer

-- Settling answers of all kinds.
--
-- Order of writes: what is kept of the message, its new place, its claim.  Before the first one,
-- those that come after another are tried (lib/try.lua), so none of these fails in between.

-- The answers have: member, before, attempts, entry, delay and reason.
local function rest(its, attempts)
    redis.call('ZADD', prepare, join(math.min(REST + now + its.delay, SCHEDULE - 1), attempts),
        its.before .. 'r' .. claim_of(its.entry) .. ':' .. its.member)
end

local settle = {}

-- A message with retries used may have a reason; ndone is for the others.
function settle.d(its)
    count('done')
    remember({ its.member })
    moves.reason_drop(its.member, its.attempts)
    body_refer(its.member, -1)
end

-- The handler answered, so it is no suspect any more.
function settle.t(its)
    local attempts = its.attempts - its.attempts % 2
    if attempts >= 2 * moves.limit_of(its.member) then
        count('rejected')
        moves.bury(its.member, its.before, attempts, 'failed', its.reason, its.attempts)
        return
    end
    count('retried')
    moves.history_keep(its.member, its.attempts, 't', its.reason)
    if call.fifo or tonumber(its.delay) > 0 then
        rest(its, attempts + 2)
    else
        moves.give_back(its.member, its.before, attempts + 2)
    end
end

function settle.x(its)
    local attempts = its.attempts - its.attempts % 2
    count('rejected')
    moves.bury(its.member, its.before, attempts, 'rejected', its.reason, its.attempts)
end

-- As if it had never been claimed: a suspect remains one.
function settle.b(its)
    count('released')
    if tonumber(its.delay) > 0 then
        rest(its, its.attempts)
    else
        moves.give_back(its.member, its.before, its.attempts)
    end
end

function settle.h(its)
    moves.lose(its.member, its.before, its.attempts, 'timed_out')
end

-- Settles the answers from a place in ARGV on, and adds to the results.
local function settle_others(from, results)
    moves.try()
    redis.call('ZADD', prepare, 'XX', 0, '-')
    redis.call('ZADD', store, 'XX', 0, '\0')
    redis.call('ZSCORE', store, '\0')
    if body and not redis.acl_check_cmd('HSET', body, '', '') then
        redis.call('HSET', body, '', '') -- ends the call
    end
    for i = from, #ARGV, 4 do
        local entry = ARGV[i + 1]
        local before, letter, member = decode(entry)
        local score = letter == 'c' and redis.call('ZSCORE', prepare, entry)
        if score then
            local _, attempts = split(score)
            settle[ARGV[i]]({
                member = member, before = before, attempts = attempts, entry = entry,
                delay = ARGV[i + 2], reason = ARGV[i + 3]
            })
            redis.call('ZREM', prepare, entry)
        end
        results[#results + 1] = score and 1 or 0
    end
end
