-- USES store, slot, join, split, kind, merge_attempts, count, body_refer

-- Kind f: the message may come before what claims have passed over (lib/holds.lua).
local function unpass(integer)
    local passed = redis.call('HGET', slot, 'passed')
    local until_place, rest = string.match(passed or '', '^(%d+)(.*)$')
    if until_place and integer <= tonumber(until_place) then
        redis.call('HSET', slot, 'passed', string.format('%.0f', integer - 1) .. rest)
    end
end

-- Returns a message to the store with its own time, priority or place.  If it was sent again in the
-- meantime the two become one, with those of the waiting one (range_merge, fifo: the earlier).
-- Returns the integer part of its score now.  The caller removes its former entry, which it has
-- tried before (lib/try.lua).
local function give_back(member, before, attempts)
    local integer = tonumber(before)
    if kind == 'f' then
        unpass(integer)
    end
    if redis.call('ZADD', store, 'NX', join(integer, attempts), member) == 1 then
        return integer
    end
    local waiting, waiting_attempts = split(redis.call('ZSCORE', store, member))
    if kind ~= 'm' and kind ~= 'f' or waiting < integer then
        integer = waiting
    end
    body_refer(member, -1)
    redis.call('ZADD', store, join(integer, merge_attempts(attempts, waiting_attempts)), member)
    count('merged')
    return integer
end
