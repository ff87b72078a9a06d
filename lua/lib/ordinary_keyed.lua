-- USES store, prepare, body, n, priority, fifo, now, look, claims, many, others, done_so_far
-- USES ANSWERS, REST, split, lease, has_suspect, rest_end, first_claim

-- The ordinary consume of layout keyed when nothing can be claimed: an owner's answers are stored,
-- of messages that were done and never failed.  Messages that come one by one end here.

-- How the answers end: their results, what is to be removed of prepare and body, and the scores of
-- their claims.  nil: an entry is named twice or is none, or a body has other references.
local function meet_done()
    local results, present, fields, gone, seen = {}, {}, {}, {}, { [''] = true }
    local scores = redis.call('ZMSCORE', prepare, unpack(ARGV, ANSWERS, others - 1))
    for i, score in ipairs(scores) do
        local entry = ARGV[ANSWERS + i - 1]
        if seen[entry] then
            return nil
        end
        seen[entry], results[i] = true, score and '1' or '0'
        if score then
            present[#present + 1] = entry
            fields[#fields + 1] = 'h' .. string.sub(entry, string.find(entry, ':', 1, true) + 1)
        end
    end
    for i, header in ipairs(#fields > 0 and redis.call('HMGET', body, unpack(fields)) or {}) do
        if header and string.find(header, ',', 1, true) and string.sub(header, -2) ~= ',1' then
            return nil
        elseif header then
            gone[#gone + 1], gone[#gone + 2] = fields[i], 'b' .. string.sub(fields[i], 2)
        end
    end
    return table.concat(results), present, gone, scores
end

-- The reply (nil: this call is not an ordinary one), the score of the first message that waits
-- (nil: none), how many were claimed: none, and the counter `done` if it changes.  Then the scores
-- of the claims that were removed, and what removing the bodies replied: see lib/unsettle.lua.
local function ordinary_keyed()
    local rank = priority and '-1' or '0'
    local head = redis.call('ZRANGE', store, rank, rank, 'WITHSCORES')
    local waits = head[1] and head[1] ~= ''
    if waits and (fifo or n > 0 and (priority or split(head[2]) <= now)) then
        return nil
    end
    local results, done_now, scores, dropped = '', nil, nil, nil
    if many > 0 then
        local present, gone
        results, present, gone, scores = meet_done()
        if not results then
            return nil
        end
        if #present > 0 then
            local removed = redis.call('ZREM', prepare, unpack(present))
            dropped = #gone > 0 and redis.pcall('HDEL', body, unpack(gone))
            done_now = string.format('%d', (done_so_far or 0) + removed)
            lease, has_suspect, rest_end, first_claim = look(prepare, split, REST)
        end
    end
    return { 'OK', now, '', claims, results, 0 }, waits and head[2], 0, done_now, scores, dropped
end
