#!lua flags=no-writes
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV def, kind, counters...
-- RETURN OK, now, waiting, due, claimed, resting, dead, oldest_due, next_due (empty: none), owner,
--        token, paused 0/1, scheduled (of those that wait), stalled (claims whose leases have
--        ended), first_end (of all leases; empty: nothing is claimed), stalled_due, oldest (SINCE
--        OWNER ENTRY; empty: none), attempts (of that), then the counters of these names
--        | NO_TOPIC | STALE
--
-- oldest_due: when the first due message became due.  Kinds p, b and f, which have no times: when
-- the message that comes first was sent first; inline, where no time is stored, none.
-- next_due: when the first waiting or resting message is due; in kinds without times waiting
-- messages are due now, but for those that are scheduled, which count as waiting, too.
-- stalled_due: when the stalled message whose lease ended first was due, or was sent first, as of
-- oldest_due; empty: none is, or no time is stored.
-- oldest: the claim that has been in work for longest, as an owner has noted it
-- (lib/oldest.lua), but a whole message has the member that it would have beside its body; without
-- ENTRY if it is longer than 400 bytes.

local timed, priority = kind == 'm' or kind == 't', kind == 'p' or kind == 'b'

local known = redis.call('HMGET', slot, 'def', 'owner', 'token', 'paused', 'oldest',
    unpack(ARGV, COUNTERS))
-- @include def
local refused = def_refused(known[1], def)
if refused then
    return refused
end

-- @include clock
-- @include score
-- @include entry
-- @include whole
-- @include oldest

-- When the message was sent first; nil: that is not stored.
local function sent_at(member)
    if body and is_whole(member) then
        return tonumber(string.sub(whole_read(member).id, 1, 12), 16)
    end
    local header = body and redis.call('HGET', body, 'h' .. member)
    return header and tonumber(string.match(header, '^%d+'))
end

-- What is said of the oldest claim, by what is noted of it.
local function shown(note)
    local head, entry = string.match(note, '^(%d+ [^ ]+ )(.*)$')
    local _, _, member = decode(entry)
    if body and member and is_whole(member) then
        entry = string.sub(entry, 1, #entry - #member) .. whole_member(member)
    end
    return #head + #entry <= 400 and head .. entry or head
end

-- The first score of a range; nil: none.
local function head(key, from)
    local found = redis.call('ZRANGE', key, from, '(+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    return found[1] and split(found[2])
end

local waiting = redis.call('ZCARD', store) - 1

local due, oldest, next_due = waiting, nil, nil
if timed then
    due = redis.call('ZCOUNT', store, '-inf', before_score(now + 1))
    next_due = head(store, '-inf')
    oldest = due > 0 and next_due or nil
elseif waiting > 0 then
    next_due = now
    local rank = kind == 'f' and 0 or -1 -- the largest priority is the last
    oldest = body and sent_at(redis.call('ZRANGE', store, rank, rank)[1])
end
local claimed = redis.call('ZCOUNT', prepare, 0, before_score(REST))
local scheduled = priority and redis.call('ZCOUNT', prepare, SCHEDULE, '(inf') or 0
local resting = redis.call('ZCARD', prepare) - 1 - claimed - scheduled
if resting > 0 then
    next_due = math.min(next_due or math.huge, head(prepare, REST) - REST)
end
if scheduled > 0 then
    next_due = math.min(next_due or math.huge, head(prepare, SCHEDULE) - SCHEDULE)
end

local stalled, first_end, stalled_due = 0, nil, nil
if claimed > 0 then
    local first = redis.call('ZRANGE', prepare, 0, 0, 'WITHSCORES')
    local before, _, member = decode(first[1])
    stalled = redis.call('ZCOUNT', prepare, 0, before_score(now + 1))
    first_end = split(first[2])
    if stalled > 0 and member then
        stalled_due = timed and tonumber(before) or sent_at(member)
    end
end
local since, score = oldest_claim(known[5])
local _, attempts = split(score or 0)

local reply = {
    'OK', now, waiting + scheduled, due, claimed, resting,
    redis.call('ZCARD', dead) - 1, oldest or '', next_due or '', known[2] or '', known[3],
    known[4] and 1 or 0, scheduled, stalled, first_end or '', stalled_due or '',
    since and shown(known[5]) or '', attempts
}
for i = COUNTERS, #ARGV do
    reply[#reply + 1] = tonumber(known[5 + i - COUNTERS + 1] or 0)
end
return reply
