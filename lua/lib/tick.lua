-- GIVES tick_first, tick_keep
-- TAKES schedule, slot

-- When the first of the schedules of the slot is due, of those from a time on, as text; as of
-- `NEVER` if none is.
local function tick_first(from)
    local first = redis.call('ZRANGE', schedule, from or '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, 1,
        'WITHSCORES')
    return first[1] and first[1] ~= '' and first[2] or '9007199254740992'
end

-- Before any other write: the key with the times has its last member.  If Redis has lost the key,
-- it is made of what is stored.
local function tick_keep()
    local made = redis.call('ZADD', schedule, '+inf', '')
    if made == 0 or redis.call('HEXISTS', slot, 'tick') == 0 then
        return
    end
    local cursor, found = '0', nil
    repeat
        cursor, found = unpack(redis.call('HSCAN', slot, cursor, 'MATCH', 'X*', 'COUNT', 1000))
        for i = 1, #found, 2 do
            local due = string.match(found[i + 1], '^%d+,(%d+),%d+,%d*,0,')
            if due then
                redis.call('ZADD', schedule, due, string.sub(found[i], 2))
            end
        end
    until cursor == '0'
end
