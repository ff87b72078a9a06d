#!lua flags=no-writes
-- KEYS store, prepare, slot, [body]
-- ARGV def, kind, member, score (member empty: of a message of this score in another slot, after
--      "s" if it is scheduled)
-- RETURN OK, before (how many waiting messages come before it here), score
--        | NO_MESSAGE: it does not wait | NO_TOPIC | STALE
--
-- In another slot, the messages of a strictly better priority or time come before it.  Before one
-- that is scheduled come all that are due, and those that are scheduled for an earlier time.

local priority = kind == 'p' or kind == 'b'

local stored = redis.call('HGET', slot, 'def')
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end

-- @include score

-- Those before a message that is scheduled with that score, in its own slot if it is one of them.
local function before_scheduled(its_score, entry)
    local waiting = redis.call('ZCARD', store) - 1
    if entry then
        local first = redis.call('ZCOUNT', prepare, '-inf', string.format('(%.0f', SCHEDULE))
        return { 'OK', waiting + redis.call('ZRANK', prepare, entry) - first, 's' .. its_score }
    end
    local integer = split(its_score)
    local earlier = redis.call('ZCOUNT', prepare, SCHEDULE, string.format('(%.0f', integer))
    return { 'OK', waiting + earlier, 's' .. its_score }
end

local function hint_read(key)
    return redis.call('HGET', key, 'S' .. member)
end

if member ~= '' then
    local its_score = redis.call('ZSCORE', store, member)
    if not its_score then
        local before = priority and hint_read(body or slot) -- lib/hint.lua
        local entry = before and before .. 's:' .. member
        its_score = entry and redis.call('ZSCORE', prepare, entry)
        return its_score and before_scheduled(its_score, entry) or { 'NO_MESSAGE' }
    end
    local rank = redis.call('ZRANK', store, member)
    return { 'OK', priority and redis.call('ZCARD', store) - 1 - rank or rank, its_score }
elseif string.byte(score) == 115 then -- s
    return before_scheduled(string.sub(score, 2))
end

local integer = split(score)
if not priority then
    return { 'OK', redis.call('ZCOUNT', store, '-inf', string.format('(%.0f', integer)), score }
end
-- Kind p: the lower 32 bits are the order of arrival.
local better = kind == 'p' and (math.floor(integer / 4294967296) + 1) * 4294967296 or integer + 1
return { 'OK', redis.call('ZCOUNT', store, string.format('%.0f', better), '+inf'), score }
