-- USES store, join, split, kind, merge_attempts, count, body_refer

-- Returns a message to the store with its own time, priority or place.  If it was sent again in the
-- meantime the two become one, with those of the waiting one (range_merge, fifo: the earlier).
-- Returns the integer part of its score now.  back_from: the smallest of these.
local back_from = math.huge
local function give_back(member, before, attempts)
    local integer = tonumber(before)
    back_from = math.min(back_from, integer)
    if redis.call('ZADD', store, 'NX', join(integer, attempts), member) == 1 then
        return integer
    end
    local waiting, waiting_attempts = split(redis.call('ZSCORE', store, member))
    if kind ~= 'm' and kind ~= 'f' or waiting < integer then
        integer = waiting
    end
    redis.call('ZADD', store, join(integer, merge_attempts(attempts, waiting_attempts)), member)
    count('merged')
    body_refer(member, -1)
    return integer
end
