-- GIVES revive
-- TAKES store, dead, why, body
-- USES decode, body_refer, header_split, header_join, give_back, unpass

-- Returns a dead letter to the store with its own time, priority or place, all its retries and no
-- expiry.  If the message was sent again in the meantime the body of that send stays.
local function revive(entry)
    local before, _, member = decode(entry)
    local header, bytes = unpack(redis.call('HMGET', why, 'H' .. entry, 'B' .. entry))
    unpass(tonumber(before))
    redis.call('ZADD', store, 'XX', 0, '\0') -- tries: see lib/try.lua
    redis.call('ZSCORE', store, '\0')
    redis.call('ZREM', dead, '-')
    redis.call('HDEL', why, '-')
    if body and not body_refer(member, 1) and header then
        local first, limit = header_split(header)
        redis.call('HSET', body, 'h' .. member, header_join(first, limit, nil, 1),
            'b' .. member, bytes or '')
    end
    local integer = give_back(member, before, 0)
    redis.call('ZREM', dead, entry)
    redis.call('HDEL', why, entry, 'H' .. entry, 'B' .. entry)
    return integer
end
