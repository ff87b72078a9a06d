#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body], [done]
-- ARGV deletion (its number), limit, counters...
-- RETURN OK, more: 1 repeat the call | IN_USE: not sealed by that deletion, nothing was removed
--
-- The values that must never decrease stay: token, owner, base, claims, generation and sealed.
--
-- Order of writes: bodies, then the entries that name them, then the rest.  The slot is sealed, so
-- nobody claims what has lost its body, and the next call finds what is left by these entries.

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
        gone[3 * i - 2], gone[3 * i - 1], gone[3 * i] = 'b' .. member, 'h' .. member, 'S' .. member
    end
    if #found > 0 then
        redis.call('HDEL', body, unpack(gone))
        redis.call('ZREM', key, unpack(found))
    end
    return count - #found
end

-- Removes what the slot knows of producers and schedules, and inline of what is scheduled.  true:
-- there may be more.
local function clear_known()
    local cursor, count = '0', 0
    repeat
        local found, gone = redis.call('HSCAN', slot, cursor, 'MATCH', '[PSXY]*', 'COUNT', 1000), {}
        for i = 1, #found[2], 2 do
            gone[#gone + 1] = found[2][i]
        end
        if #gone > 0 then
            redis.call('HDEL', slot, unpack(gone))
        end
        cursor, count = found[1], count + #gone
    until cursor == '0' or count >= limit
    return cursor ~= '0'
end

local empty = body and clear_bodies or clear
local room = empty(store, limit)
room = empty(prepare, room, true)
clear(dead, room)
local left, more = messages_held(), clear_known()
redis.call('HDEL', slot, 'parked', 'passed', 'looked', 'look_again', 'seq', 'swept', 'tick',
    'paused', 'pauses', 'definition', 'version', 'bound', unpack(ARGV, COUNTERS))
-- Data stored for messages is removed at once, and freed in the background.
if left == 0 then
    redis.call('UNLINK', why)
    redis.call('HSET', why, '', '')
-- @include forget_done
    forget_done()
end
return { 'OK', (left > 0 or more) and 1 or 0 }
