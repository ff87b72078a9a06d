-- GIVES hint_drop

-- Of a message that is scheduled (lib/schedule.lua) the field S and the member has the place before
-- which its entry is found: keyed in body, inline in slot.  It is a hint, and may be wrong.
local function hint_drop(key, ...)
    redis.call('HDEL', key, ...)
end
