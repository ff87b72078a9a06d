#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV deletion (its number), limit
-- RETURN OK, more: 1 repeat the call | IN_USE: not sealed by that deletion, nothing was removed
--
-- The values that must never decrease stay: token, owner, base, claims, generation and sealed.

limit = math.min(tonumber(limit), 1000)

local def, sealed = unpack(redis.call('HMGET', slot, 'def', 'sealed'))
if def or tonumber(sealed or 0) ~= tonumber(deletion) then
    return { 'IN_USE' }
end
-- @include held

-- Removes by rank, so that nothing is read.  The sentinel is the last, in a priority store the
-- first.
local function clear(key, count)
    local from = redis.call('ZRANK', key, '') == 0 and 1 or 0
    local many = math.min(count, redis.call('ZCARD', key) - 1)
    if many > 0 then
        redis.call('ZREMRANGEBYRANK', key, from, from + many - 1)
    end
    return count - many
end

-- Keyed: each member may be the last with its body.
local function clear_bodies(key, count, strip)
    local found = redis.call('ZRANGE', key, '(-inf', '(+inf', 'BYSCORE', 'LIMIT', 0, count)
    local gone = {}
    for i, name in ipairs(found) do
        local member = strip and string.sub(name, string.find(name, ':', 1, true) + 1) or name
        gone[2 * i - 1], gone[2 * i] = 'b' .. member, 'h' .. member
    end
    if #found > 0 then
        redis.call('HDEL', body, unpack(gone))
        redis.call('ZREM', key, unpack(found))
    end
    return count - #found
end

local empty = body and clear_bodies or clear
local room = empty(store, limit)
room = empty(prepare, room, true)
clear(dead, room)
local left = messages_held()
redis.call('HDEL', slot, 'parked', 'passed', 'seq', 'paused', 'pauses', 'definition', 'version',
    'bound', 'sent', 'merged', 'done', 'retried', 'rejected', 'expired', 'released', 'lease_lost')
-- Data stored for messages is removed at once, and freed in the background.
if left == 0 then
    redis.call('UNLINK', why)
    redis.call('HSET', why, '', '')
end
return { 'OK', left > 0 and 1 or 0 }
