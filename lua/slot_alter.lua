#!lua flags=allow-oom
-- KEYS slot, [done]
-- ARGV def, channel, definition, generation, dedup_ms (0: none)
-- RETURN OK, [failed]: it is stored, and callers that sleep are woken to read the definition
--        | NO_TOPIC | STALE: it is newer
--
-- Order of writes: the definition, the ids that are done.  The same call finds its own version, and
-- does the rest.

local stored, last = unpack(redis.call('HMGET', slot, 'def', 'generation'))
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end
local _, version = def_split(def)
redis.call('HSET', slot, 'def', def, 'definition', definition, 'version', version, 'generation',
    math.max(tonumber(last or 0), tonumber(generation)))
if dedup_ms == '0' then
-- @include forget_done
    forget_done()
end
-- @include call_all
local _, failed = call_all()
return { 'OK', failed }
