-- USES prepare, split, join, lease_end, first, before_score, now, MOST, max_bytes, claims
-- USES claimed_until, decode, shared, base, oldest, lost, lose, LOST, give_back, count, try_moves
-- USES body, slot, hint_drop

-- Bringing back rests that have ended and claims that have expired.  Expired claims of the caller
-- stay claimed while it has a message of that age in flight.  Those that are older have been
-- answered, and a failover has lost the answer: their messages are given back as they were, also
-- before they have expired.  Nobody renews these, so they are the first soon.
--
-- Order of writes: the new place of a message, its old one, and what comes later is tried first.

local function renew(entry, score)
    local _, attempts = split(score)
    redis.call('ZADD', prepare, 'XX', join(lease_end, attempts), entry)
end

-- Calls act(entry, score) for all entries of a range of scores.  true: there may be more.
local function sweep(from, to, act)
    local over, cut = first(prepare, from, before_score(to), MOST, max_bytes)
    try_moves()
    for i = 1, #over, 2 do
        act(over[i], over[i + 1])
    end
    return cut
end

-- Is it of the newest claim, and not renewed since?  hand_over renews those.
local function is_newest(claim, score)
    return tonumber(claim) == claims and split(score) == claimed_until
end

local function lapsed(entry, score)
    local before, _, claim, member = decode(entry)
    local ends, attempts = split(score)
    local own = not shared and tonumber(claim) > base
    if own and tonumber(claim) < oldest then
        count('lease_lost')
        give_back(member, before, attempts)
        redis.call('ZREM', prepare, entry)
    elseif ends > now then
        return
    elseif not own then
        lose(member, before, attempts, 'crashed', LOST)
        redis.call('ZREM', prepare, entry)
    elseif not (lost and is_newest(claim, score)) then
        renew(entry, score)
    end
end

-- Its rest has ended, or it was scheduled and is due (lib/schedule.lua).
local function rested(entry, score)
    local before, letter, _, member = decode(entry)
    local _, attempts = split(score)
    if letter == 's' then
        hint_drop(body or slot, 'S' .. member)
    end
    give_back(member, before, attempts)
    redis.call('ZREM', prepare, entry)
end
