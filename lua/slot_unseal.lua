#!lua flags=allow-oom
-- KEYS slot
-- ARGV def, deletion (its number)
-- RETURN OK: what that deletion sealed is open again, and it seals nothing here any more
--        | GONE: another creation of the topic, or sealed by another deletion, or not there

local slot = KEYS[1]
local deletion = tonumber(ARGV[2])

-- @include def

local def, sealed = unpack(redis.call('HMGET', slot, 'def', 'sealed'))
sealed = tonumber(sealed or 0)
if def and def_split(def) ~= def_split(ARGV[1]) or not def and sealed ~= deletion then
    return { 'GONE' }
elseif not def then
    redis.call('HSET', slot, 'def', ARGV[1])
elseif sealed < deletion then
    redis.call('HSET', slot, 'sealed', deletion)
end
return { 'OK' }
