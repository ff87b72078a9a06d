-- GIVES first

-- The first members of a range of scores, { member, score, member, score, ... }: at most n, and
-- about max_bytes of them (but one at least).  Second result: may there be more?
-- It reads a few, then as many as fit by the sizes seen.  From +inf: from the largest score down.
-- skip: how many of the range are left out first.
local function first(key, from, to, n, max_bytes, skip)
    local found, count, bytes, chunk = {}, 0, 0, math.min(n, 16)
    skip = skip or 0
    while chunk > 0 do
        local at, part = skip + count, nil
        if from == '+inf' then
            part = redis.call('ZRANGE', key, from, to, 'BYSCORE', 'REV', 'LIMIT', at, chunk,
                'WITHSCORES')
        else
            part = redis.call('ZRANGE', key, from, to, 'BYSCORE', 'LIMIT', at, chunk, 'WITHSCORES')
        end
        local had = 2 * count
        for i = 1, #part, 2 do
            found[had + i], found[had + i + 1] = part[i], part[i + 1]
            bytes = bytes + #part[i]
        end
        count = count + #part / 2
        if #part < 2 * chunk then
            return found, false
        end
        chunk = math.floor(math.min(n - count, (max_bytes - bytes) * count / bytes))
    end
    return found, true
end
