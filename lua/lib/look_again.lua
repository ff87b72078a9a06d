-- GIVES look_again
-- TAKES slot, kind

-- A message is to be put into the store.  If it comes before what claims have passed over, they
-- look again from there on (lib/looked.lua).  looked: that field of the slot, or false.
local function look_again(looked, integer)
    local until_score = looked and tonumber(string.match(looked, '^-?%d+'))
    local sign = (kind == 'p' or kind == 'b') and -1 or 1
    if not until_score or sign * integer > sign * until_score then
        return
    end
    local stored = redis.call('HMGET', slot, 'look_again')[1] -- all calls have done that command
    local from = stored and tonumber(string.match(stored, '^-?%d+'))
    if not from or sign * integer <= sign * from then
        redis.call('HSET', slot, 'look_again', string.format('%.0f:0:', integer))
    end
end
