#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV def, kind, channel, verb, operands...
-- RETURN OK, results (one character per name: 1 done, 0 gone), [failed]
--        | NO_TOPIC | STALE | FULL: no places left (reschedule, kind p)
--
-- operands of remove: state (w waiting, s scheduled, r resting, d dead), name...; of requeue:
-- entry... of dead letters; of reschedule: member, when, of one that waits or is scheduled.
--
-- It changes no claims, so it has no token.  requeue keeps the time, priority or place of each
-- message, gives it all its retries, and removes its expiry; if it waits again, the body of the
-- later send stays.
-- reschedule is a send with this `when` that keeps the number of used retries.  A whole message
-- (lib/whole.lua), whose time is its place, is divided before.
--
-- Order of writes: what is kept beside a message, the message.  What comes after the first write is
-- tried before it (lib/try.lua), and a place is given out before a message has it.

local stored, parked, seq = unpack(redis.call('HMGET', slot, 'def', 'parked', 'seq'))
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end

-- @include clock
-- @include score
-- @include entry
-- @include count
-- @include whole
-- @include body
-- @include reason
-- @include look_again
-- @include give_back
-- @include revive
-- @include failed
-- @include idle
local sleepers = idle_wake
-- @include wake
-- @include place
-- @include has_priority
-- @include hint
-- @include schedule

local timed = kind == 'm' or kind == 't'
local results, earliest = {}, math.huge
seq = tonumber(seq or 0)

-- A message becomes due at that time, or messages behind it may be claimed now.
local function due_at(integer)
    earliest = math.min(earliest, timed and integer or 0)
end

-- An entry of the message has ended.
local function ended(member, attempts)
    reason_drop(member, attempts)
    body_refer(member, -1)
end

local remove = {}

-- While a message is in flight, a waiting suspect keeps those behind it from being claimed.

function remove.w(name)
    local score = redis.call('ZSCORE', store, name)
    if not score then
        return false
    end
    local _, attempts = split(score)
    redis.call('ZREM', store, '\0')
    ended(name, attempts)
    redis.call('ZREM', store, name)
    if attempts % 2 == 1 then
        due_at(0)
    end
    return true
end

-- Kind f: messages behind it may be claimed now.
function remove.r(name)
    local _, letter, member = decode(name)
    local score = letter == ARGV[OPERANDS] and redis.call('ZSCORE', prepare, name)
    if not score then
        return false
    end
    local _, attempts = split(score)
    redis.call('ZREM', prepare, '-')
    if letter == 's' then
        hint_drop(body or slot, 'S' .. member)
    end
    ended(member, attempts)
    redis.call('ZREM', prepare, name)
    if kind == 'f' then
        due_at(0)
    end
    return true
end

remove.s = remove.r

function remove.d(name)
    if not redis.call('ZSCORE', dead, name) then
        return false
    end
    redis.call('ZREM', dead, '-')
    redis.call('HDEL', why, name, 'H' .. name, 'B' .. name)
    redis.call('ZREM', dead, name)
    return true
end

local op = {}

function op.remove(name)
    return remove[ARGV[OPERANDS]](name)
end

function op.requeue(name)
    if not redis.call('ZSCORE', dead, name) then
        return false
    end
    due_at(revive(name))
    return true
end

-- Of kinds p and b it may be scheduled, and be scheduled from now on.
local function reschedule_priority(member, when)
    local its_priority, time = string.match(when, '^([+-]?%d+)(.*)$')
    local found = schedule_find({ member }, redis.call('ZMSCORE', store, member))
    local it = found[member]
    if not it.place then
        return false
    end
    it.due = schedule_time(time)
    if not (kind == 'p' and has_priority(it.place, its_priority)) then
        it.place, seq = place(kind, seq, now, its_priority)
        if kind == 'p' then
            redis.call('HSET', slot, 'seq', seq)
        end
    elseif not (it.due or it.entry) then
        return true
    end
    unpass(it.place)
    schedule_save({ member }, found)
    if it.entries == 2 then
        body_refer(member, -1)
        count('merged')
    end
    earliest = math.min(earliest, it.attempts % 2 == 0 and it.due or 0)
    return true
end

-- If there is another entry of the message, which is not whole, its body stays, and they are one.
-- Order of writes: what is beside the message, the message; what comes later is tried first.
local function divide(member)
    local score, plain = redis.call('ZSCORE', store, member), whole_member(member)
    if not score then
        return plain
    end
    local its, before, attempts = whole_read(member), split(score)
    local reason = attempts >= 2 and redis.call('HGET', why, 'R' .. member)
    unpass(before)
    redis.call('ZADD', store, 'XX', 0, '\0')
    redis.call('ZSCORE', store, '\0')
    redis.call('ZREM', store, '\0')
    redis.call('HDEL', why, '-')
    if not redis.acl_check_cmd('HSET', body, '', '') then
        redis.call('HSET', body, '', '') -- ends the call
    end
    if not redis.acl_check_cmd('HINCRBY', slot, 'merged', '1') then
        redis.call('HINCRBY', slot, 'merged', 0) -- ends the call, too
    end
    if reason then
        redis.call('HSET', why, 'R' .. plain, reason)
    end
    if not body_refer(plain, 1) then
        redis.call('HSET', body, 'h' .. plain, whole_header(its, before), 'b' .. plain, its.text)
    end
    give_back(plain, before, attempts)
    redis.call('ZREM', store, member)
    reason_drop(member, attempts)
    return plain
end

function op.reschedule(member)
    local when = ARGV[OPERANDS + 1]
    member = body and is_whole(member) and divide(member) or member
    if kind == 'p' or kind == 'b' then
        return reschedule_priority(member, when)
    end
    local score = redis.call('ZSCORE', store, member)
    if not score then
        return false
    end
    local _, attempts = split(score)
    local integer
    integer, seq = place(kind, seq, now, when)
    if kind == 'f' then
        redis.call('HSET', slot, 'seq', seq)
    end
    unpass(integer)
    redis.call('ZADD', store, join(integer, attempts), member)
    due_at(attempts % 2 == 1 and 0 or integer)
    return true
end

if verb == 'reschedule' and kind == 'p' and seq >= PLACES then
    return { 'FULL' }
end
if stored ~= def then -- newer than what the slot has: it keeps it
    redis.call('HSET', slot, 'def', def)
end
local first = verb == 'remove' and OPERANDS + 1 or OPERANDS
for i = first, verb == 'reschedule' and first or #ARGV do
    local done = ARGV[i] ~= '' and op[verb](ARGV[i])
    results[#results + 1] = done and 1 or 0
end
count_save()
if earliest < math.huge then
    wake(parked, earliest)
end
return { 'OK', table.concat(results), failed }
