-- GIVES batch, batch_read, keep_body, batch_place, batch_write
-- TAKES store, prepare, body, call, field_from, MESSAGES, WIDTH
-- USES now, SCHEDULE, split, join, place, header_split, header_refs, header_join, look_again
-- USES answer

-- Storing the messages of any send.  What it knows of them:
--   members, scores  the messages, and the scores of those that wait
--   headers          keyed: what is stored beside the members, kept up to date
--   waiting          the scores of those that wait since this call
--   placed, beside   what is to be stored
--   room             how many more the slot takes
--   earliest         when something becomes due
local batch = {
    members = {}, scores = {}, headers = {}, waiting = {}, placed = {}, beside = {},
    room = math.huge, earliest = math.huge, added = 0, merges = 0, refusals = 0
}

local function batch_read()
    for i = MESSAGES, #ARGV, WIDTH do
        batch.members[#batch.members + 1] = ARGV[i]
    end
    if body then
        local fields = {}
        for i, member in ipairs(batch.members) do
            fields[i] = 'h' .. member
        end
        batch.headers_before = redis.call('HMGET', body, unpack(fields))
        for i, text in ipairs(batch.headers_before) do
            batch.headers[batch.members[i]] = text
        end
    end
    batch.scores = redis.call('ZMSCORE', store, unpack(batch.members))
    if call.max_waiting > 0 then
        batch.room = call.max_waiting - redis.call('ZCARD', store) + 1
    end
    if call.max_waiting > 0 and call.priority then
        batch.room = batch.room - redis.call('ZCOUNT', prepare, SCHEDULE, '(inf')
    end
end

-- Stores the body, to which that many entries of the message refer that will be one; answers when
-- the message was sent first.
local function keep_body(member, at, entries)
    local its = call.restored and call.restored[at]
    local first, refs, stored = its and its.first or now, 1, batch.headers[member]
    if stored then
        first, refs = entries > 0 and header_split(stored) or first,
            header_refs(stored) + 1 - entries
    end
    local ttl = tonumber(ARGV[at + 4])
    local expiry = its and its.expiry or ttl and now + ttl
    local header, text = header_join(first, ARGV[at + 3], expiry, refs), ARGV[at + 2]
    local n = #batch.beside
    if #text >= field_from or stored and not string.find(stored, '\0', 1, true) then
        batch.beside[n + 3], batch.beside[n + 4] = 'b' .. member, text
    else
        header = header .. '\0' .. text
    end
    batch.headers[member] = header
    batch.beside[n + 1], batch.beside[n + 2] = 'h' .. member, header
    return first
end

local function place_at(member, score)
    local n = #batch.placed
    batch.waiting[member] = score
    batch.placed[n + 1], batch.placed[n + 2] = score, member
end

-- Does a message that waits keep its place when it is sent again?
local function stays()
    return call.kind == 'm' and call.debounce_ms == 0 or call.kind == 'f'
end

-- The message at that index of ARGV, which waits with the score `old` (nil: it does not).
local function put(member, at, old)
    local first = body and keep_body(member, at, old and 1 or 0)
    if old and stays() then
        return
    end
    local its = call.restored and call.restored[at]
    local attempts, integer, _ = its and its.attempts or 0, nil, nil
    integer, call.seq = place(call.kind, call.seq, now, ARGV[at + 1], its)
    if old then
        _, attempts = split(old)
        if call.debounce_ms > 0 then
            integer = math.min(integer, first + call.debounce_ms)
        end
    end
    look_again(call.looked, integer)
    place_at(member, attempts == 0 and integer or join(integer, attempts))
    batch.earliest = math.min(batch.earliest, attempts % 2 == 1 and 0 or integer)
end

-- Is it one that is refused: in flight, resting, or done within the window?  ended: those that were
-- done (nil: there is no window).
local function is_duplicate(i, ended)
    return ended and (batch.headers[batch.members[i]] or ended[i])
end

-- Finds a place for each message.  scheduled: lib/put_scheduled.lua, or nil.  Returns the results.
local function batch_place(scheduled, ended)
    -- Of times: what was placed last, as most of a call are for the same time.
    local last_when, last_score
    local timed, results = call.timed and not body and not call.restored, {}
    for i, member in ipairs(batch.members) do
        local at = MESSAGES + (i - 1) * WIDTH
        local when, old = ARGV[at + 1], batch.waiting[member] or batch.scores[i]
        if scheduled then
            old = scheduled.is_there(member)
        end
        if not old and is_duplicate(i, ended) then
            batch.refusals, results[i] = batch.refusals + 1, 'd'
        elseif batch.room <= 0 and not old then
            results[i] = 'f'
        else
            if scheduled then
                scheduled.put(member, when, at)
            elseif timed and not old and when == last_when then
                place_at(member, last_score)
            else
                put(member, at, old)
            end
            if old then
                batch.merges, results[i] = batch.merges + 1, 'm'
            else
                batch.room, batch.added, results[i] = batch.room - 1, batch.added + 1, 'a'
                if timed and when ~= last_when then
                    last_when, last_score = when, string.format('%.0f', batch.waiting[member])
                end
            end
        end
    end
    return table.concat(results)
end

-- Stores them.  Returns what answer() replies, or an error.
local function batch_write(scheduled, results)
    if #batch.placed > 0 then
        redis.call('ZADD', store, unpack(batch.placed))
    elseif scheduled then
        scheduled.save()
    end
    local kept = #batch.beside > 0 and redis.pcall('HSET', body, unpack(batch.beside)) or 0
    return type(kept) == 'table' and kept or answer({}, results, batch)
end
