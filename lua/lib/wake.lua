-- GIVES wake
-- TAKES slot, channel, sleepers
-- USES now, failed

-- What `parked` of a slot says:
--   UNTIL        callers sleep until then
--   UNTIL/LEASE  an owner sleeps until then, and a send may claim for it, with that lease: a push
--   -AT          a push was made at that time, and the owner has not called since
--   -AT:AGAIN    the same, and the owner was woken once more at the time AGAIN
-- Of a shared topic it says who sleeps (lib/idle.lua).
-- What was pushed may not have reached its owner, so the first send after a second wakes it.
local PUSH_AGAIN_MS = 1000

-- Wakes the callers that sleep if a message is due earlier than they wake by themselves.  Returns
-- whether a caller received it; until one does parked stays.  Call it last: on a node to which the
-- slot is moving, the channel may not be served yet.
local function wake(parked, due)
    if not parked then
        return false
    elseif sleepers and string.find(parked, '|', 1, true) then
        return sleepers(parked, due)
    end
    local at = tonumber(parked) or tonumber(string.match(parked, '^%-?%d+'))
    local asked = at < 0 and (tonumber(string.match(parked, ':(%d+)$')) or -at)
    if asked and math.abs(now - asked) < PUSH_AGAIN_MS or due >= at and not asked then
        return false
    end
    local heard = redis.pcall('SPUBLISH', channel, '')
    if type(heard) == 'table' then
        failed = { ok = 'SPUBLISH ' .. channel .. ' ' .. heard.err }
    end
    if asked then
        redis.call('HSET', slot, 'parked', string.format('%.0f:%.0f', at, now))
        return false
    elseif type(heard) ~= 'number' or heard == 0 then
        return false
    end
    redis.call('HDEL', slot, 'parked')
    return true
end
