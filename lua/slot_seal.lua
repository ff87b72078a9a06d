#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot
-- ARGV def, force (0 or 1), deletion (its number)
-- RETURN OK: def is removed, so the slot refuses all scripts of the topic
--        | NOT_EMPTY, count (not forced) | GONE: another creation of the topic
--        | CHANGED: this deletion was undone
--
-- Order of writes: the definition goes, then the number of the deletion stays.  Both or none: the
-- second is tried first.

deletion = tonumber(deletion)

-- @include def
-- @include held

local stored, sealed = unpack(redis.call('HMGET', slot, 'def', 'sealed'))
sealed = tonumber(sealed or 0)
if stored and def_split(stored) ~= def_split(def) then
    return { 'GONE' }
elseif stored and sealed >= deletion then
    return { 'CHANGED' }
end
local held = messages_held()
if stored and force == '0' and held > 0 then
    return { 'NOT_EMPTY', held }
end
redis.call('HSET', slot, '', '') -- a try
redis.call('HDEL', slot, 'def')
redis.call('HSET', slot, 'sealed', math.max(sealed, deletion))
return { 'OK' }
