-- USES slot, channel

-- Wakes the callers that sleep until `parked` if a message is due earlier.  Returns whether a
-- caller received it; until one does parked stays.  Call it last: on a node to which the slot is
-- moving, the channel may not be served yet.
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
