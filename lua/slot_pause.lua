#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, wake, pauses (the number of this pause or resume), paused 0/1
-- RETURN OK: from now on nothing, or something again, is claimed; who sleeps is woken to see it
--        | CHANGED: a later pause or resume was here | NO_TOPIC | STALE

local slot = KEYS[1]

local def, parked, pauses = unpack(redis.call('HMGET', slot, 'def', 'parked', 'pauses'))
-- @include def
local refused = def_refused(def, ARGV[1])
if refused then
    return refused
end
def_keep(def, ARGV[1])
if tonumber(ARGV[3]) < tonumber(pauses or 0) then
    return { 'CHANGED' }
end

redis.call('HSET', slot, 'pauses', ARGV[3])
if ARGV[4] == '1' then
    redis.call('HSET', slot, 'paused', 1)
else
    redis.call('HDEL', slot, 'paused')
end
local heard = redis.pcall('SPUBLISH', ARGV[2], '')
if ARGV[4] == '1' or not parked then
    return { 'OK' }
end
-- While it was paused no send woke anybody.  Nobody heard this either: the next one shall.
if type(heard) == 'number' and heard > 0 then
    redis.call('HDEL', slot, 'parked')
else
    redis.call('HSET', slot, 'parked', '9007199254740992')
end
return { 'OK' }
