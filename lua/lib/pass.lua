-- GIVES claim_passing
-- TAKES store, call, state
-- USES now, split, before_score, join, header_of, claimed, take
-- USES looked, read_looked, count_to, note

-- A claim that passes over the messages of some keys: their owner has some of them already, and
-- would let the others wait, or a former owner keeps them.  It looks at PASS_MOST of the messages
-- that could be claimed, or about max_bytes of them, and begins where the claims before it have
-- ended (lib/looked.lua).  A suspect of another key stops it.

local PASS_MOST = 2000

-- Claims a message if its key is not passed over.  Returns what stops the claim, if anything does,
-- and whether the message is passed over, and noted.
local function meet(mark, member, score)
    local before, attempts = split(score)
    local key = state.keys.of(member)
    if state.has_suspect then
        return 'suspect'
    elseif state.keys.passed[key] or state.formers[key] then
        return nil, true, note(before, key)
    elseif attempts % 2 == 1 and state.lease then
        return 'suspect'
    elseif claimed.count == call.n then
        return 'full'
    end
    local header = header_of(member)
    local its_score = join(call.lease_end, attempts)
    if not take(mark, member, string.format('%.0f', before), its_score, attempts, header) then
        return 'full'
    end
    claimed.gone[#claimed.gone + 1] = member
end

-- Meets the messages of a range of ranks: at most `most`, or about max_bytes of them.  Returns what
-- stopped it (nil: nothing), the rank that it reached, and of those passed over the last one that
-- is noted as all before it are (`up_to`; nil: none), and whether `all` are.
local function scan(mark, at, stop, most)
    local bytes, chunk, noted = 0, 16, { up_to = nil, all = true }
    while at < stop and most > 0 do
        chunk = math.min(chunk, stop - at, most)
        local part = call.priority
            and redis.call('ZRANGE', store, at, at + chunk - 1, 'REV', 'WITHSCORES')
            or redis.call('ZRANGE', store, at, at + chunk - 1, 'WITHSCORES')
        for i = 1, #part, 2 do
            local reason, is_passed, is_noted = meet(mark, part[i], part[i + 1])
            if reason then
                return reason, at, noted
            end
            at, bytes = at + 1, bytes + #part[i]
            if is_passed then
                noted.all = noted.all and is_noted
                noted.up_to = noted.all and { score = split(part[i + 1]), member = part[i] }
                    or noted.up_to
            end
        end
        most, chunk = bytes < call.max_bytes and most - chunk or 0, 4 * chunk
    end
    return nil, at, noted
end

-- Claims messages of other keys, and notes in `gone` which are to be removed from the store.
-- Returns what stopped it: 'full' (there is more), 'suspect', or 'end' of what it may look at.
local function claim_passing(mark, up_to)
    local stop = call.priority and redis.call('ZCARD', store) - 1
        or redis.call('ZCOUNT', store, '-inf', call.fifo and '(' .. up_to or before_score(now + 1))
    read_looked()
    local from, most, cut = looked.up_to and count_to(looked.up_to) or 0, PASS_MOST, false
    if looked.again then
        local finish = math.min(from, stop)
        most = PASS_MOST / 2
        local reason, at, noted = scan(mark, count_to(looked.again), finish, most)
        cut = at < finish
        looked.again = (at < from or not noted.all) and (noted.up_to or looked.again) or nil
        if reason then
            return reason
        end
    end
    local reason, at, noted = scan(mark, from, stop, most)
    looked.up_to, cut = noted.up_to or looked.up_to, cut or at < stop
    return reason or cut and not looked.lacks and 'full' or 'end'
end
