-- USES keys, store, n, max_bytes, priority, fifo, now, lease, taken, has_suspect, body, gone
-- USES before_score, split, join, lease_end, take, formers
-- USES looked, again, unnoted, read_looked, count_to, note

-- A claim that passes over the messages of some keys: their owner has some of them already, and
-- would let the others wait, or a former owner keeps them.  It looks at PASS_MOST of the messages
-- that could be claimed, or about max_bytes of them, and begins where the claims before it have
-- ended (lib/looked.lua).  A suspect of another key stops it.

local PASS_MOST = 2000

-- Claims a message if its key is not passed over.  Returns what stops the claim, if anything does,
-- and whether the message is passed over, and noted.
local function meet(mark, member, score)
    local before, attempts = split(score)
    local key = keys.of(member)
    if has_suspect then
        return 'suspect'
    elseif keys.passed[key] or formers[key] then
        return nil, true, note(before, key)
    elseif attempts % 2 == 1 and lease then
        return 'suspect'
    elseif taken == n then
        return 'full'
    end
    local header = body and redis.call('HGET', body, 'h' .. member)
    if not take(mark, member, string.format('%.0f', before), join(lease_end, attempts), attempts,
        header) then
        return 'full'
    end
    gone[#gone + 1] = member
end

-- Meets the messages of a range of ranks: at most `most`, or about max_bytes of them.  Returns what
-- stopped it (nil: nothing), the rank that it reached, the last message that is noted as all before
-- it are (nil: none), and whether all are that were passed over.
local function scan(mark, at, stop, most)
    local bytes, chunk, noted, all_noted = 0, 16, nil, true
    while at < stop and most > 0 do
        chunk = math.min(chunk, stop - at, most)
        local part = priority
            and redis.call('ZRANGE', store, at, at + chunk - 1, 'REV', 'WITHSCORES')
            or redis.call('ZRANGE', store, at, at + chunk - 1, 'WITHSCORES')
        for i = 1, #part, 2 do
            local reason, is_passed, is_noted = meet(mark, part[i], part[i + 1])
            if reason then
                return reason, at, noted, all_noted
            end
            at, bytes = at + 1, bytes + #part[i]
            if is_passed then
                all_noted = all_noted and is_noted
                noted = all_noted and { score = split(part[i + 1]), member = part[i] } or noted
            end
        end
        most, chunk = bytes < max_bytes and most - chunk or 0, 4 * chunk
    end
    return nil, at, noted, all_noted
end

-- Claims messages of other keys, and notes in `gone` which are to be removed from the store.
-- Returns what stopped it: 'full' (there is more), 'suspect', or 'end' of what it may look at.
local function claim_passing(mark, up_to)
    local stop = priority and redis.call('ZCARD', store) - 1
        or redis.call('ZCOUNT', store, '-inf', fifo and '(' .. up_to or before_score(now + 1))
    read_looked()
    local from, most, cut = looked and count_to(looked) or 0, PASS_MOST, false
    if again then
        local finish = math.min(from, stop)
        most = PASS_MOST / 2
        local reason, at, noted, all_noted = scan(mark, count_to(again), finish, most)
        cut = at < finish
        again = (at < from or not all_noted) and (noted or again) or nil
        if reason then
            return reason
        end
    end
    local reason, at, noted = scan(mark, from, stop, most)
    looked, cut = noted or looked, cut or at < stop
    return reason or cut and not unnoted and 'full' or 'end'
end
