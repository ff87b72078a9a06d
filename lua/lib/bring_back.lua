-- GIVES bring_back
-- TAKES prepare, slot, body, call, state, moves
-- USES now, REST, SCHEDULE, split, join, before_score, decode, claim_of, first, count, hint_drop

-- Bringing back rests that have ended and claims that have expired.  Expired claims of the caller
-- stay claimed while it has a message of that age in flight.  Those that are older have been
-- answered, and a failover has lost the answer: their messages are given back as they were, also
-- before they have expired.  Nobody renews these, so they are the first soon.
--
-- Order of writes: the new place of a message, its old one, and what comes later is tried first.

local function renew(entry, score)
    local _, attempts = split(score)
    redis.call('ZADD', prepare, 'XX', join(call.lease_end, attempts), entry)
end

-- Calls act(entry, score) for all entries of a range of scores.  true: there may be more.
local function sweep(from, to, act)
    local over, cut = first(prepare, from, before_score(to), call.most, call.max_bytes)
    moves.try()
    for i = 1, #over, 2 do
        act(over[i], over[i + 1])
    end
    return cut
end

-- Is it of the newest claim, and not renewed since?  hand_over renews those.
local function is_newest(claim, score)
    return claim == state.claims and split(score) == state.claimed_until
end

local function lapsed(entry, score)
    local before, _, member = decode(entry)
    local claim = tonumber(claim_of(entry))
    local ends, attempts = split(score)
    local own = not call.shared and claim > state.base
    if own and claim < state.oldest then
        count('lease_lost')
        moves.give_back(member, before, attempts)
        redis.call('ZREM', prepare, entry)
    elseif ends > now then
        return
    elseif not own then
        moves.lose(member, before, attempts, 'crashed')
        redis.call('ZREM', prepare, entry)
    elseif not (state.lost and is_newest(claim, score)) then
        renew(entry, score)
    end
end

-- Its rest has ended, or it was scheduled and is due (lib/schedule.lua).
local function rested(entry, score)
    local before, letter, member = decode(entry)
    local _, attempts = split(score)
    if letter == 's' then
        hint_drop(body or slot, 'S' .. member)
    end
    moves.give_back(member, before, attempts)
    redis.call('ZREM', prepare, entry)
end

-- What has to move: leases have ended, claims are forgotten, rests have ended.  true: there is
-- more.
local function bring_back(lapses, forgotten, has_rested)
    local more = false
    if lapses or forgotten then
        more = sweep(0, forgotten and REST or now + 1, lapsed)
    end
    if has_rested then
        more = sweep(REST, REST + now + 1, rested) or more
        if call.priority then
            more = sweep(SCHEDULE, SCHEDULE + now + 1, rested) or more
        end
    end
    return more
end
