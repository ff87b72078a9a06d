#!lua
-- KEYS slots... (for each group those of send: store, prepare, slot, [body], [done])
-- ARGV def, kind, groups (how many), max_waiting (of each; 0: no bound), debounce_ms (0: none),
--      dedup_ms (0: none), field_from (as of send), producer (or -), sequence (of the first
--      message), arguments...
-- RETURN OK, results (as of send; d refused in all groups, m merged in one group at least, or
--        refused in some), [full] (if a message is refused, one character per message: A, B, ...
--        the group that is full, or -; empty if only failed follows), [failed] | NO_TOPIC | STALE
--        | FULL, group (from 1): it has no places left (kind p), until it is empty once
--
-- arguments: the channel of each group, then the messages as of send.
--
-- Stores messages in the slots of all groups of a topic, or in none of them: before the first write
-- each group is asked whether it has room for them.  A duplicate needs none: each group knows by
-- itself which ids are in flight, rest, or were done within the window.
--
-- Order of writes: in each group that of send, then the records of the producer in all groups.
-- What the user may not do fails in the first group, which undoes it; what comes after the messages
-- of a group is tried before all.

groups, max_waiting, sequence = tonumber(groups), tonumber(max_waiting), tonumber(sequence)
dedup_ms = tonumber(dedup_ms)
local priority = kind == 'p' or kind == 'b'
local EACH, FIRST, PLACES = #KEYS / groups, ARGUMENTS + groups, 4294967296
local WIDTH, producer_field = EACH == 5 and 5 or 2, 'P' .. producer
local many = (#ARGV - FIRST + 1) / WIDTH
local call = { many = many, sequence = sequence, producer_field = producer_field }
local store, prepare, slot, body, done, channel

-- The names above are those of this group from now on.
local function take(group)
    local at = SLOTS + (group - 1) * EACH
    store, prepare, slot = KEYS[at], KEYS[at + 1], KEYS[at + 2]
    body, done = EACH == 5 and KEYS[at + 3] or nil, EACH == 5 and KEYS[at + 4] or nil
    channel = ARGV[ARGUMENTS + group - 1]
end

-- @include clock
-- @include score
-- @include def
-- @include failed
-- @include idle
local sleepers = idle_wake
-- @include wake

-- What the groups know.  Each key is read before anything is written, so a key of another type ends
-- the call here.
local known, waiting, repeated = {}, {}, nil
for group = 1, groups do
    take(group)
    local its = redis.call('HMGET', slot, 'def', 'parked', 'seq', producer_field)
    local refused = def_refused(its[1], def)
    if refused then
        return refused
    end
    known[group], waiting[group] = its, redis.call('ZCARD', store) - 1
    if priority and max_waiting > 0 then
        waiting[group] = waiting[group] + redis.call('ZCOUNT', prepare, SCHEDULE, '(inf')
    end
    local prepared = redis.call('ZCARD', prepare) - 1
    if body then
        redis.call('HLEN', body)
        redis.call('ZCARD', done)
    end
    if its[4] and sequence <= tonumber(string.match(its[4], '^%d+')) then
        repeated = its[4]
    elseif kind == 'p' and tonumber(its[3] or 0) + many > PLACES
        and waiting[group] + prepared > 0 then
        return { 'FULL', group }
    end
end

-- Tries: they come after the messages of a group, or before those of the next one.
take(1)
redis.call('ZMSCORE', store, '')
redis.call('ZCOUNT', store, 0, 0)
redis.call('HDEL', slot, '-')
if not redis.acl_check_cmd('HINCRBY', slot, 'merged', '1') then
    redis.call('HINCRBY', slot, 'merged', 0) -- ends the call
end

-- A repeat for one group is a repeat for all.
if repeated then
-- @include sent_before
    local reply
    for group = 1, groups do
        take(group)
        reply = sent_before(call, repeated, known[group][2])
    end
    reply[3], reply[4] = failed and '', failed
    return reply
end

-- A message for which one group is full is refused in all: full has that group, by the number of
-- the message.
local full, is_full = {}, false
local narrow = {}

-- Which messages need no room in this group, by their numbers: they wait there, are scheduled, or
-- are duplicates.
local function without_room(members)
    local found = redis.call('ZMSCORE', store, unpack(members))
    if priority then
        local key, hints = body or slot, {}
        for n, member in ipairs(members) do
            hints[n] = 'S' .. member
        end
        for n, before in ipairs(redis.call('HMGET', key, unpack(hints))) do
            found[n] = found[n]
                or before and redis.call('ZSCORE', prepare, before .. 's:' .. members[n])
        end
    end
    if body and dedup_ms > 0 then
-- @include ended_lately
        local ended, fields = ended_lately(members), {}
        for n, member in ipairs(members) do
            fields[n] = 'h' .. member
        end
        for n, header in ipairs(redis.call('HMGET', body, unpack(fields))) do
            found[n] = found[n] or header or ended[n]
        end
    end
    return found
end

for group = 1, max_waiting > 0 and groups or 0 do
    local room = max_waiting - waiting[group]
    if room < many then
        local members = {}
        for n = 1, many do
            members[n] = ARGV[FIRST + (n - 1) * WIDTH]
        end
        take(group)
        narrow[#narrow + 1] = {
            group = group, room = room, without = without_room(members)
        }
    end
end
local taken = {}
for n = 1, narrow[1] and many or 0 do
    local member = ARGV[FIRST + (n - 1) * WIDTH]
    for _, it in ipairs(narrow) do
        if it.room <= 0 and not it.without[n] and not taken[member] then
            full[n], is_full = full[n] or it.group, true
        end
    end
    for _, it in ipairs(full[n] and {} or narrow) do
        it.room = it.room - ((it.without[n] or taken[member]) and 0 or 1)
    end
    taken[member] = taken[member] or not full[n]
end

-- @script send

-- The arguments of send for the present group; it changes them.
local function arguments()
    local copy = { def, kind, channel, 0, debounce_ms, dedup_ms, field_from, '-', 0 }
    local at = SEND_MESSAGES
    for n = 1, many do
        local from = FIRST + (n - 1) * WIDTH
        for i = from, full[n] and 0 or from + WIDTH - 1 do
            copy[at], at = ARGV[i], at + 1
        end
    end
    return copy
end

local results, merged = {}, {}
for group = 1, groups do
    take(group)
    local its = arguments()
    if #its >= SEND_MESSAGES then
        local reply = send({ store, prepare, slot, body, done }, its)
        if reply.err then
            return reply
        end
        results[#results + 1], failed = reply[2], failed or reply[3]
    end
end

-- One answer for all groups: merged, where theirs differ.
local answer, at = results[1] or '', 1
for i = 2, #results do
    for place = 1, results[i] == answer and 0 or #answer do
        merged[place] = merged[place]
            or string.byte(results[i], place) ~= string.byte(answer, place) or nil
    end
end
if is_full or next(merged) then
    local mixed = {}
    for n = 1, many do
        if full[n] then
            mixed[n] = 'f'
        else
            mixed[n], at = merged[at] and 'm' or string.sub(answer, at, at), at + 1
        end
    end
    answer = table.concat(mixed)
end

-- The records of the producer are written last: without them a repeat stores what is missing.
if producer ~= '-' then
    local one = string.sub(answer, 1, 1)
    local made = sequence + many - 1 .. ',' .. many .. ',' .. now .. ','
        .. (answer == string.rep(one, many) and one or answer)
-- @include forget
    for group = 1, groups do
        take(group)
        if known[group][4] then
            redis.call('HSET', slot, producer_field, made)
        else
            redis.call('HSET', slot, producer_field, made, 'swept', forget_producers())
        end
    end
end
if is_full then
    local which = {}
    for n = 1, many do
        which[n] = full[n] and string.char(64 + full[n]) or '-'
    end
    return { 'OK', answer, table.concat(which), failed }
end
return { 'OK', answer, failed and '', failed }
