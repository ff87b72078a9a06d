#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, deletion (its number)
-- RETURN OK: the slot is open again, and that deletion cannot seal it any more
--        | GONE: another creation of the topic, or sealed by another deletion, or not open
--
-- Order of writes: none is needed, as there is one.

deletion = tonumber(deletion)

-- @include def

local stored, sealed = unpack(redis.call('HMGET', slot, 'def', 'sealed'))
sealed = tonumber(sealed or 0)
if stored and def_split(stored) ~= def_split(def) or not stored and sealed ~= deletion then
    return { 'GONE' }
elseif not stored then
    redis.call('HSET', slot, 'def', def)
elseif sealed < deletion then
    redis.call('HSET', slot, 'sealed', deletion)
end
return { 'OK' }
