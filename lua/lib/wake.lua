-- Wakes who sleeps until `parked` when something is due earlier.  Call it last: on a node that the
-- slot is moving to, the channel may not be served yet.  parked stays until a publish was heard.
local function wake(parked, due)
    if not parked or due >= tonumber(parked) then
        return
    end
    local heard = redis.pcall('SPUBLISH', channel, '')
    if type(heard) == 'number' and heard > 0 then
        redis.call('HDEL', slot, 'parked')
    end
end
