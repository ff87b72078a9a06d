-- GIVES call_all
-- TAKES channel

-- Wakes all who sleep.  Returns how many received it, and what failed, as in failed.lua.
local function call_all()
    local heard = redis.pcall('SPUBLISH', channel, '')
    if type(heard) == 'table' then
        return 0, { ok = 'SPUBLISH ' .. channel .. ' ' .. heard.err }
    end
    return heard, nil
end
