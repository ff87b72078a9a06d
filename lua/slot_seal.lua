#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot
-- ARGV def, force (0 or 1)
-- RETURN OK: def is withdrawn, no script of the topic works here any more
--        | NOT_EMPTY, count (not forced) | GONE: another creation of the topic

local store, prepare, dead, why, slot = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local def = redis.call('HGET', slot, 'def')
-- @include def
if def and def_split(def) ~= def_split(ARGV[1]) then
    return { 'GONE' }
end
local left = redis.call('ZCARD', store) + redis.call('ZCARD', prepare) + redis.call('ZCARD', dead)
if def and ARGV[2] == '0' and left > 3 then
    return { 'NOT_EMPTY', left - 3 }
end
redis.call('HDEL', slot, 'def')
return { 'OK' }
