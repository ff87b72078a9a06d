#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot
-- ARGV def, force (0 or 1), deletion (its number)
-- RETURN OK: def is withdrawn, no script of the topic works here any more
--        | NOT_EMPTY, count (not forced) | GONE: another creation of the topic
--        | CHANGED: this deletion was taken back here

local store, prepare, dead, why, slot = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local deletion = tonumber(ARGV[3])

-- @include def
-- @include held

local def, sealed = unpack(redis.call('HMGET', slot, 'def', 'sealed'))
sealed = tonumber(sealed or 0)
if def and def_split(def) ~= def_split(ARGV[1]) then
    return { 'GONE' }
elseif def and sealed >= deletion then
    return { 'CHANGED' }
end
local held = messages_held()
if def and ARGV[2] == '0' and held > 0 then
    return { 'NOT_EMPTY', held }
end
redis.call('HDEL', slot, 'def')
redis.call('HSET', slot, '', '', 'sealed', math.max(sealed, deletion))
return { 'OK' }
