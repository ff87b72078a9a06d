-- USES prepare, body, scores, ANSWERS, dropped

-- The bodies of messages that are done could not be removed, so their claims, whose scores were
-- read, are put back, and the call ends with that error.  The same command, which changes nothing
-- here, names it.
do
    local claimed = {}
    for i, score in ipairs(scores) do
        local entry = ARGV[ANSWERS + i - 1]
        if score and entry ~= '' then
            claimed[#claimed + 1], claimed[#claimed + 2] = score, entry
        end
    end
    redis.call('ZADD', prepare, unpack(claimed))
    redis.call('HDEL', body, '-')
    error(dropped)
end
