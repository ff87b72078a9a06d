#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, generation, coord
-- RETURN OK: it knows what the topic is bound to, since that generation
--        | GONE: another creation of the topic, or it is not open | CHANGED: it knows a later one
--
-- An owner says it by its takeover.  This is for a topic that is bound to something else while
-- nobody owns it.

local slot = KEYS[1]

local def, bound = unpack(redis.call('HMGET', slot, 'def', 'bound'))
-- @include def
-- @include bound
if not def or def_split(def) ~= def_split(ARGV[1]) then
    return { 'GONE' }
elseif not bound_keep(bound, tonumber(ARGV[2]), ARGV[3]) then
    return { 'CHANGED' }
end
return { 'OK' }
