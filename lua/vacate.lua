#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, token
-- RETURN OK: the owner's name is forgotten, the token stays | FENCED, token | NO_TOPIC | STALE

local slot = KEYS[1]

local def, token = unpack(redis.call('HMGET', slot, 'def', 'token'))
if not def then
    return { 'NO_TOPIC' }
end
if def ~= ARGV[1] then
    return { 'STALE' }
end
-- @include token
-- fence: begin
if token ~= ARGV[2] or token == NOBODY then
    return { 'FENCED', token }
end
-- fence: end
redis.call('HSET', slot, 'owner', '')
return { 'OK' }
