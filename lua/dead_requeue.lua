#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot
-- ARGV def, kind, wake, limit
-- RETURN OK, requeued, left | NO_TOPIC | STALE
--
-- Brings the oldest dead letters back with their own time or priority and all their retries.

local store, prepare, dead, why, slot = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local kind, channel, limit = ARGV[2], ARGV[3], math.min(tonumber(ARGV[4]), 1000)

local def, parked = unpack(redis.call('HMGET', slot, 'def', 'parked'))
if not def then
    return { 'NO_TOPIC' }
end
if def ~= ARGV[1] then
    return { 'STALE' }
end

-- @include entry
-- @include first
-- @include count
-- @include give_back
-- @include wake

local earliest = math.huge
local found = first(dead, '-inf', '(+inf', limit, 1048576)
for i = 1, #found, 2 do
    local before, _, _, member = decode(found[i])
    redis.call('ZREM', dead, found[i])
    redis.call('HDEL', why, found[i])
    earliest = math.min(earliest, give_back(member, before, 0))
end
count_save()
if #found > 0 then
    wake(parked, (kind == 'p' or kind == 'b') and 0 or earliest)
end
return { 'OK', #found / 2, redis.call('ZCARD', dead) - 1 }
