-- GIVES place_behind, walk
-- USES sorts_before

-- Walking through a sorted set: in rising order, or (rev) in falling.  A place counts from 0 in
-- that order; the sentinel has the last.

local function range(key, from, to, rev)
    if rev then
        return redis.call('ZRANGE', key, from, to, 'REV', 'WITHSCORES')
    end
    return redis.call('ZRANGE', key, from, to, 'WITHSCORES')
end

-- The first place after an entry of this score and name, also if the entry does not exist any more.
local function place_behind(key, score, name, rev)
    local its_score = redis.call('ZSCORE', key, name)
    if its_score and tonumber(its_score) == tonumber(score) then
        local rank = redis.call('ZRANK', key, name)
        return rev and redis.call('ZCARD', key) - rank or rank + 1
    end
    local low, high
    if rev then
        low = redis.call('ZCOUNT', key, '(' .. score, '+inf')
        high = redis.call('ZCOUNT', key, score, '+inf')
    else
        low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
        high = redis.call('ZCOUNT', key, '-inf', score)
    end
    while low < high do
        local middle = math.floor((low + high) / 2)
        local other = range(key, middle, middle, rev)[1]
        local passed = rev and sorts_before(name, other) or not rev and sorts_before(other, name)
        if passed or other == name then
            low = middle + 1
        else
            high = middle
        end
    end
    return low
end

-- Calls look(name, score) for the places `at` up to `stop`, itself excluded: most.limit of them, or
-- about most.bytes of names and of what look() returns as a number (but one at least).  look() ends
-- it by returning nil.  Returns the place where it ended, and the last name and score.
local function walk(key, at, stop, look, most)
    local count, bytes, chunk = 0, 0, math.min(most.limit, 4)
    local name, score
    while true do
        chunk = math.min(chunk, stop - at)
        if chunk < 1 then
            return at, name, score
        end
        local part = range(key, at, at + chunk - 1, most.rev)
        for i = 1, #part, 2 do
            local more = look(part[i], part[i + 1])
            if not more then
                return stop, name, score
            end
            name, score, at, count = part[i], part[i + 1], at + 1, count + 1
            bytes = bytes + #name + more
            if bytes >= most.bytes then
                return at, name, score
            end
        end
        chunk = math.floor(math.min(most.limit - count, (most.bytes - bytes) * count / bytes))
    end
end
