#!lua
-- KEYS store, prepare, slot, schedule, [body], [done]
-- ARGV def, kind, channel, max_waiting (0: no bound), debounce_ms (0: none), dedup_ms (0: none),
--      field_from (as of send), ttl_ms (empty: none; of a message that says nothing else), calls...
-- RETURN OK, results (one character per call: those of send; s skipped; o other: the schedule or
--        the slot is paused, or it is gone, or another call was first), tick (of the slot:
--        schedule_put), [failed]
--        | NO_TOPIC | STALE | FULL
--
-- calls: (id, version, due, next, what).  what: f fire, store the message of the schedule with its
-- id and the time that it was due; s skip; r run, store it with the time `due`, whatever that is.
-- A call without calls makes a key `schedule` anew that Redis has lost.
-- A call to fire or skip is for the version and the due time that its caller has read, which has
-- come; the schedule is due at `next` then, or never again if that is empty.  So of callers that do
-- the same one is the first.  A refused message leaves its schedule due.
--
-- Order of writes: the messages as in send, which wakes who sleeps, when the schedules are due
-- next, then what is stored of them.  What comes after the messages is tried before, so that none
-- is stored whose schedule stays due.

local stored, is_paused = unpack(redis.call('HMGET', slot, 'def', 'paused'))
-- @include clock
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end
-- @include failed
-- @include tick
-- @script send

local MOST, WIDTH = (#ARGV - CALLS + 1) / 5, body and 5 or 2
local results, fired, moves, gone = {}, {}, {}, {}
local arguments = { def, kind, channel, max_waiting, debounce_ms, dedup_ms, field_from, '-', 0 }

-- The parts of the message in a definition: member, when, body, limit, ttl (empty: that of the
-- topic; -: none).
local function parts_of(definition)
    local parts, length, at = {}, nil, 1
    for i = 0, 5 do
        length, at = string.match(definition, '^(%d+):()', at)
        parts[i], at = string.sub(definition, at, at + length - 1), at + length
    end
    return parts
end

local function fire(i, definition, time)
    local parts, n = parts_of(definition), #arguments
    for part = 1, WIDTH do
        arguments[n + part] = parts[part]
    end
    if body then
        arguments[n + 1] = parts[1] .. time
        arguments[n + 5] = parts[5] == '' and ttl_ms or parts[5] ~= '-' and parts[5] or ''
    end
    fired[#fired + 1] = i
end

-- What is stored of the schedule after a call to fire or skip; nil: the call is late or early.
local function moved(state, version, due, next, what)
    local its, at, count, last, paused, note =
        string.match(state, '^(%d+),(%d*),(%d+),(%d*),([01]),(.*)$')
    if its ~= version or at ~= due or paused == '1' or is_paused or tonumber(due) > now then
        return nil
    elseif what == 'f' then
        count, last = count + 1, due
    end
    return string.format('%.0f,%s,%.0f,%s,0,%s', math.max(its + 1, now), next, tonumber(count),
        last, note)
end

for i = 1, MOST do
    local id, version, due, next, what = unpack(ARGV, CALLS + 5 * i - 5, CALLS + 5 * i - 1)
    local state, definition = unpack(redis.call('HMGET', slot, 'X' .. id, 'Y' .. id))
    results[i] = 'o'
    if not state then
        gone[#gone + 1] = id
    elseif what == 'r' then
        fire(i, definition, due)
    else
        local after = moved(state, version, due, next, what)
        moves[i] = after and { id = id, next = next, state = after }
        results[i] = after and 's' or 'o'
        if after and what == 'f' then
            fire(i, definition, due)
        end
    end
end

tick_keep()
redis.call('ZREM', schedule, '\0', unpack(gone)) -- no id has a NUL
redis.call('HDEL', slot, '-')
tick_first()
if #fired > 0 then
    local reply = send({ store, prepare, slot, body, done }, arguments)
    if reply.err or reply[1] ~= 'OK' then
        return reply
    end
    for n, i in ipairs(fired) do
        results[i] = string.sub(reply[2], n, n)
    end
    failed = reply[3]
end

local changed = { 'tick', '' }
for i = 1, MOST do
    local it = results[i] ~= 'f' and moves[i]
    if it and it.next == '' then
        redis.call('ZREM', schedule, it.id)
    elseif it then
        redis.call('ZADD', schedule, it.next, it.id)
    end
    if it then
        local n = #changed
        changed[n + 1], changed[n + 2] = 'X' .. it.id, it.state
    end
end
changed[2] = tick_first()
redis.call('HSET', slot, unpack(changed))
return { 'OK', table.concat(results), changed[2], failed }
