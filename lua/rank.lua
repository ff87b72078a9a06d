#!lua flags=no-writes
-- KEYS store, slot
-- ARGV def, kind, member, score (member empty: of a message of this score in another slot)
-- RETURN OK, how many waiting messages come before it here, score | NO_MESSAGE: it does not wait
--        | NO_TOPIC | STALE
--
-- In another slot come before it those of a strictly better priority or time.

local store, slot = KEYS[1], KEYS[2]
local kind, member = ARGV[2], ARGV[3]
local priority = kind == 'p' or kind == 'b'

local def = redis.call('HGET', slot, 'def')
-- @include def
local refused = def_refused(def, ARGV[1])
if refused then
    return refused
end

if member ~= '' then
    local score = redis.call('ZSCORE', store, member)
    if not score then
        return { 'NO_MESSAGE' }
    end
    local rank = redis.call('ZRANK', store, member)
    return { 'OK', priority and redis.call('ZCARD', store) - 1 - rank or rank, score }
end

local score = math.floor(tonumber(ARGV[4]))
if not priority then
    return { 'OK', redis.call('ZCOUNT', store, '-inf', string.format('(%.0f', score)), ARGV[4] }
end
-- Kind p: the lower 32 bits are the order of arrival.
local better = kind == 'p' and (math.floor(score / 4294967296) + 1) * 4294967296 or score + 1
return { 'OK', redis.call('ZCOUNT', store, string.format('%.0f', better), '+inf'), ARGV[4] }
