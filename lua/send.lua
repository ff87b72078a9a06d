#!lua
-- KEYS store, prepare, slot, [body], [done]
-- ARGV def, kind, channel, max_waiting (0: no bound), debounce_ms (0: none), dedup_ms (0: none),
--      producer (or -), sequence (of the first message), messages...
-- RETURN OK, results (one character per message: a added, m merged, f refused, the slot is full,
--        d refused, a duplicate, u unknown: nothing was done now, and what its first try got is not
--        known any more), [failed]
--        | NO_TOPIC | STALE | FULL: no places left (kind p), until the slot is empty once
--
-- producer, sequence: the send ids.  A call with a sequence that the producer has used before in
-- this slot is a repeat, or came late: it gets the first answer and stores nothing.
-- messages: (member, when), keyed (member, when, body, limit or empty, ttl_ms or empty)
-- limit: LIMIT, or LIMIT/BYTES of a message with headers, which are the first BYTES of body.
-- when: "+MS" from now, "MS" absolute (past means now), the priority, or of kind f nothing to read.
-- A priority may have a time behind it, "PRIORITY@+MS" or "PRIORITY@MS": scheduled until then.
-- Of a message that is restored: "WHEN/ATTEMPTS/FIRST/EXPIRY"; a time that has passed stays as it
-- is, and FIRST and EXPIRY, which are for keyed messages, may be empty.
--
-- Order of writes: the messages, their bodies, the slot with its counters and the answer for a
-- repeat.  If one of the later two cannot be written, what was added is removed again, so nothing
-- waits without its body, and no other message gets the same place.

max_waiting, dedup_ms, sequence = tonumber(max_waiting), tonumber(dedup_ms), tonumber(sequence)
local WIDTH, producer_field = body and 5 or 2, 'P' .. producer
local priority = kind == 'p' or kind == 'b'

-- hinted: inline, is the first message scheduled?  Keyed its header shows that it is somewhere.
local stored, parked, seq, sent, record, token, claims, paused, leased, looked, hinted = unpack(
    redis.call('HMGET', slot, 'def', 'parked', 'seq', 'sent', producer_field, 'token', 'claims',
        'paused', 'leased', 'looked',
        priority and not body and 'S' .. (ARGV[MESSAGES] or '') or '-'))
if stored ~= def then
-- @include def
    local refused = def_refused(stored, def)
    if refused then
        return refused
    end
end
local many, when = 0, ARGV[MESSAGES + 1]
local one_time = when and tonumber(when) -- is it that of all of them?  Not of those restored.
local restored, times -- by their indexes; times of those that are to be scheduled
for i = MESSAGES, #ARGV, WIDTH do
    local its_when = ARGV[i + 1]
    if its_when ~= when and one_time then
        one_time = false
    end
    if ARGV[i] == '' or not (one_time or tonumber(its_when or '')) then
        local function read_when() -- false: it is malformed
            local place, time, kept = string.match(its_when or '', '^([+-]?%d+)(@?%+?%d*)(.*)$')
            local tries, first, expiry = string.match(kept or '', '^/(%d+)/(%d*)/(%d*)$')
            if not place or kept ~= '' and not tries
                or time ~= '' and not (priority and string.find(time, '^@%+?%d+$')) then
                return false
            end
            ARGV[i + 1], times = place, times or time ~= '' and {} or nil
            if times then
                times[i] = time
            end
            if tries then
                restored = restored or {}
                restored[i] = {
                    attempts = tonumber(tries), first = tonumber(first), expiry = tonumber(expiry)
                }
            end
            return true
        end
        if ARGV[i] == '' or not read_when() then
            return redis.error_reply('ERR an empty message, or no number for when')
        end
    end
    many = many + 1
end

-- @include clock
-- @include score
-- @include places
-- @include place
-- @include failed

local repeated = record and sequence <= tonumber(string.match(record, '^%d+'))
local ordered, timed = kind == 'p' or kind == 'f', kind == 'm' or kind == 't'
seq = tonumber(seq or 0)
if kind == 'p' and not repeated then
    local after = seq + many
    if after > PLACES / 2 and redis.call('ZCARD', store) + redis.call('ZCARD', prepare) == 2 then
        seq = 0
    elseif after > PLACES then
        return { 'FULL' }
    end
end
-- @include def_keep

local swept -- if the producer is new to the slot
if producer ~= '-' and not record then
-- @include forget
    swept = forget_producers()
end

local pushed -- what the slot keeps of a push
if parked and many == 1 and one_time and stored == def and not (repeated or hinted)
    and string.find(parked, '/', 1, true) then
-- @include push
end

-- The ordinary calls: messages for one time, without a bound.  Most calls end here, before the
-- functions that they do not need are made.
local results, added, kept, integer, seq_after, due -- nil as long as nothing is stored
local headers_before -- of layout keyed, in the order of the messages
if one_time and max_waiting == 0 and not (repeated or pushed or looked or hinted) then
    if not body and (timed or many == 1) then
        -- Where nothing has that time yet, the scores show afterwards which of them waited before.
        -- Of kinds without times, one new message.
        integer, seq_after = place(kind, seq, now, when)
        local fresh = string.format('%.17g', integer)
        if many == 1 or redis.call('ZCOUNT', store, fresh, fresh) == 0 then
            for i = MESSAGES - 1, #ARGV - 1, 2 do
                ARGV[i] = fresh -- before each member
            end
            added = redis.call('ZADD', store, 'NX', unpack(ARGV, MESSAGES - 1, #ARGV - 1))
            results = added == many and string.rep('a', many) or nil
        end
    elseif body and timed and record and dedup_ms == 0 then
        -- Different messages beside which nothing is stored: they neither wait, nor are in flight,
        -- nor rest.  One whose body is missing may wait all the same.
        integer = place(kind, seq, now, when)
        local fresh, header = string.format('%d', integer), string.format('%d', now)
        local fields, placed, beside, seen = {}, {}, {}, nil
        for i = 1, many do
            local at = MESSAGES + (i - 1) * WIDTH
            local member, limit, ttl = ARGV[at], ARGV[at + 3], ARGV[at + 4]
            local field, n = 'h' .. member, 2 * i
            fields[i], placed[n - 1], placed[n] = field, fresh, member
            n = 2 * n
            beside[n - 3], beside[n - 2], beside[n - 1] = field, header, 'b' .. member
            beside[n] = ARGV[at + 2]
            if limit ~= '' or ttl ~= '' then
                beside[n - 2] = string.format('%d,%s,%s,1', now, limit,
                    ttl ~= '' and string.format('%d', now + ttl) or '')
            end
        end
        local are_new = true
        for i, text in ipairs(redis.call('HMGET', body, unpack(fields))) do
            are_new = are_new and not text
            if many > 1 and are_new then
                seen = seen or {}
                are_new, seen[fields[i]] = not seen[fields[i]], true
            end
        end
        if many > 1 and are_new then
            for i = 1, many do
                fields[i] = placed[2 * i]
            end
            for _, score in ipairs(redis.call('ZMSCORE', store, unpack(fields))) do
                are_new = are_new and not score
            end
        end
        if are_new and redis.call('ZADD', store, 'NX', unpack(placed)) == many then
            added, results = many, string.rep('a', many)
            kept = redis.pcall('HSET', body, unpack(beside))
        end
    end
end
if results and record and timed then -- as answer() does, but without a table
    if type(kept) ~= 'table' then
        kept = redis.pcall('HSET', slot, 'sent', string.format('%d', (sent or 0) + many),
            producer_field, string.format('%d,%d,%d,a', sequence + many - 1, many, now))
    end
    if type(kept) ~= 'table' and not parked then
        return { 'OK', results, failed }
    end
    due = type(kept) ~= 'table' and integer or nil
end

local sleepers -- of a shared topic
if parked and string.find(parked, '|', 1, true) then
-- @include idle
    sleepers = idle_open
end
-- @include wake

if due then
    wake(parked, due)
    return { 'OK', results, failed }
end

if repeated then
-- @include sent_before
    local reply = sent_before()
    reply[3] = failed
    return reply
end

-- Writes what has changed in the slot: the fields in `changed`, the counters, and the answer for a
-- repeat.
local function answer(changed, results, added, merges, refusals)
    local at, kept = #changed, nil
    if added > 0 then
        changed[at + 1], changed[at + 2] = 'sent', string.format('%d', (sent or 0) + added)
        at = at + 2
    end
    if merges > 0 then
        kept = redis.pcall('HINCRBY', slot, 'merged', merges)
    end
    if refusals > 0 and type(kept) ~= 'table' then
        kept = redis.pcall('HINCRBY', slot, 'duplicates', refusals)
    end
    if ordered then
        changed[at + 1], changed[at + 2], at = 'seq', seq, at + 2
    end
    if producer ~= '-' then
        local one = string.sub(results, 1, 1)
        changed[at + 1] = producer_field
        changed[at + 2] = string.format('%d,%d,%d,%s', sequence + many - 1, many, now,
            results == string.rep(one, many) and one or results)
        if swept then
            changed[at + 3], changed[at + 4] = 'swept', swept
        end
    end
    if changed[1] and type(kept) ~= 'table' then
        kept = redis.pcall('HSET', slot, unpack(changed))
    end
    return type(kept) == 'table' and kept or { 'OK', results }
end

if pushed then
    local reply = answer(pushed, 'a', 1, 0, 0)
    return reply.err and error(reply) or reply
end

-- @include entry

-- Inline, what is stored already: of some that waited before, the rest is done here.
local function finish()
    local due = timed and integer or 0
    if not results then
        local members, is_added, placed = {}, {}, {}
        results = {}
        for i = 1, many do
            members[i] = ARGV[MESSAGES + 2 * i - 2]
        end
        for i, score in ipairs(redis.call('ZMSCORE', store, unpack(members))) do
            local member = members[i]
            if many > 1 and tonumber(score) == integer and not is_added[member] then
                is_added[member], results[i] = true, 'a'
            else
                local _, attempts = split(score)
                placed[#placed + 1], placed[#placed + 2] = join(integer, attempts), member
                results[i] = 'm'
                if kind == 't' and attempts % 2 == 1 then
                    due = 0 -- what waits behind the suspect may be claimed now
                end
            end
        end
        if kind == 't' then
            redis.call('ZADD', store, unpack(placed))
        end
        results = table.concat(results)
    end
    seq = seq_after
    local reply = type(kept) == 'table' and kept or answer({}, results, added, many - added, 0)
    if reply.err then
-- @include unsend
    end
    wake(parked, (added > 0 or kind == 't') and due or math.huge)
    reply[3] = failed
    return reply
end
if added and (results or timed) then
    return finish()
end

-- All other calls.  A function, so that the names of these are its own.
local function store_messages()
-- @include body
-- @include look_again
    debounce_ms = tonumber(debounce_ms)

    local members, whens = {}, {}
    for i = MESSAGES, #ARGV, WIDTH do
        members[#members + 1], whens[#members + 1] = ARGV[i], ARGV[i + 1]
    end

    -- Does a message that waits keep its place when it is sent again?
    local function stays()
        return kind == 'm' and debounce_ms == 0 or kind == 'f'
    end

    -- Keyed: what is stored beside the members, kept up to date while messages are added.
    local headers, beside = {}, {}
    if body then
        local fields = {}
        for i, member in ipairs(members) do
            fields[i] = 'h' .. member
        end
        headers_before = redis.call('HMGET', body, unpack(fields))
        for i, text in ipairs(headers_before) do
            headers[members[i]] = text
        end
    end

    -- Stores the body, to which that many entries of the message refer that will be one; answers
    -- when the message was sent first.
    local function keep_body(member, at, entries)
        local its = restored and restored[at]
        local first, refs, _ = its and its.first or now, 1, nil
        if headers[member] then
            local its_first
            its_first, _, _, refs = header_split(headers[member])
            first, refs = entries > 0 and its_first or first, refs + 1 - entries
        end
        local ttl = tonumber(ARGV[at + 4])
        local expiry = its and its.expiry or ttl and now + ttl
        headers[member] = header_join(first, ARGV[at + 3], expiry, refs)
        local n = #beside
        beside[n + 1], beside[n + 2] = 'h' .. member, headers[member]
        beside[n + 3], beside[n + 4] = 'b' .. member, ARGV[at + 2]
        return first
    end

    local scores, ended = redis.call('ZMSCORE', store, unpack(members)), nil
    local waiting, placed, at, results, earliest = {}, {}, 0, {}, math.huge
    local room = max_waiting > 0 and max_waiting - redis.call('ZCARD', store) + 1 or math.huge
    if max_waiting > 0 and priority then
        room = room - redis.call('ZCOUNT', prepare, SCHEDULE, '(inf')
    end
    local added, merges, refusals = 0, 0, 0
    if dedup_ms > 0 then
-- @include ended_lately
        ended = ended_lately(members)
    end

    local function put(member, when, index, old)
        local first = body and keep_body(member, index, old and 1 or 0)
        if old and stays() then
            return
        end
        local its = restored and restored[index]
        local attempts, integer, _ = its and its.attempts or 0, nil, nil
        integer, seq = place(kind, seq, now, when, its)
        if old then
            _, attempts = split(old)
            if debounce_ms > 0 then
                integer = math.min(integer, first + debounce_ms)
            end
        end
        look_again(looked, integer)
        local score = attempts == 0 and integer or join(integer, attempts)
        waiting[member] = score
        placed[at + 1], placed[at + 2], at = score, member, at + 2
        earliest = math.min(earliest, attempts % 2 == 1 and 0 or integer)
    end

    local scheduled -- of kinds p and b: what is stored, where something is scheduled, or is to be
    if priority and (times or not body or next(headers)) then
        local function know_scheduled()
-- @include has_priority
-- @include hint
-- @include schedule
-- @include put_scheduled
        end
        know_scheduled()
    end

    -- Of times: what was placed last, as most of a call are for the same time.
    local last_when, last_score
    timed = timed and not body and not restored

    for i = 1, many do
        local member, when = members[i], whens[i]
        local old = waiting[member] or scores[i]
        if scheduled then
            old = scheduled.is_there(member)
        end
        if ended and not old and (headers[member] or ended[i]) then
            -- in flight, resting, or done within the window
            refusals, results[i] = refusals + 1, 'd'
        elseif room <= 0 and not old then
            results[i] = 'f'
        elseif timed and not old and when == last_when then
            waiting[member] = last_score
            placed[at + 1], placed[at + 2], at = last_score, member, at + 2
            room, added, results[i] = room - 1, added + 1, 'a'
        else
            if scheduled then
                scheduled.put(member, when, MESSAGES + (i - 1) * WIDTH)
            else
                put(member, when, MESSAGES + (i - 1) * WIDTH, old)
            end
            if old then
                merges, results[i] = merges + 1, 'm'
            else
                room, added, results[i] = room - 1, added + 1, 'a'
                if timed then
                    last_when, last_score = when, string.format('%.0f', waiting[member])
                end
            end
        end
    end
    if at > 0 then
        redis.call('ZADD', store, unpack(placed))
    elseif scheduled then
        scheduled.save()
    end
    results = table.concat(results)
    local reply = #beside > 0 and redis.pcall('HSET', body, unpack(beside)) or 0
    if type(reply) ~= 'table' then
        reply = answer({}, results, added, merges, refusals)
    end
    if reply.err then
        if scheduled then
            scheduled.undo(results)
        end
-- @include unsend
    end
    wake(parked, (ordered or kind == 'b') and at > 0 and 0 or earliest)
    reply[3] = failed
    return reply
end
return store_messages()
