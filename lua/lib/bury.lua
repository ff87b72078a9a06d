-- USES dead, why, body, join, now, reason_cut, header_split, header_join, count, body_drop

-- Makes dead letters of messages, a list of { member, before, attempts, cause, reason }, and counts
-- them by their cause.  A dead letter holds everything that is kept of its message.  One of the
-- same name and place is replaced and counted as a merge.  The caller has tried what removes bodies
-- and entries (lib/try.lua), and removes the entries of the messages afterwards.
local function bury_all(letters)
    local placed, kept, reasons, fields, members = {}, {}, {}, {}, {}
    for i, it in ipairs(letters) do
        members[i] = it.member
        fields[2 * i - 1], fields[2 * i] = 'h' .. it.member, 'b' .. it.member
    end
    local stored = body and redis.call('HMGET', body, unpack(fields)) or {}
    for i, it in ipairs(letters) do
        local entry, header = it.before .. 'd:' .. it.member, stored[2 * i - 1]
        local at = #kept
        count('dead_' .. it.cause)
        placed[2 * i - 1], placed[2 * i] = join(now, it.attempts), entry
        kept[at + 1], kept[at + 2] = entry, reason_cut(it.reason)
        if header then
            local first, limit, expiry = header_split(header)
            kept[at + 3], kept[at + 4] = 'H' .. entry, header_join(first, limit, expiry, 1)
            kept[at + 5], kept[at + 6] = 'B' .. entry, stored[2 * i] or ''
        end
        if it.attempts >= 2 then
            reasons[#reasons + 1] = 'R' .. it.member
        end
    end
    redis.call('ZADD', dead, 'XX', 0, '-') -- a try
    if #reasons > 0 then
        redis.call('HDEL', why, unpack(reasons))
    end
    redis.call('HSET', why, unpack(kept))
    local added = redis.call('ZADD', dead, unpack(placed))
    if added < #letters then
        count('merged', #letters - added)
    end
    body_drop(members)
end

local function bury(member, before, attempts, cause, reason)
    bury_all({
        { member = member, before = before, attempts = attempts, cause = cause, reason = reason }
    })
end
