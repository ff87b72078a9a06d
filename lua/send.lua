#!lua
-- KEYS store, prepare, slot
-- ARGV def, kind, wake, (member, when)...
-- RETURN OK, results: a character a message, a added or m merged
--        | NO_TOPIC | STALE | FULL: no places left (kind p), until the slot is empty once
--
-- when: "+MS" from now, "MS" absolute (past means now), or the priority.

local store, prepare, slot = KEYS[1], KEYS[2], KEYS[3]
local kind, channel = ARGV[2], ARGV[3]

local def, parked, seq = unpack(redis.call('HMGET', slot, 'def', 'parked', 'seq'))
if not def then
    return { 'NO_TOPIC' }
end
if def ~= ARGV[1] then
    return { 'STALE' }
end
for i = 4, #ARGV, 2 do
    if ARGV[i] == '' or not tonumber(ARGV[i + 1]) then
        return redis.error_reply('ERR an empty message, or no number for when')
    end
end

-- @include clock
-- @include entry
-- @include count
-- @include wake

-- Kind p: the integer part of a score is the priority, then 32 bits of order: earlier is larger.
local PLACES = 4294967296
seq = tonumber(seq or 0)
if kind == 'p' then
    local after = seq + (#ARGV - 3) / 2
    if after > PLACES / 2 and redis.call('ZCARD', store) + redis.call('ZCARD', prepare) == 2 then
        seq = 0
    elseif after > PLACES then
        return { 'FULL' }
    end
end

-- The integer part for a message that gets a new place.
local function place(when)
    if kind == 'p' then
        return tonumber(when) * PLACES + PLACES - 1 - seq
    elseif kind == 'b' then
        return tonumber(when)
    elseif string.sub(when, 1, 1) == '+' then
        return now + tonumber(when)
    end
    return math.max(now, tonumber(when))
end

-- Sent again while it waits.  Attempts stay.  false: it keeps its place.
local function move(member, when, integer)
    if kind == 'm' then
        return false
    end
    local waiting, attempts = split(redis.call('ZSCORE', store, member))
    if kind == 'p' and math.floor(waiting / PLACES) == tonumber(when) then
        return false
    end
    redis.call('ZADD', store, join(integer, attempts), member)
    return true
end

local results, earliest = {}, math.huge
for i = 4, #ARGV, 2 do
    local member, when = ARGV[i], ARGV[i + 1]
    local integer = place(when)
    local added = redis.call('ZADD', store, 'NX', integer, member) == 1
    local placed = added or move(member, when, integer)
    if placed then
        seq = seq + 1
        earliest = math.min(earliest, integer)
    end
    count(added and 'sent' or 'merged')
    results[#results + 1] = added and 'a' or 'm'
end

if kind == 'p' then
    redis.call('HSET', slot, 'seq', seq)
end
count_save()
if earliest < math.huge then
    wake(parked, (kind == 'p' or kind == 'b') and 0 or earliest)
end
return { 'OK', table.concat(results) }
