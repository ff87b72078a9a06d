#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV def, kind, wake, limit
-- RETURN OK, requeued, left | NO_TOPIC | STALE
--
-- Brings the oldest dead letters back with their own time or priority and all their retries.

local store, prepare, dead, why, slot, body = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local kind, channel, limit = ARGV[2], ARGV[3], math.min(tonumber(ARGV[4]), 1000)

local def, parked = unpack(redis.call('HMGET', slot, 'def', 'parked'))
-- @include def
local refused = def_refused(def, ARGV[1])
if refused then
    return refused
end

def_keep(def, ARGV[1])

-- @include entry
-- @include first
-- @include count
-- @include body
-- @include give_back
-- @include revive
-- @include wake

local earliest = math.huge
local found = first(dead, '-inf', '(+inf', limit, 1048576)
for i = 1, #found, 2 do
    earliest = math.min(earliest, revive(found[i]))
end
count_save()
if #found > 0 then
    wake(parked, (kind == 'm' or kind == 't') and earliest or 0)
end
return { 'OK', #found / 2, redis.call('ZCARD', dead) - 1 }
