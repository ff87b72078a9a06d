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
local members = {}
for i = 4, #ARGV, 2 do
    if ARGV[i] == '' or not tonumber(ARGV[i + 1]) then
        return redis.error_reply('ERR an empty message, or no number for when')
    end
    members[#members + 1] = ARGV[i]
end

-- @include clock
-- @include entry
-- @include count
-- @include wake

-- Kind p: the integer part of a score is the priority, then 32 bits of order: earlier is larger.
local PLACES = 4294967296
seq = tonumber(seq or 0)
if kind == 'p' then
    local after = seq + #members
    if after > PLACES / 2 and redis.call('ZCARD', store) + redis.call('ZCARD', prepare) == 2 then
        seq = 0
    elseif after > PLACES then
        return { 'FULL' }
    end
end

-- The integer part of the score at a new place.
local function place(when)
    if kind == 'p' then
        seq = seq + 1
        return tonumber(when) * PLACES + PLACES - seq
    elseif kind == 'b' then
        return tonumber(when)
    elseif string.sub(when, 1, 1) == '+' then
        return now + tonumber(when)
    end
    return math.max(now, tonumber(when))
end

-- Does a message that waits keep its place when it is sent again?
local function stays(score, when)
    return kind == 'm'
        or kind == 'p' and math.floor(tonumber(score) / PLACES) == tonumber(when)
end

local scores = redis.call('ZMSCORE', store, unpack(members))
local waiting, placed, results, earliest = {}, {}, {}, math.huge
for i, member in ipairs(members) do
    local when, old = ARGV[2 * i + 3], waiting[member] or scores[i]
    if not old or not stays(old, when) then
        local integer, attempts = place(when), 0
        if old then
            local _
            _, attempts = split(old)
        end
        local score = join(integer, attempts)
        waiting[member] = score
        placed[#placed + 1] = score
        placed[#placed + 1] = member
        earliest = math.min(earliest, integer)
    end
    count(old and 'merged' or 'sent')
    results[i] = old and 'm' or 'a'
end

if #placed > 0 then
    redis.call('ZADD', store, unpack(placed))
end
if kind == 'p' then
    redis.call('HSET', slot, 'seq', seq)
end
count_save()
wake(parked, (kind == 'p' or kind == 'b') and #placed > 0 and 0 or earliest)
return { 'OK', table.concat(results) }
