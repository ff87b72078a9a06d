-- GIVES looked, read_looked, save_looked, count_to, note
-- TAKES store, slot, call, state
-- USES now, split, before_score

-- Which messages a claim that passes over keys (lib/pass.lua) need not look at, because their keys
-- are passed over again.  Two fields of the slot say it:
--   looked      all up to this message: POSITION, then :SCORE:LEN:KEY for each of their keys, with
--               the score of its first such message
--   look_again  but not those from this position on, which comes before: a message was put into
--               the store there since (lib/look_again.lua), or a key is passed over no more
-- POSITION is SCORE:LEN:MEMBER, in the order in which messages are claimed.  Without a member it is
-- before all messages of that score.  Scores are integer parts.

local LOOKED_KEYS = 200 -- in `looked`; messages of more keys are looked at by each claim

-- up_to, again: positions (nil: none).  keys: with their scores.  lacks: could something not be
-- noted?
local looked = { up_to = nil, again = nil, keys = {}, count = 0, lacks = false }
local stored_looked, stored_again = unpack(redis.call('HMGET', slot, 'looked', 'look_again'))

-- In the order of claims, does one score come before another?
local function is_before(score, other)
    if call.priority then
        return score > other
    end
    return score < other
end

local function again_from(score, member)
    if not looked.again or not is_before(looked.again.score, score) then
        looked.again = { score = score, member = member }
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
    looked.up_to = { score = score, member = member }
    if stored_again then
        local its_score, its_member = read_one(stored_again, 1)
        looked.again = { score = its_score, member = its_member }
    end
    while at <= #stored_looked do
        local key
        score, key, at = read_one(stored_looked, at)
        if state.keys.passed[key] or state.formers[key] then
            looked.keys[key], looked.count = score, looked.count + 1
        else
            again_from(score, '')
        end
    end
end

local function written(position)
    return position and string.format('%.0f:%d:', position.score, #position.member)
        .. position.member
end

-- Order of writes: what is not looked at any more comes last.
local function save_looked()
    if not looked.up_to or looked.count == 0 then
        if stored_looked then
            redis.call('HDEL', slot, 'looked', 'look_again')
        end
        return
    end
    local names, parts = {}, { written(looked.up_to) }
    local again_text = written(looked.again)
    for key in pairs(looked.keys) do
        names[#names + 1] = key
    end
    table.sort(names)
    for _, key in ipairs(names) do
        parts[#parts + 1] = string.format(':%.0f:%d:', looked.keys[key], #key) .. key
    end
    local text = table.concat(parts)
    if again_text and again_text ~= stored_again then
        redis.call('HSET', slot, 'looked', text, 'look_again', again_text)
    elseif text ~= stored_looked then
        redis.call('HSET', slot, 'looked', text)
    end
    if stored_again and not again_text then
        redis.call('HDEL', slot, 'look_again')
    end
end

-- How many messages there are up to a position.
local function count_to(position)
    local score = position.member ~= '' and redis.call('ZSCORE', store, position.member)
    if score and split(score) == position.score then
        local rank = redis.call('ZRANK', store, position.member)
        return call.priority and redis.call('ZCARD', store) - rank or rank + 1
    elseif call.priority then
        return redis.call('ZCOUNT', store, string.format('%.0f', position.score + 1), '+inf')
    end
    return redis.call('ZCOUNT', store, '-inf', before_score(position.score))
end

-- Notes that a message is passed over.  false: it cannot be noted.
local function note(score, key)
    if not (call.priority or call.fifo) and score >= now then
        return false -- a later send may come before it
    elseif not looked.keys[key] and looked.count == LOOKED_KEYS then
        looked.lacks = true
        return false
    elseif not looked.keys[key] then
        looked.count = looked.count + 1
    elseif not is_before(score, looked.keys[key]) then
        return true
    end
    looked.keys[key] = score
    return true
end
