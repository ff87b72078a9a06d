-- GIVES give_back, unpass
-- TAKES store, slot, kind
-- USES join, merge_attempts, split, count, body_refer, look_again

local hidden -- what claims have passed over

-- The message may come before what claims have passed over (lib/looked.lua, lib/holds.lua).
local function unpass(integer)
    hidden = hidden or redis.call('HMGET', slot, 'passed', 'looked')
    local until_place, rest = string.match(hidden[1] or '', '^(%d+)(.*)$')
    if until_place and integer <= tonumber(until_place) then
        hidden[1] = string.format('%.0f', integer - 1) .. rest
        redis.call('HSET', slot, 'passed', hidden[1])
    end
    look_again(hidden[2], integer)
end

-- Returns a message to the store with its own time, priority or place.  If it was sent again in the
-- meantime the two become one, with those of the waiting one (range_merge, fifo: the earlier).
-- Returns the integer part of its score now.  The caller removes its former entry, which it has
-- tried before (lib/try.lua).
local function give_back(member, before, attempts)
    local integer = tonumber(before)
    unpass(integer)
    if redis.call('ZADD', store, 'NX', join(integer, attempts), member) == 1 then
        return integer
    end
    local waiting, waiting_attempts = split(redis.call('ZSCORE', store, member))
    if kind ~= 'm' and kind ~= 'f' or waiting < integer then
        integer = waiting
    end
    -- It may be a suspect now.
    unpass(integer)
    body_refer(member, -1)
    redis.call('ZADD', store, join(integer, merge_attempts(attempts, waiting_attempts)), member)
    count('merged')
    return integer
end
