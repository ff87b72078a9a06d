-- GIVES unsettle
-- TAKES prepare, body

-- The bodies of messages that are done could not be removed, so their claims, whose scores were
-- read for the entries from a place in ARGV on, are put back, and so are others, { score, entry,
-- ... }.  The call ends with that error.  The same command, which changes nothing here, names it.
local function unsettle(scores, from, failure, others)
    local claimed = others or {}
    for i, score in ipairs(scores) do
        local entry = ARGV[from + i - 1]
        if score and entry ~= '' then
            claimed[#claimed + 1], claimed[#claimed + 2] = score, entry
        end
    end
    redis.call('ZADD', prepare, unpack(claimed))
    redis.call('HDEL', body, '-')
    error(failure)
end
