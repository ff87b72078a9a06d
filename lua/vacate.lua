#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, token
-- RETURN OK: the owner's name is forgotten, the token stays | FENCED, token | NO_TOPIC | STALE

local slot = KEYS[1]

local def, token = unpack(redis.call('HMGET', slot, 'def', 'token'))
-- @include def
local refused = def_refused(def, ARGV[1])
if refused then
    return refused
end
-- @include token
-- fence: begin
if token ~= ARGV[2] or token == NOBODY then
    return { 'FENCED', token }
end
-- fence: end
def_keep(def, ARGV[1])
redis.call('HSET', slot, 'owner', '')
return { 'OK' }
