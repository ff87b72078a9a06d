-- USES channel

-- Wakes all who sleep.  heard: how many received it; failed: as in failed.lua.
local heard, failed = redis.pcall('SPUBLISH', channel, ''), nil
if type(heard) ~= 'number' then
    failed, heard = { ok = 'SPUBLISH ' .. channel .. ' ' .. heard.err }, 0
end
