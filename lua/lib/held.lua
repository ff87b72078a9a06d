-- GIVES messages_held
-- TAKES store, prepare, dead

-- How many messages a slot holds.  A key that is not there holds none; the others have a sentinel.
local function messages_held()
    local held = 0
    for _, key in ipairs({ store, prepare, dead }) do
        held = held + math.max(redis.call('ZCARD', key) - 1, 0)
    end
    return held
end
