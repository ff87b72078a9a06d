-- GIVES send_new
-- TAKES store, body, field_from, MESSAGES, WIDTH
-- USES now

-- Layout keyed: stores different messages for one time, beside which nothing is stored: they
-- neither wait, nor are in flight, nor rest.  One whose body is missing may wait all the same.
-- nil:
-- they are not such, and nothing was written; otherwise what storing the bodies replied.
local function send_new(integer, many)
    local fresh, header = string.format('%d', integer), string.format('%d', now)
    local fields, placed, beside, n, seen = {}, {}, {}, 0, nil
    for i = 1, many do
        local at = MESSAGES + (i - 1) * WIDTH
        local member, text, limit, ttl = ARGV[at], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
        local field, its = 'h' .. member, header
        fields[i], placed[2 * i - 1], placed[2 * i] = field, fresh, member
        if limit ~= '' or ttl ~= '' then
            its = string.format('%d,%s,%s,1', now, limit,
                ttl ~= '' and string.format('%d', now + ttl) or '')
        end
        if #text < field_from then
            beside[n + 1], beside[n + 2], n = field, its .. '\0' .. text, n + 2
        else
            beside[n + 1], beside[n + 2], beside[n + 3] = field, its, 'b' .. member
            beside[n + 4], n = text, n + 4
        end
    end
    local are_new = true
    for i, text in ipairs(redis.call('HMGET', body, unpack(fields))) do
        are_new = are_new and not text
        if many > 1 and are_new then
            seen = seen or {}
            are_new, seen[fields[i]] = not seen[fields[i]], true
        end
    end
    if many > 1 and are_new then
        for i = 1, many do
            fields[i] = placed[2 * i]
        end
        for _, score in ipairs(redis.call('ZMSCORE', store, unpack(fields))) do
            are_new = are_new and not score
        end
    end
    if are_new and redis.call('ZADD', store, 'NX', unpack(placed)) == many then
        return redis.pcall('HSET', body, unpack(beside))
    end
end
