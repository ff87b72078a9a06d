#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, token
-- RETURN OK: the owner's name is removed, the token stays | FENCED, token | NO_TOPIC | STALE
--
-- Order of writes: none is needed, as there is one, and before it perhaps the stamp of the caller.

local stored, current = unpack(redis.call('HMGET', slot, 'def', 'token'))
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end
-- @include token
-- fence: begin
if current ~= token or current == NOBODY then
    return { 'FENCED', current }
end
-- fence: end
if stored ~= def then -- newer than what the slot has: it keeps it
    redis.call('HSET', slot, 'def', def)
end
redis.call('HSET', slot, 'owner', '')
return { 'OK' }
