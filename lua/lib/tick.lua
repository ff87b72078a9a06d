-- GIVES tick_first
-- TAKES schedule

-- When the first of the schedules of the slot is due, as text; as of `NEVER` if none is.
local function tick_first()
    local first = redis.call('ZRANGE', schedule, 0, 0, 'WITHSCORES')
    return first[1] and first[1] ~= '' and first[2] or '9007199254740992'
end
