#!lua flags=allow-oom
-- KEYS slot, schedule
-- ARGV def, channel, id, known (the version that the caller has read; 0: there is none), due (ms;
--      empty: never), state (empty: the schedule is removed), definition (empty: it stays)
-- RETURN OK, version, [failed] | MOVED: it has another version | NO_TOPIC | STALE
--
-- What is stored of a schedule: the field X and its id has VERSION,DUE,FIRED,LAST,PAUSED,NOTE, of
-- which `state` is all but VERSION.  The field Y and its id has the definition: parts, each as
-- LEN:BYTES, of which the library alone reads the first, and the others are the message
-- (schedule_tick).  The key `schedule` has the ids by the times when they are due, and the field
-- `tick` of the slot the first of these times, so that consume need not look.  Where no schedule
-- is due it is 2^53.
--
-- Order of writes: when it is due, then the first of all of them, then what is stored of it: until
-- then the same call finds the version that it knows.

local stored, parked, before, tick = unpack(redis.call('HMGET', slot, 'def', 'parked', 'X' .. id,
    'tick'))
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end
local version = tonumber(string.match(before or '0', '^%d+'))
if version ~= tonumber(known) then
    return { 'MOVED' }
end

-- @include clock
-- @include score
-- @include failed
-- @include idle
local sleepers = idle_wake
-- @include wake
-- @include tick

tick_keep()
if due == '' then
    redis.call('ZREM', schedule, id)
else
    redis.call('ZADD', schedule, due, id)
end
if stored ~= def then -- newer than what the slot has: it keeps it
    redis.call('HSET', slot, 'def', def)
end
version = math.max(version + 1, now)
local first = tick_first()
if state == '' then
    redis.call('HSET', slot, 'tick', first)
    redis.call('HDEL', slot, 'X' .. id, 'Y' .. id)
else
    local changed = { 'tick', first, 'X' .. id, string.format('%.0f,', version) .. state }
    if definition ~= '' then
        changed[5], changed[6] = 'Y' .. id, definition
    end
    redis.call('HSET', slot, unpack(changed))
end
if first ~= tick then
    wake(parked, tonumber(first))
end
return { 'OK', version, failed }
