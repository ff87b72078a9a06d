-- USES slot, channel

-- Wakes who sleeps until `parked` when something is due earlier.  Answers whether a publish was
-- heard; until then parked stays.  Call it last: on a node that the slot is moving to, the channel
-- may not be served yet.
local function wake(parked, due)
    if not parked or due >= tonumber(parked) then
        return false
    end
    local heard = redis.pcall('SPUBLISH', channel, '')
    if type(heard) ~= 'number' or heard == 0 then
        return false
    end
    redis.call('HDEL', slot, 'parked')
    return true
end
