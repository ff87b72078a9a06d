-- GIVES settle_done
-- TAKES prepare, body
-- USES body_ends, body_refer, count, remember

-- Settles entries in ARGV that are done and have no retries used, and adds to the results.  It
-- reads first and then removes with one command, so that replicas and the log get one instead of
-- hundreds.
--
-- Order of writes: the ids that are remembered, the claims, the bodies.  Ids of messages that are
-- still claimed change nothing.  If the bodies cannot be removed, the caller puts the claims back
-- (lib/unsettle.lua): returns their scores, and what removing the bodies replied.
local function settle_done(from, to, results)
    local scores, present = redis.call('ZMSCORE', prepare, unpack(ARGV, from, to)), {}
    local members, seen, gone, kept = {}, {}, {}, {}
    for i = from, to do
        local entry = ARGV[i]
        local there = scores[i - from + 1] and entry ~= ''
        if there and not seen[entry] then
            seen[entry] = true
            present[#present + 1] = entry
            if body then
                members[#members + 1] = string.sub(entry, string.find(entry, ':', 1, true) + 1)
            end
        end
        results[#results + 1] = there and 1 or 0
    end
    if #present == 0 then
        return scores, nil
    end
    if body then
        remember(members)
        gone, kept = body_ends(members)
    end
    if #kept > 0 then
        redis.call('ZREM', prepare, '-')
        redis.call('HDEL', body, '-')
        for _, member in ipairs(kept) do
            body_refer(member, -1)
        end
    end
    count('done', redis.call('ZREM', prepare, unpack(present)))
    return scores, #gone > 0 and redis.pcall('HDEL', body, unpack(gone))
end
