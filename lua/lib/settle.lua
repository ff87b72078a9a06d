-- USES store, prepare, body, join, REST, SCHEDULE, now, count, reason_drop, remember, body_refer
-- USES limit_of, bury, history_keep, fifo, give_back, lose, TIMED_OUT, decode, split, results
-- USES try_moves

-- Settling answers of all kinds.
--
-- Order of writes: what is kept of the message, its new place, its claim.  Before the first one,
-- those that come after another are tried (lib/try.lua), so none of these fails in between.

local function rest(member, before, claim, attempts, delay)
    redis.call('ZADD', prepare, join(math.min(REST + now + delay, SCHEDULE - 1), attempts),
        before .. 'r' .. claim .. ':' .. member)
end

local settle = {}

-- A message with retries used may have a reason; ndone is for the others.
function settle.d(member, before, claim, attempts)
    count('done')
    if remember then
        remember({ member })
    end
    reason_drop(member, attempts)
    body_refer(member, -1)
end

-- The handler answered, so it is no suspect any more.
function settle.t(member, before, claim, had, delay, reason)
    local attempts = had - had % 2
    if attempts >= 2 * limit_of(member) then
        count('rejected')
        bury(member, before, attempts, 'failed', reason, had)
        return
    end
    count('retried')
    history_keep(member, had, 't', reason)
    if fifo or tonumber(delay) > 0 then
        rest(member, before, claim, attempts + 2, delay)
    else
        give_back(member, before, attempts + 2)
    end
end

function settle.x(member, before, claim, attempts, delay, reason)
    count('rejected')
    bury(member, before, attempts - attempts % 2, 'rejected', reason, attempts)
end

-- As if it had never been claimed: a suspect remains one.
function settle.b(member, before, claim, attempts, delay)
    count('released')
    if tonumber(delay) > 0 then
        rest(member, before, claim, attempts, delay)
    else
        give_back(member, before, attempts)
    end
end

function settle.h(member, before, claim, attempts)
    lose(member, before, attempts, 'timed_out', TIMED_OUT)
end

-- Settles the answers from a place in ARGV on.
local function settle_others(from)
    try_moves()
    redis.call('ZADD', prepare, 'XX', 0, '-')
    redis.call('ZADD', store, 'XX', 0, '\0')
    redis.call('ZSCORE', store, '\0')
    if body and not redis.acl_check_cmd('HSET', body, '', '') then
        redis.call('HSET', body, '', '') -- ends the call
    end
    for i = from, #ARGV, 4 do
        local entry = ARGV[i + 1]
        local before, letter, claim, member = decode(entry)
        local score = letter == 'c' and redis.call('ZSCORE', prepare, entry)
        if score then
            local _, attempts = split(score)
            settle[ARGV[i]](member, before, claim, attempts, ARGV[i + 2], ARGV[i + 3])
            redis.call('ZREM', prepare, entry)
        end
        results[#results + 1] = score and 1 or 0
    end
end
