#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, wake
-- RETURN OK: it is stored, and who sleeps is woken to read the definition | NO_TOPIC
--        | STALE: it is newer

local slot = KEYS[1]

local def = redis.call('HGET', slot, 'def')
-- @include def
local refused = def_refused(def, ARGV[1])
if refused then
    return refused
end
def_keep(def, ARGV[1])
redis.pcall('SPUBLISH', ARGV[2], '')
return { 'OK' }
