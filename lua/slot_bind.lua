#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, generation, coord
-- RETURN OK: the slot has stored the binding of the topic, with its generation
--        | GONE: another creation of the topic, or it is not open | CHANGED: it has a later one
--
-- A takeover stores this, too.  This script is for a topic that is bound to another coordination
-- while its slot has no owner.
--
-- Order of writes: none is needed, as there is one.

local stored, bound = unpack(redis.call('HMGET', slot, 'def', 'bound'))
-- @include def
-- @include bound
if not stored or def_split(stored) ~= def_split(def) then
    return { 'GONE' }
elseif not bound_keep(bound, tonumber(generation), coord) then
    return { 'CHANGED' }
end
return { 'OK' }
