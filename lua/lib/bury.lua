-- Makes a message a dead letter.  One of the same name and place is replaced (counted as a merge).
local function bury(member, before, attempts, reason)
    local entry = before .. 'd:' .. member
    if redis.call('ZADD', dead, join(now, attempts), entry) == 0 then
        count('merged')
    end
    redis.call('HSET', why, entry, string.sub(reason, 1, 200))
end
