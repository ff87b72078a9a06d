-- GIVES bury_all, bury
-- TAKES dead, why, body
-- USES join, now, history_of, history_add, stored_of, is_whole, whole_read, whole_member
-- USES whole_header, header_split, header_join, header_cut, body_drop, count

-- How the try ended; other causes end none.
local HOW = { rejected = 'x', failed = 't', crashed = 'l', timed_out = 'h' }

-- What is kept of why it died; `tried` and its attempts say what came before.
local function bury_reason(it, tried)
    local attempts = it.had or it.attempts
    if HOW[it.cause] then
        return history_add(tried, attempts, HOW[it.cause], it.reason)
    end
    local history = history_of(tried, attempts)
    return history == '' and it.reason or it.reason .. '\0' .. history
end

-- Header and body of each, as layout keyed stores them, by its index, and its name when it is dead.
local function bury_stored(letters)
    local fields, at, stored = {}, {}, {}
    for i, it in ipairs(letters) do
        local n = #fields
        if is_whole(it.member) then
            local its = whole_read(it.member)
            stored[i] = {
                member = whole_member(it.member), header = whole_header(its, it.before),
                text = its.text
            }
        else
            stored[i], at[#at + 1] = { member = it.member }, i
            fields[n + 1], fields[n + 2] = 'h' .. it.member, 'b' .. it.member
        end
    end
    local found = body and #fields > 0 and redis.call('HMGET', body, unpack(fields)) or {}
    for n, i in ipairs(at) do
        local header, text = header_cut(found[2 * n - 1] or '')
        stored[i].header, stored[i].text = found[2 * n - 1] and header, text or found[2 * n] or ''
    end
    return stored
end

-- Makes dead letters of messages, a list of { member, before, attempts, cause, reason, had }, and
-- counts them by their cause.  `had`: the attempts before the answer that ended it, if other ones.
-- A dead letter holds everything that is kept of its message.  One of the same name and place is
-- replaced and counted as a merge.  The caller has tried what removes bodies and entries
-- (lib/try.lua), and removes the entries of the messages afterwards.
local function bury_all(letters)
    local placed, kept, reasons, members = {}, {}, {}, {}
    for i, it in ipairs(letters) do
        members[i] = it.member
        if it.attempts >= 2 then
            reasons[#reasons + 1] = 'R' .. it.member
        end
    end
    local tried, stored = stored_of(why, reasons), bury_stored(letters)
    for i, it in ipairs(letters) do
        local entry, header = it.before .. 'd:' .. stored[i].member, stored[i].header
        local at, reason = #kept, it.attempts >= 2 and 'R' .. it.member
        count('dead_' .. it.cause)
        placed[2 * i - 1], placed[2 * i] = join(now, it.attempts), entry
        kept[at + 1], kept[at + 2] = entry, bury_reason(it, reason and tried[reason])
        if reason then
            tried[reason] = nil -- other entries of the member do not share it any more
        end
        if header then
            local first, limit, expiry = header_split(header)
            kept[at + 3], kept[at + 4] = 'H' .. entry, header_join(first, limit, expiry, 1)
            kept[at + 5], kept[at + 6] = 'B' .. entry, stored[i].text
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

local function bury(member, before, attempts, cause, reason, had)
    bury_all({
        {
            member = member, before = before, attempts = attempts, cause = cause, reason = reason,
            had = had
        }
    })
end
