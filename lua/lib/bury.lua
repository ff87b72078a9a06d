-- Makes a message a dead letter, which holds all that is left of it.  One of the same name and
-- place is replaced (counted as a merge).
local function bury(member, before, attempts, reason)
    local entry = before .. 'd:' .. member
    if redis.call('ZADD', dead, join(now, attempts), entry) == 0 then
        count('merged')
    end
    redis.call('HSET', why, entry, string.sub(reason, 1, 200))
    reason_drop(member, attempts)
    local header = body and redis.call('HGET', body, 'h' .. member)
    if header then
        local first, limit, expiry = header_split(header)
        redis.call('HSET', why, 'H' .. entry, header_join(first, limit, expiry, 1),
            'B' .. entry, redis.call('HGET', body, 'b' .. member) or '')
        body_refer(member, -1)
    end
end
