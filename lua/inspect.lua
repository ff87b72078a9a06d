#!lua flags=no-writes
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV def, kind
-- RETURN OK, now, waiting, due, claimed, resting, dead, oldest_due, next_due (empty: none), owner,
--        token, sent, merged, done, retried, rejected, expired, released, lease_lost, paused 0/1,
--        dead_rejected, dead_failed, dead_crashed, dead_timed_out, dead_expired, dead_bodiless,
--        duplicates
--        | NO_TOPIC | STALE
--
-- oldest_due: when the first due message became due.  Kind f: when the first one was sent first.
-- Kinds p and b: when the oldest one was sent first.  It may have any priority, so only a few are
-- looked at: all, up to LOOK_AT; kind p: else the first of each priority, up to LOOK_AT priorities.
-- None if there are more.
-- Inline, kind p: when the oldest one got its place, or later, as the notes of lib/note.lua say it:
-- by less than a second, or by up to a quarter of its age.  None if it got its place from a script
-- that keeps no notes, or before one.  Kind b: none, because nothing tells a time.
-- next_due: when the first waiting or resting message is due; in kinds without times waiting
-- messages are due now.

local LOOK_AT = 100
local timed = kind == 'm' or kind == 't'

local known = redis.call('HMGET', slot, 'def', 'owner', 'token', 'sent', 'merged', 'done',
    'retried', 'rejected', 'expired', 'released', 'lease_lost', 'paused', 'dead_rejected',
    'dead_failed', 'dead_crashed', 'dead_timed_out', 'dead_expired', 'dead_bodiless',
    'duplicates')
-- @include def
local refused = def_refused(known[1], def)
if refused then
    return refused
end

-- @include clock
-- @include score
-- @include entry
-- @include places

-- The first score of a range; nil: none.
local function head(key, from)
    local found = redis.call('ZRANGE', key, from, '(+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    return found[1] and split(found[2])
end

-- The first send of the oldest of these members; nil: one has no header.
local function first_sent(members)
    local fields, earliest = {}, math.huge
    for i, member in ipairs(members) do
        fields[i] = 'h' .. member
    end
    for _, header in ipairs(redis.call('HMGET', body, unpack(fields))) do
        if not header then
            return nil
        end
        earliest = math.min(earliest, tonumber(string.match(header, '^%d+')))
    end
    return earliest
end

-- Kind p: the first message of each priority, and the smallest place; nil: there are too many.
local function first_of_each()
    local firsts, lowest, up_to = {}, math.huge, '+inf'
    while true do
        local found = redis.call('ZRANGE', store, up_to, '(-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1,
            'WITHSCORES')
        if not found[1] then
            return firsts, lowest
        elseif #firsts == LOOK_AT then
            return nil
        end
        local integer = split(found[2])
        firsts[#firsts + 1], lowest = found[1], math.min(lowest, PLACES - integer % PLACES)
        up_to = before_score(math.floor(integer / PLACES) * PLACES)
    end
end

-- Kind p, inline: when the oldest message got its place, or later; nil: that is not known.
local function placed_at()
    local seq, times = unpack(redis.call('HMGET', slot, 'seq', 'times'))
    if not seq or string.sub(seq, 1, 1) ~= '+' then
        return nil
    end
    local _, lowest = first_of_each()
    if not lowest or lowest > tonumber(seq) then
        return nil
    end
    local placed
    for place, from, span in string.gmatch(times or '', '(%d+):(%d+):(%d+)') do
        if tonumber(place) >= lowest then
            break
        end
        placed = math.min(from + span, now)
    end
    return placed
end

local waiting = redis.call('ZCARD', store) - 1

-- The messages of which one is the oldest; nil: that is not known.
local function oldest_ones()
    if kind == 'f' then
        return redis.call('ZRANGE', store, 0, 0)
    elseif waiting <= LOOK_AT then
        return redis.call('ZRANGE', store, 1, -1) -- the sentinel is before them
    end
    return kind == 'p' and first_of_each()
end

local due, oldest, next_due = waiting, nil, nil
if timed then
    due = redis.call('ZCOUNT', store, '-inf', before_score(now + 1))
    next_due = head(store, '-inf')
    oldest = due > 0 and next_due or nil
elseif waiting > 0 then
    next_due = now
    local ones = body and oldest_ones()
    if ones then
        oldest = first_sent(ones)
    elseif kind == 'p' and not body then
        oldest = placed_at()
    end
end
local claimed = redis.call('ZCOUNT', prepare, 0, before_score(REST))
local rest_end = head(prepare, REST)
if rest_end then
    next_due = math.min(next_due or math.huge, rest_end - REST)
end

local reply = {
    'OK', now, waiting, due, claimed, redis.call('ZCARD', prepare) - 1 - claimed,
    redis.call('ZCARD', dead) - 1, oldest or '', next_due or '', known[2] or '', known[3]
}
for i = 4, 11 do
    reply[#reply + 1] = tonumber(known[i] or 0)
end
reply[#reply + 1] = known[12] and 1 or 0
for i = 13, 19 do
    reply[#reply + 1] = tonumber(known[i] or 0)
end
return reply
