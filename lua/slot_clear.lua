#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot
-- ARGV limit
-- RETURN OK, more: 1 repeat the call | IN_USE: not sealed, nothing was removed
--
-- What must never go back stays: token, owner, base and claims.

local store, prepare, dead, why, slot = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local limit = math.min(tonumber(ARGV[1]), 1000)

if redis.call('HEXISTS', slot, 'def') == 1 then
    return { 'IN_USE' }
end

-- Ranks, so that nothing is read.  The sentinel is the last, or of a priority store the first.
local function clear(key, count)
    local from = redis.call('ZRANK', key, '') == 0 and 1 or 0
    local many = math.min(count, redis.call('ZCARD', key) - 1)
    if many > 0 then
        redis.call('ZREMRANGEBYRANK', key, from, from + many - 1)
    end
    return count - many
end

local room = clear(store, limit)
room = clear(prepare, room)
local letters = redis.call('ZRANGE', dead, '-inf', '(+inf', 'BYSCORE', 'LIMIT', 0, room)
if #letters > 0 then
    redis.call('HDEL', why, unpack(letters))
    redis.call('ZREM', dead, unpack(letters))
end
local left = redis.call('ZCARD', store) + redis.call('ZCARD', prepare) + redis.call('ZCARD', dead)
redis.call('HDEL', slot, 'parked', 'seq', 'sent', 'merged', 'done', 'retried', 'rejected',
    'expired', 'released', 'lease_lost')
return { 'OK', left > 3 and 1 or 0 }
