#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body], [done]
-- ARGV def
-- RETURN OK: its keys are gone | GONE: it has another def, or was used
--
-- For a slot that a creation made and cannot keep; it never had an owner or a message.  If opening
-- it was denied midway it has no def yet; a slot that was used before has a generation.
--
-- Order of writes: all keys but those of layout keyed, then these.  A slot without the first ones
-- counts as not opened, so the same call removes the rest.

-- @include held

local stored, claims, generation = unpack(redis.call('HMGET', slot, 'def', 'claims', 'generation'))
local opened = stored == def or (not stored and not generation)
if not opened or tonumber(claims or 0) > 0 or messages_held() > 0 then
    return { 'GONE' }
end
redis.call('DEL', store, prepare, dead, why, slot)
if body then
    redis.call('DEL', body, done)
end
return { 'OK' }
