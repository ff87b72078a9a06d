#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot
-- ARGV def, token, kind, wake, n, max_bytes, lease_ms, max_retries, last (shared: -),
--      ndone, entry..., (op, entry, delay, reason)... with op t retry, x reject, b release
-- RETURN OK, now, next (ms, or empty: never by itself), claims, results: 1 done or 0 gone, a
--        character an answer, again: 1 more can be had at once, (entry, attempts)...
--        | FENCED, token | NO_TOPIC | STALE
--
-- In this order: settle answers, bring back rests that are over and claims that lapsed, claim up
-- to n.  If claims were made that the caller does not know (above last: their reply was lost), it
-- gets those again, whatever n is, and no others.  attempts: retries * 2 + suspect.

local store, prepare, dead, why, slot = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local kind, channel = ARGV[3], ARGV[4]
local n, max_bytes = math.min(tonumber(ARGV[5]), 1000), tonumber(ARGV[6])
local lease_ms, max_retries = tonumber(ARGV[7]), tonumber(ARGV[8])
local shared = ARGV[2] == 'shared'

local def, token, base, claims, parked =
    unpack(redis.call('HMGET', slot, 'def', 'token', 'base', 'claims', 'parked'))
if not def then
    return { 'NO_TOPIC' }
end
if def ~= ARGV[1] then
    return { 'STALE' }
end
-- @include token
-- fence: begin
if token ~= ARGV[2] or token == NOBODY then
    return { 'FENCED', token }
end
-- fence: end
base, claims = tonumber(base), tonumber(claims)

-- @include clock
-- @include entry
-- @include first
-- @include count
-- @include give_back
-- @include bury
-- @include lose
-- @include wake

-- 1. Settle.

local results = {}

local function rest(member, before, claim, attempts, delay)
    if tonumber(delay) > 0 then
        redis.call('ZADD', prepare, join(REST + now + delay, attempts),
            before .. 'r' .. claim .. ':' .. member)
    else
        give_back(member, before, attempts)
    end
end

local settle = {}

-- The handler answered, so it is no suspect any more.
function settle.t(member, before, claim, attempts, delay, reason)
    attempts = attempts - attempts % 2
    if attempts < 2 * max_retries then
        count('retried')
        rest(member, before, claim, attempts + 2, delay)
    else
        count('rejected')
        bury(member, before, attempts, reason)
    end
end

function settle.x(member, before, claim, attempts, delay, reason)
    count('rejected')
    bury(member, before, attempts - attempts % 2, reason)
end

-- As if it had never been claimed: a suspect remains one.
function settle.b(member, before, claim, attempts, delay)
    count('released')
    rest(member, before, claim, attempts, delay)
end

-- Looks first, then removes in one command: replicas and the log get one instead of hundreds.
local function settle_done(from, to)
    local scores, present = redis.call('ZMSCORE', prepare, unpack(ARGV, from, to)), {}
    for i = from, to do
        local there = scores[i - from + 1] and ARGV[i] ~= ''
        if there then
            present[#present + 1] = ARGV[i]
        end
        results[#results + 1] = there and 1 or 0
    end
    if #present > 0 then
        count('done', redis.call('ZREM', prepare, unpack(present)))
    end
end

local answers = 11 + tonumber(ARGV[10])
if answers > 11 then
    settle_done(11, answers - 1)
end
for i = answers, #ARGV, 4 do
    local before, letter, claim, member = decode(ARGV[i + 1])
    local score = letter == 'c' and redis.call('ZSCORE', prepare, ARGV[i + 1])
    if score then
        local _, attempts = split(score)
        redis.call('ZREM', prepare, ARGV[i + 1])
        settle[ARGV[i]](member, before, claim, attempts, ARGV[i + 2], ARGV[i + 3])
    end
    results[#results + 1] = score and 1 or 0
end

-- 2. Bring back.  What its own owner meets lapsed stays in hand.

local lease_end = now + lease_ms

local function renew(entry, score)
    local _, attempts = split(score)
    redis.call('ZADD', prepare, 'XX', join(lease_end, attempts), entry)
end

-- The end of the first lease (nil: nothing in hand), whether a suspect has it, the end of the first
-- rest (nil: none).
local function look()
    local head = redis.call('ZRANGE', prepare, 0, 0, 'WITHSCORES')
    if not head[1] or head[1] == '' then
        return nil, false, nil
    end
    local lease, attempts = split(head[2])
    if lease >= REST then
        return nil, false, lease - REST
    end
    local resting = redis.call('ZRANGE', prepare, REST, '(inf', 'BYSCORE', 'LIMIT', 0, 1,
        'WITHSCORES')
    return lease, attempts % 2 == 1, resting[1] and split(resting[2]) - REST
end

-- Does so for all entries whose time is over, from a score on.  true: there may be more.
local function sweep(from, act)
    local over, cut = first(prepare, from, before_score(from + now + 1), 1000, max_bytes)
    for i = 1, #over, 2 do
        act(over[i], over[i + 1])
    end
    return cut
end

local function lapsed(entry, score)
    local before, _, claim, member = decode(entry)
    if not shared and tonumber(claim) > base then
        renew(entry, score)
    else
        local _, attempts = split(score)
        redis.call('ZREM', prepare, entry)
        lose(member, before, attempts)
    end
end

local function rested(entry, score)
    local before, _, _, member = decode(entry)
    local _, attempts = split(score)
    redis.call('ZREM', prepare, entry)
    give_back(member, before, attempts)
end

local more = false
local lease, suspect_in_hand, rest_end = look()
if lease and lease <= now then
    more = sweep(0, lapsed)
end
if rest_end and rest_end <= now then
    more = sweep(REST, rested) or more
end
if lease and lease <= now or rest_end and rest_end <= now then
    lease, suspect_in_hand, rest_end = look()
end

-- 3. Claim.  A suspect is claimed alone, and nothing while one is in hand.

local reply = { 'OK', now, '', claims, table.concat(results), 0 }
local taken = 0

local function deliver(entry, attempts)
    local at = #reply
    reply[at + 1], reply[at + 2] = entry, attempts
end

local function deliver_above(last)
    local all = redis.call('ZRANGE', prepare, 0, before_score(REST), 'BYSCORE', 'WITHSCORES')
    for i = 1, #all, 2 do
        local _, _, claim = decode(all[i])
        if tonumber(claim) > last then
            local _, attempts = split(all[i + 1])
            renew(all[i], all[i + 1])
            deliver(all[i], attempts)
        end
    end
end

local priority = kind == 'p' or kind == 'b'

local function waiting()
    if priority then
        return first(store, '+inf', '(-inf', n, max_bytes, true)
    end
    return first(store, '-inf', before_score(now + 1), n, max_bytes)
end

local function claim()
    local found, moved, bytes = waiting(), {}, 0
    local mark, fresh = string.format('c%.0f:', claims + 1), join(lease_end, 0)
    for i = 1, #found, 2 do
        local member, before, attempts, score = found[i], found[i + 1], 0, fresh
        if string.find(before, '[.e]') then
            before, attempts = split(before)
            before, score = string.format('%.0f', before), join(lease_end, attempts)
        end
        local suspect = attempts % 2 == 1
        bytes = bytes + #member
        if suspect and lease or taken > 0 and bytes > max_bytes then
            break
        end
        local entry = before .. mark .. member
        moved[i], moved[i + 1] = score, entry
        deliver(entry, attempts)
        taken = taken + 1
        lease = math.min(lease or lease_end, lease_end)
        suspect_in_hand = suspect
        if suspect then
            break
        end
    end
    if taken == 0 then
        return
    end
    claims = claims + 1
    redis.call('HSET', slot, 'claims', claims)
    redis.call('ZADD', prepare, unpack(moved))
    if priority then
        redis.call('ZREMRANGEBYRANK', store, -taken, -1)
    else
        redis.call('ZREMRANGEBYRANK', store, 0, taken - 1)
    end
end

local last = tonumber(ARGV[9])
local lost = not shared and last < claims
if lost then
    deliver_above(math.max(last, base))
elseif n > 0 and not suspect_in_hand then
    -- After a failover that lost writes Redis may know less than the owner.
    claims = math.max(claims, last or 0)
    claim()
end
count_save()

-- 4. Say when the next claim can succeed, and sleep until then if nothing came.

local NEVER = 9007199254740992

local function next_claim()
    local earliest = math.min(lease or NEVER, rest_end or NEVER)
    local rank = priority and -1 or 0
    local head = redis.call('ZRANGE', store, rank, rank, 'WITHSCORES')
    if not head[1] or head[1] == '' or suspect_in_hand then
        return earliest
    end
    local due, attempts = split(head[2])
    if lease and attempts % 2 == 1 then
        return earliest
    end
    return math.min(earliest, priority and now or due)
end

local due = next_claim()
reply[3] = due < NEVER and due or ''
reply[4] = claims
reply[6] = (more or lost or due <= now) and 1 or 0

if n > 0 and taken == 0 and reply[6] == 0 then
    -- Shared: until the last of the sleepers' times, so that a send wakes them all.
    redis.call('HSET', slot, 'parked', shared and math.max(due, tonumber(parked or 0)) or due)
elseif shared then
    wake(parked, due)
elseif taken > 0 and parked then
    redis.call('HDEL', slot, 'parked')
end
return reply
