#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot
-- ARGV def
-- RETURN OK | GONE: another creation of the topic

local store, prepare, dead, why, slot = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

redis.call('HSETNX', slot, 'def', ARGV[1])
local def = redis.call('HGET', slot, 'def')
-- @include def
if def_split(def) ~= def_split(ARGV[1]) then
    return { 'GONE' }
end
return { 'OK' }
