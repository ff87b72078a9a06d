-- GIVES unclaim
-- TAKES store, prepare

-- The first messages of a claim, { score, entry, ... }, could not be removed from the store: they
-- are claimed no more, and the call ends with that error.  The same command, which changes nothing
-- here, names it.
local function unclaim(moved, many, failure)
    local entries = {}
    for i = 1, many do
        entries[i] = moved[2 * i]
    end
    redis.call('ZREM', prepare, unpack(entries))
    redis.call('ZREMRANGEBYRANK', store, 1, 0)
    error(failure)
end
