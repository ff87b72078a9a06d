#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, wake, definition, generation
-- RETURN OK: it is stored, and who sleeps is woken to read the definition | NO_TOPIC
--        | STALE: it is newer

local slot = KEYS[1]

local def, generation = unpack(redis.call('HMGET', slot, 'def', 'generation'))
-- @include def
local refused = def_refused(def, ARGV[1])
if refused then
    return refused
end
local _, version = def_split(ARGV[1])
redis.call('HSET', slot, 'def', ARGV[1], 'definition', ARGV[3], 'version', version, 'generation',
    math.max(tonumber(generation or 0), tonumber(ARGV[4])))
redis.pcall('SPUBLISH', ARGV[2], '')
return { 'OK' }
