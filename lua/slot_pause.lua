#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, channel, pauses (the number of this pause or resume), paused (0 or 1)
-- RETURN OK, [failed]: claims stop or are possible again; callers that sleep are woken
--        | CHANGED: the slot has a later pause or resume | NO_TOPIC | STALE
--
-- Order of writes: the number, whether it is paused, who sleeps.  The same call finds its own
-- number, and does the rest.

local stored, parked, last = unpack(redis.call('HMGET', slot, 'def', 'parked', 'pauses'))
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end
if stored ~= def then -- newer than what the slot has: it keeps it
    redis.call('HSET', slot, 'def', def)
end
if tonumber(pauses) < tonumber(last or 0) then
    return { 'CHANGED' }
end

redis.call('HSET', slot, 'pauses', pauses)
if paused == '1' then
    redis.call('HSET', slot, 'paused', 1)
else
    redis.call('HDEL', slot, 'paused')
end
-- @include call_all
local heard, failed = call_all()
if paused == '1' or not parked then
    return { 'OK', failed }
end
-- While the topic was paused no send woke a caller.  If no caller received this message, the next
-- send wakes one.
if heard > 0 then
    redis.call('HDEL', slot, 'parked')
else
    redis.call('HSET', slot, 'parked', '9007199254740992')
end
return { 'OK', failed }
