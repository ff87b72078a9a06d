-- GIVES schedule_time, schedule_find, schedule_save, schedule_entry
-- TAKES prepare, slot, body, store
-- USES now, split, SCHEDULE, REST, join, merge_attempts, hint_drop

-- Kinds p and b: a message that was sent for a later time is scheduled until then.  Its entry in
-- prepare is "20s:member", with its time, and it is found by a hint (lib/hint.lua).
local LATEST = SCHEDULE - REST - 1

local function hints_read(key, fields)
    return redis.call('HMGET', key, unpack(fields))
end

local function hints_keep(key, hints)
    redis.call('HSET', key, unpack(hints))
end

local function schedule_entry(before, member)
    return string.format('%.0fs:', before) .. member
end

-- When a message is due, "@MS" or "@+MS" from now; nil: at once.
local function schedule_time(text)
    local plus, ms = string.match(text or '', '^@(%+?)(%d+)$')
    local at = ms and math.min(plus == '' and tonumber(ms) or now + ms, LATEST)
    return at and at > now and at or nil
end

-- What is stored of some members that wait (`scores`: in the store) or are scheduled, by the
-- member: in_store, entry, and where the message is (place; nil: it is neither), due and attempts.
-- One that is both will be one message.
local function schedule_find(members, scores)
    local fields, found = {}, {}
    for i, member in ipairs(members) do
        fields[i] = 'S' .. member
    end
    for i, before in ipairs(hints_read(body or slot, fields)) do
        local member, it = members[i], { in_store = scores[i] or nil }
        if it.in_store then
            it.place, it.attempts = split(it.in_store)
        end
        local entry = before and before .. 's:' .. member
        local score = entry and redis.call('ZSCORE', prepare, entry)
        if score then
            local _, attempts = split(score)
            it.entry, it.place = entry, it.place or tonumber(before)
            it.attempts = merge_attempts(it.attempts or 0, attempts)
        end
        it.entries = (it.in_store and 1 or 0) + (it.entry and 1 or 0)
        found[member] = found[member] or it
    end
    return found
end

-- Stores them where they are now.
--
-- Order of writes: the hints, the new places, the former ones, which are tried before.
local function schedule_save(members, found)
    local hints, waits, entries, left, ended, unhinted = {}, {}, {}, {}, {}, {}
    for _, member in ipairs(members) do
        local it = found[member]
        if it.due then
            local entry, n = schedule_entry(it.place, member), #entries
            entries[n + 1], entries[n + 2] = join(SCHEDULE + it.due, it.attempts), entry
            hints[n + 1], hints[n + 2] = 'S' .. member, string.format('%.0f', it.place)
            left[#left + 1] = it.in_store and member
            ended[#ended + 1] = it.entry and it.entry ~= entry and it.entry or nil
        else
            waits[#waits + 1] = join(it.place, it.attempts)
            waits[#waits + 1] = member
            unhinted[#unhinted + 1] = it.entry and 'S' .. member
            ended[#ended + 1] = it.entry
        end
    end
    redis.call('ZADD', prepare, 'XX', 0, '-')
    redis.call('ZREM', prepare, '-')
    redis.call('ZADD', store, 'XX', 0, '\0')
    redis.call('ZREM', store, '\0')
    hint_drop(body or slot, '-', unpack(unhinted))
    if #entries > 0 then
        hints_keep(body or slot, hints)
        redis.call('ZADD', prepare, unpack(entries))
    end
    if #waits > 0 then
        redis.call('ZADD', store, unpack(waits))
    end
    if #left > 0 then
        redis.call('ZREM', store, unpack(left))
    end
    if #ended > 0 then
        redis.call('ZREM', prepare, unpack(ended))
    end
end
