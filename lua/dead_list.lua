#!lua flags=no-writes
-- KEYS dead, why, slot
-- ARGV def, offset, limit
-- RETURN OK, (entry, score, reason)...: oldest first, fewer than limit at the end only
--        | NO_TOPIC | STALE

local dead, why, slot = KEYS[1], KEYS[2], KEYS[3]

local def = redis.call('HGET', slot, 'def')
-- @include def
local refused = def_refused(def, ARGV[1])
if refused then
    return refused
end

local found = redis.call('ZRANGE', dead, '-inf', '(+inf', 'BYSCORE', 'LIMIT', ARGV[2], ARGV[3],
    'WITHSCORES')
local reply = { 'OK' }
for i = 1, #found, 2 do
    reply[#reply + 1] = found[i]
    reply[#reply + 1] = found[i + 1]
    reply[#reply + 1] = redis.call('HGET', why, found[i]) or ''
end
return reply
