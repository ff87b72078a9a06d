-- GIVES tick_first
-- TAKES schedule

-- When the first of the schedules of the slot is due, of those from a time on, as text; as of
-- `NEVER` if none is.
local function tick_first(from)
    local first = redis.call('ZRANGE', schedule, from or '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, 1,
        'WITHSCORES')
    return first[1] and first[1] ~= '' and first[2] or '9007199254740992'
end
