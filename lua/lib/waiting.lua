-- GIVES waiting_among
-- TAKES store, MESSAGES

-- Inline, of the first messages of the call: the scores of those that wait, by their indexes.
local function waiting_among(many)
    local members, waiting = {}, {}
    for i = 1, many do
        members[i] = ARGV[MESSAGES + 2 * i - 2]
    end
    for i, score in ipairs(redis.call('ZMSCORE', store, unpack(members))) do
        waiting[i] = score or nil
    end
    return waiting
end
