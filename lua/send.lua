#!lua
-- KEYS store, prepare, slot, [body], [done]
-- ARGV def, kind, channel, max_waiting (0: no bound), debounce_ms (0: none), dedup_ms (0: none),
--      field_from (bodies of at least this size have a field of their own; 0: all, lib/body.lua),
--      producer (or -), sequence (of the first message), messages...
-- RETURN OK, results (one character per message: a added, m merged, f refused, the slot is full,
--        d refused, a duplicate, u unknown: nothing was done now, and what its first try got is not
--        known any more), [failed]
--        | NO_TOPIC | STALE | FULL: no places left (kind p), until the slot is empty once
--
-- producer, sequence: the send ids.  A call with a sequence that the producer has used before in
-- this slot is a repeat, or came late: it gets the first answer and stores nothing.
-- messages: (member, when), keyed (member, when, body, limit or empty, ttl_ms or empty)
-- debounce_ms, dedup_ms: without body, as of whole messages, none.
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
field_from = tonumber(field_from)
local WIDTH, producer_field = body and 5 or 2, 'P' .. producer
local priority = kind == 'p' or kind == 'b'
local ordered, timed = kind == 'p' or kind == 'f', kind == 'm' or kind == 't'

-- 1. Read.

-- hinted: inline, is the first message scheduled?  Keyed its header shows that it is somewhere.
local stored, parked, sent, record, looked, token, claims, paused, leased, seq, hinted
if timed then
    stored, parked, sent, record, looked, token, claims, paused, leased = unpack(
        redis.call('HMGET', slot, 'def', 'parked', 'sent', producer_field, 'looked', 'token',
            'claims', 'paused', 'leased'))
else
    stored, parked, sent, record, looked, token, claims, paused, leased, seq, hinted = unpack(
        redis.call('HMGET', slot, 'def', 'parked', 'sent', producer_field, 'looked', 'token',
            'claims', 'paused', 'leased', 'seq',
            priority and not body and 'S' .. (ARGV[MESSAGES] or '') or '-'))
end
if stored ~= def then
-- @include def
    local refused = def_refused(stored, def)
    if refused then
        return refused
    end
end

-- How many messages they are, and their `when`, if it is one for all and nothing but a number.
local many, when = 0, ARGV[MESSAGES + 1]
local one_time = when and tonumber(when)
local restored, times -- by their indexes: what is restored; times of those that are to be scheduled
for i = MESSAGES, #ARGV, WIDTH do
    local its_when = ARGV[i + 1]
    if its_when ~= when and one_time then
        one_time = false
    end
    if ARGV[i] == '' or not (one_time or tonumber(its_when or '')) then
-- @include when
        local place, time, its = when_read(its_when or '')
        if ARGV[i] == '' or not place or time and not priority then
            return redis.error_reply('ERR an empty message, or no number for when')
        end
        ARGV[i + 1] = place
        if time then
            times = times or {}
            times[i] = time
        end
        if its then
            restored = restored or {}
            restored[i] = its
        end
    end
    many = many + 1
end

-- @include clock
-- @include score
-- @include place
-- @include failed

local repeated = record and sequence <= tonumber(string.match(record, '^%d+'))
seq = tonumber(seq or 0)
if kind == 'p' and not repeated then
    local after = seq + many
    if after > PLACES / 2 and redis.call('ZCARD', store) + redis.call('ZCARD', prepare) == 2 then
        seq = 0
    elseif after > PLACES then
        return { 'FULL' }
    end
end
if stored ~= def then -- newer than what the slot has: it keeps it
    redis.call('HSET', slot, 'def', def)
end
local swept -- if the producer is new to the slot
if producer ~= '-' and not record then
-- @include forget
    swept = forget_producers()
end

-- 2. A push: the message of the call is claimed for the owner that sleeps, and published to
-- it.  Where that is not possible, nothing has changed.  It stands here and is no module, because a
-- function that uses all these names costs as much as three commands.
--
-- Order of writes: the claim, the body, the slot; published between the last two.  Where that is
-- not possible, the claim and the body are removed again.

local PUSH_MOST = 4096 -- bytes of the entry, the header and the body
local integer, seq_after, pushed -- the last one: fields of the slot and their values
local may_push = parked and many == 1 and one_time and stored == def
    and not (repeated or hinted) and string.find(parked, '/', 1, true)
local sleeps_until, lease_ms
if may_push then
    sleeps_until, lease_ms = string.match(parked, '^(%d+)/(%d+)$')
    integer, seq_after = place(kind, seq, now, when)
    may_push = now < tonumber(sleeps_until) and not paused and not (timed and integer > now)
        and not (leased and now < tonumber(leased))
end
-- Prepare holds nothing but claims with leases that have not ended, none of a suspect, and what is
-- scheduled and not due.
if may_push and redis.call('ZCARD', prepare) > 1 then
    local lease, attempts = split(redis.call('ZRANGE', prepare, '0', '0', 'WITHSCORES')[2])
    local last = redis.call('ZRANGE', prepare, '-2', '-2', 'WITHSCORES')[2]
    may_push = lease > now and not (lease < REST and attempts % 2 == 1)
        and (tonumber(last) < REST or redis.call('ZCOUNT', prepare, REST,
            string.format('(%.0f', SCHEDULE + now + 1)) == 0)
end
-- The owner would claim this message first, and it merges with none.
local waiting = may_push and redis.call('ZCARD', store) - 1
if may_push and waiting > 0 then
    may_push = timed and not (max_waiting > 0 and waiting >= max_waiting)
        and not redis.call('ZSCORE', store, ARGV[MESSAGES])
        and split(redis.call('ZRANGE', store, '0', '0', 'WITHSCORES')[2]) > now
end
local header, text = '', ''
if may_push and body then
-- @include push_header
    header, text = push_header() or '', ARGV[MESSAGES + 2]
    may_push = header ~= ''
end
if may_push then
    -- It is not too long, and it will be heard.  An owner that is still subscribed at the former
    -- master hears what is published here and is not counted.  So nothing is published while no
    -- subscriber is counted.
    local claim = string.format('%d', claims + 1)
    local entry = string.format('%dc', integer) .. claim .. ':' .. ARGV[MESSAGES]
    local heard = 0
    if #entry + #header + #text <= PUSH_MOST then
        heard = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
        failed = heard.err and { ok = 'PUBSUB ' .. channel .. ' ' .. heard.err }
        heard = heard.err and 0 or heard[2]
    end
    local lease_end, kept = string.format('%d', now + tonumber(lease_ms)), 0
    if heard > 0 then
        redis.call('ZADD', prepare, lease_end, entry)
        if body and #text < field_from then
            kept = redis.pcall('HSET', body, 'h' .. ARGV[MESSAGES], header .. '\0' .. text)
        elseif body then
            kept = redis.pcall('HSET', body, 'h' .. ARGV[MESSAGES], header,
                'b' .. ARGV[MESSAGES], text)
        end
    end
    if heard > 0 and type(kept) ~= 'table'
        and redis.acl_check_cmd('HSET', slot, 'claims', claim) then
        local found = redis.pcall('SPUBLISH', channel, string.format('%s %d %s %d %d\n', token, now,
            lease_ms, #entry, #header) .. entry .. header .. text)
        pushed = type(found) == 'number' and found > 0
    end
    if heard > 0 and not pushed then
        redis.call('ZREM', prepare, entry)
        if body then
            redis.call('HDEL', body, 'h' .. ARGV[MESSAGES], 'b' .. ARGV[MESSAGES])
        end
    end
    if pushed and leased then
        redis.call('HSET', slot, 'leased', string.format('%d', now))
    end
    local asleep = string.format('-%d', now)
    if pushed and timed and record then
        redis.call('HSET', slot, 'claims', claim, 'claimed_until', lease_end, 'parked', asleep,
            'sent', string.format('%d', (sent or 0) + 1), producer_field,
            string.format('%d,1,%d,a', sequence, now))
        return { 'OK', 'a' }
    elseif pushed then
        seq = seq_after
        pushed = { 'claims', claim, 'claimed_until', lease_end, 'parked', asleep }
    end
end

-- 3. The ordinary calls: messages for one time, without a bound.  Most calls end here, before the
-- functions that they do not need are made.

local results, added, kept, due -- nil as long as nothing is stored
if one_time and max_waiting == 0 and not (repeated or pushed or looked or hinted) then
    if not body and (timed or many == 1) then
        -- Where nothing has that time yet, or none of them waits, the scores show afterwards which
        -- of them waited before.  Of kinds without times, one new message.
        integer, seq_after = place(kind, seq, now, when)
        local fresh = string.format('%.17g', integer)
        local are_new = many == 1 or redis.call('ZCOUNT', store, fresh, fresh) == 0
        if not are_new then
-- @include waiting
            are_new = next(waiting_among(many)) == nil
        end
        if are_new then
            for i = MESSAGES - 1, #ARGV - 1, 2 do
                ARGV[i] = fresh -- before each member
            end
            added = redis.call('ZADD', store, 'NX', unpack(ARGV, MESSAGES - 1, #ARGV - 1))
            results = added == many and string.rep('a', many) or nil
        end
    elseif body and timed and record and dedup_ms == 0 then
-- @include send_new
        integer = place(kind, seq, now, when)
        kept = send_new(integer, many)
        if kept then
            added, results = many, string.rep('a', many)
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

-- 4. Every other call.

local sleepers -- of a shared topic
if parked and string.find(parked, '|', 1, true) then
-- @include idle
    sleepers = idle_wake
end
-- @include wake
if due then
    wake(parked, due)
    return { 'OK', results, failed }
end

local call = {
    many = many, kind = kind, ordered = ordered, timed = timed, priority = priority, seq = seq,
    sent = sent, swept = swept, producer = producer, producer_field = producer_field,
    sequence = sequence, max_waiting = max_waiting,
    debounce_ms = body and tonumber(debounce_ms) or 0,
    dedup_ms = dedup_ms, looked = looked, restored = restored, times = times
}
if repeated then
-- @include sent_before
    local reply = sent_before(call, record, parked)
    reply[3] = failed
    return reply
end

-- @include answer
if pushed then
    local reply = answer(pushed, 'a', { added = 1 })
    return reply.err and error(reply) or reply
end

-- @include entry
-- @include unsend
-- The end of a call that has stored its messages: `reply` is what answer() replied, or an error.
local function finish(reply, its_results, earliest, headers)
    if reply.err then
        unsend(its_results, headers, reply)
    end
    wake(parked, earliest)
    reply[3] = failed
    return reply
end

if added and (results or timed) then -- inline, stored already; some may have waited before
    local is_late = timed and integer or 0
    if not results then
-- @include merge
        results, is_late = merge(integer, call)
    end
    call.seq = seq_after
    local reply = type(kept) == 'table' and kept
        or answer({}, results, { added = added, merges = many - added })
    return finish(reply, results, (added > 0 or kind == 't') and is_late or math.huge)
end

-- @include whole
-- @include body
-- @include look_again
-- @include batch
batch_read()
local scheduled, ended
if priority and (times or not body or next(batch.headers)) then
    local function know_scheduled()
-- @include has_priority
-- @include hint
-- @include schedule
-- @include put_scheduled
        return scheduled_open()
    end
    scheduled = know_scheduled()
end
if body and dedup_ms > 0 then
-- @include ended_lately
    ended = ended_lately(batch.members)
end
results = batch_place(scheduled, ended)
local reply = batch_write(scheduled, results)
if reply.err and scheduled then
    scheduled.undo(results)
end
local now_due = (ordered or kind == 'b') and #batch.placed > 0
return finish(reply, results, now_due and 0 or batch.earliest, batch.headers_before)
