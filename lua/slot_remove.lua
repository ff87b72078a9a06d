#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV def
-- RETURN OK: its keys are gone | GONE: it has another def, or was used
--
-- For a slot that a creation made and cannot keep.  It never had an owner or a message.

-- @include held

local stored, claims = unpack(redis.call('HMGET', slot, 'def', 'claims'))
if stored ~= def or claims ~= '0' or messages_held() > 0 then
    return { 'GONE' }
end
redis.call('DEL', store, prepare, dead, why, slot)
if body then
    redis.call('DEL', body)
end
return { 'OK' }
