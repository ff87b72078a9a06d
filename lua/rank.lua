#!lua flags=no-writes
-- KEYS store, slot
-- ARGV def, kind, member, score (member empty: of a message of this score in another slot)
-- RETURN OK, before (how many waiting messages come before it here), score
--        | NO_MESSAGE: it does not wait | NO_TOPIC | STALE
--
-- In another slot, the messages of a strictly better priority or time come before it.

local priority = kind == 'p' or kind == 'b'

local stored = redis.call('HGET', slot, 'def')
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end

if member ~= '' then
    local its_score = redis.call('ZSCORE', store, member)
    if not its_score then
        return { 'NO_MESSAGE' }
    end
    local rank = redis.call('ZRANK', store, member)
    return { 'OK', priority and redis.call('ZCARD', store) - 1 - rank or rank, its_score }
end

local integer = math.floor(tonumber(score))
if not priority then
    return { 'OK', redis.call('ZCOUNT', store, '-inf', string.format('(%.0f', integer)), score }
end
-- Kind p: the lower 32 bits are the order of arrival.
local better = kind == 'p' and (math.floor(integer / 4294967296) + 1) * 4294967296 or integer + 1
return { 'OK', redis.call('ZCOUNT', store, string.format('%.0f', better), '+inf'), score }
