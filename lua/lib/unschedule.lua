-- GIVES schedules_drop

-- The times when the schedules of a slot are due, under a key that most slots do not have: it is no
-- declared one, as that of a tombstone (lib/tombstone.lua).
local function schedules_drop(key)
    if (key or '') ~= '' then
        redis.pcall('UNLINK', key)
    end
end
