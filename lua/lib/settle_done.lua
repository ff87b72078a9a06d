-- USES prepare, body, results, remember, body_drop, count

-- Settles entries in ARGV that are done and have no retries used.  It reads first and then removes
-- with one command, so that replicas and the log get one instead of hundreds.
local function settle_done(from, to)
    local scores, present = redis.call('ZMSCORE', prepare, unpack(ARGV, from, to)), {}
    local members, seen = {}, {}
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
    if #present > 0 then
        if remember then
            remember(members)
        end
        body_drop(members)
        count('done', redis.call('ZREM', prepare, unpack(present)))
    end
end
