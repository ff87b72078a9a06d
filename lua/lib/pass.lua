-- USES keys, store, slot, n, max_bytes, priority, fifo, now, lease, taken, has_suspect, body
-- USES before_score, split, join, lease_end, take, gone, formers

-- A claim that passes over the messages of some keys: their owner has some of them already, and
-- would let the others wait, or a former owner keeps them.  It looks at PASS_MOST of the messages
-- that could be claimed, or about max_bytes of them.  A suspect stops it, whatever its key.
--
-- Two fields of the slot say which messages the next claim needs not look at, because their keys
-- are passed over again:
--   looked      all up to this message: POSITION, then :SCORE:LEN:KEY for each of their keys, with
--               the score of its first such message
--   look_again  but not those from this position on, which comes before: a message was put into
--               the store there since (lib/look_again.lua), or a key is passed over no more
-- POSITION is SCORE:LEN:MEMBER, in the order in which messages are claimed.  Without a member it is
-- before all messages of that score.  Scores are integer parts.

local PASS_MOST = 2000
local PASS_KEYS = 200 -- keys in `looked`; messages of more keys are looked at by each claim

local looked, look_again, its_keys, many_keys, unnoted = nil, nil, {}, 0, false
local stored_looked, stored_again = unpack(redis.call('HMGET', slot, 'looked', 'look_again'))

-- In the order of claims, does one score come before another?
local function is_before(score, other)
    if priority then
        return score > other
    end
    return score < other
end

local function look_again_from(score, member)
    if not look_again or not is_before(look_again.score, score) then
        look_again = { score = score, member = member }
    end
end

-- A position or a key: its score and text, and where the next one begins.
local function read_one(text, at)
    local score, len, from = string.match(text, '^:?(-?%d+):(%d+):()', at)
    return tonumber(score), string.sub(text, from, from + len - 1), from + len
end

local function read_looked()
    if not stored_looked then
        return
    end
    local score, member, at = read_one(stored_looked, 1)
    looked = { score = score, member = member }
    if stored_again then
        local its_score, its_member = read_one(stored_again, 1)
        look_again = { score = its_score, member = its_member }
    end
    while at <= #stored_looked do
        local key
        score, key, at = read_one(stored_looked, at)
        if keys.passed[key] or formers[key] then
            its_keys[key], many_keys = score, many_keys + 1
        else
            look_again_from(score, '')
        end
    end
end

local function written(position)
    return position and string.format('%.0f:%d:', position.score, #position.member)
        .. position.member
end

-- Order of writes: what is not looked at any more comes last.
local function save_looked()
    if not looked or many_keys == 0 then
        if stored_looked then
            redis.call('HDEL', slot, 'looked', 'look_again')
        end
        return
    end
    local names, parts, again = {}, { written(looked) }, written(look_again)
    for key in pairs(its_keys) do
        names[#names + 1] = key
    end
    table.sort(names)
    for _, key in ipairs(names) do
        parts[#parts + 1] = string.format(':%.0f:%d:', its_keys[key], #key) .. key
    end
    local text = table.concat(parts)
    if again and again ~= stored_again then
        redis.call('HSET', slot, 'looked', text, 'look_again', again)
    elseif text ~= stored_looked then
        redis.call('HSET', slot, 'looked', text)
    end
    if stored_again and not again then
        redis.call('HDEL', slot, 'look_again')
    end
end

-- How many messages there are up to a position.
local function count_to(position)
    local score = position.member ~= '' and redis.call('ZSCORE', store, position.member)
    if score and split(score) == position.score then
        local rank = redis.call('ZRANK', store, position.member)
        return priority and redis.call('ZCARD', store) - rank or rank + 1
    elseif priority then
        return redis.call('ZCOUNT', store, string.format('%.0f', position.score + 1), '+inf')
    end
    return redis.call('ZCOUNT', store, '-inf', before_score(position.score))
end

-- Notes that a message is passed over.  false: it cannot be noted.
local function note(score, attempts, key)
    if not (priority or fifo) and score >= now then
        return false -- a later send may come before it
    elseif attempts % 2 == 1 or not its_keys[key] and many_keys == PASS_KEYS then
        unnoted = true
        return false
    elseif not its_keys[key] then
        many_keys = many_keys + 1
    elseif not is_before(score, its_keys[key]) then
        return true
    end
    its_keys[key] = score
    return true
end

-- Claims a message if its key is not passed over.  Returns what stops the claim, if anything does,
-- and whether the message is passed over, and noted.
local function meet(mark, member, score)
    local before, attempts = split(score)
    local key = keys.of(member)
    if has_suspect or attempts % 2 == 1 and lease then
        return 'suspect'
    elseif keys.passed[key] or formers[key] then
        return nil, true, note(before, attempts, key)
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
    if look_again then
        local finish = math.min(from, stop)
        most = PASS_MOST / 2
        local reason, at, noted, all_noted = scan(mark, count_to(look_again), finish, most)
        cut = at < finish
        look_again = (at < from or not all_noted) and (noted or look_again) or nil
        if reason then
            return reason
        end
    end
    local reason, at, noted = scan(mark, from, stop, most)
    looked, cut = noted or looked, cut or at < stop
    return reason or cut and not unnoted and 'full' or 'end'
end
