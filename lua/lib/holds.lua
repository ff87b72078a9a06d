-- GIVES holds
-- TAKES store, prepare, slot, call, state
-- USES now, REST, NEVER, split, decode, by_place

-- Kind f by key: a message that rests, or that failed before and is claimed, holds the later
-- messages of its key.  `holds.bars` has the place of the first such message of each key, and -1
-- for the keys that a former owner keeps.
--
-- The field `passed` of the slot says how far messages that wait have been found to be held, or of
-- keys that the caller passes over, so that no call looks at them again: PLACE, then
-- :FIRST:LEN:KEY for each of their keys, with the place of its first such message (until 0.2.1
-- ;FIRST:LEN:KEY if a suspect is among them).  A call believes it as far as those keys are held or
-- passed over now.  A call that names no keys leaves a note that names one of which it has met a
-- message.

-- With MOST_HELD claims and rests one message that waits is claimed at a time.  With READ_MOST, if
-- the topic has skipped failed messages before, none is.
local MOST_HELD, READ_MOST = 1000, 5000
local LOOK_MOST, LOOK_BYTES = 1000, 1048576 -- how many of those that wait a call looks at
local RELIES_MOST = 100 -- keys in `passed`

local keys = state.keys
local holds = {}

-- --- what is held ---

function holds.note(entry, score)
    local before, letter, member = decode(entry)
    if not before then
        return
    end
    local place, key = tonumber(before), keys.of(member)
    if not holds.bars[key] or place < holds.bars[key] then
        holds.bars[key] = place
    end
    if letter == 'r' then
        local over, attempts = split(score)
        holds.rests[#holds.rests + 1] = {
            entry = entry, before = before, place = place, member = member, key = key,
            over = over - REST, attempts = attempts
        }
    end
end

function holds.read()
    local all = redis.call('ZRANGE', prepare, 0, READ_MOST, 'WITHSCORES')
    holds.bars, holds.rests, holds.count = {}, {}, #all / 2 - 1
    for i = 1, #all, 2 do
        local score = tonumber(all[i + 1])
        if score >= REST or score % 1 ~= 0 then
            holds.note(all[i], all[i + 1])
        end
    end
    for key in pairs(state.formers) do
        holds.bars[key] = -1
    end
    table.sort(holds.rests, by_place)
end

-- May it be claimed, as far as its key is concerned?
function holds.is_head(it)
    return holds.bars[it.key] == it.place and not keys.passed[it.key] and not it.claimed
end

-- --- what was passed ---

function holds.load()
    local passed = redis.call('HGET', slot, 'passed')
    local until_place, at = string.match(passed or '0', '^(%d+)()')
    local found, lowest = {}, tonumber(until_place)
    holds.passed, holds.doubted, holds.keeps_note = passed, {}, false
    while passed and at <= #passed do
        local place, len, from = string.match(passed, '^[:;](%d+):(%d+):()', at)
        local key = string.sub(passed, from, from + len - 1)
        at, found[key] = from + len, tonumber(place)
        local is_held = holds.bars[key] and holds.bars[key] < found[key]
        if not (is_held or keys.passed[key]) then
            lowest, holds.doubted[key] = math.min(lowest, found[key] - 1), true
        end
    end
    holds.cursor, holds.relies, holds.relies_count = lowest, {}, 0
    for key, place in pairs(found) do
        if place <= holds.cursor then
            holds.relies[key], holds.relies_count = place, holds.relies_count + 1
        end
    end
end

-- The next message that waits is held.  false: it cannot be noted.
function holds.pass(key, place)
    if not holds.relies[key] then
        if holds.relies_count == RELIES_MOST then
            return false
        end
        holds.relies[key], holds.relies_count = place, holds.relies_count + 1
    end
    holds.cursor = place
    return true
end

function holds.save()
    if holds.keeps_note then
        return
    elseif holds.relies_count == 0 then
        if holds.passed then
            redis.call('HDEL', slot, 'passed')
        end
        return
    end
    local names, parts = {}, { string.format('%.0f', holds.cursor) }
    for key in pairs(holds.relies) do
        names[#names + 1] = key
    end
    table.sort(names)
    for _, key in ipairs(names) do
        parts[#parts + 1] = string.format(':%.0f:%d:', holds.relies[key], #key) .. key
    end
    local text = table.concat(parts)
    if text ~= holds.passed then
        redis.call('HSET', slot, 'passed', text)
    end
end

-- --- in the order of places, what may be claimed ---

function holds.offer(visit, member, before, attempts, entry)
    if state.has_suspect or attempts % 2 == 1 and state.lease then
        return 'suspect'
    end
    return visit(member, before, attempts, entry)
end

-- Those that have rested, and were sent before a place.  One that was set aside, or is claimed and
-- has never failed, holds its key no more: that is for the next call.
function holds.offer_rests(visit, place)
    while holds.rests[holds.at] and holds.rests[holds.at].place < place do
        local it = holds.rests[holds.at]
        if it.over <= now and holds.is_head(it) then
            local stop, claimed = holds.offer(visit, it.member, it.before, it.attempts, it.entry)
            if stop then
                return stop
            end
            it.claimed = true
            holds.frees = holds.frees or not claimed or it.attempts == 0
        end
        holds.at = holds.at + 1
    end
end

function holds.offer_waiting(visit, member, score)
    local place, attempts = split(score)
    local key = keys.of(member)
    local bar = holds.bars[key]
    local is_held = bar and bar < place
    if state.has_suspect and not is_held then
        return 'suspect'
    elseif is_held or keys.passed[key] then
        holds.advances = holds.advances and holds.pass(key, place)
        return nil
    elseif attempts % 2 == 1 and state.lease then
        return 'suspect'
    end
    holds.keeps_note = holds.keeps_note or call.passes == '-' and holds.doubted[key]
    if holds.room == 0 then
        keys.passed[key], holds.advances = true, false
        return nil
    end
    local stop, claimed = visit(member, string.format('%.0f', place), attempts)
    if claimed then
        holds.room = holds.room - 1
        if attempts > 0 then
            holds.bars[key] = place
        end
    end
    return stop
end

function holds.walk_some(visit, from, looked, chunk)
    local found = redis.call('ZRANGE', store, from, '(inf', 'BYSCORE', 'LIMIT', looked, chunk,
        'WITHSCORES')
    local bytes = 0
    for i = 1, #found, 2 do
        bytes = bytes + #found[i]
        local stop = holds.offer_rests(visit, tonumber(found[i + 1]))
            or holds.offer_waiting(visit, found[i], found[i + 1])
        if stop then
            return stop, bytes
        end
    end
    if #found < 2 * chunk then
        return holds.offer_rests(visit, NEVER) or 'end', bytes
    end
    return nil, bytes
end

-- Calls visit(member, before, attempts, entry of a rest) for what may be claimed, until it returns
-- why it stops.  Its second result: was it claimed?  Returns 'full': there is more; 'suspect': what
-- is in flight must end first; 'end': nothing else may be claimed now.
function holds.walk(visit)
    local from, began = string.format('%.0f', holds.cursor + 1), holds.cursor
    local looked, bytes, chunk, stop, more = 0, 0, 16, nil, nil
    holds.at, holds.advances, holds.frees = 1, true, false
    holds.room = math.max(MOST_HELD - holds.count,
        (state.lease or holds.count >= READ_MOST) and 0 or 1)
    while not stop and chunk > 0 do
        stop, more = holds.walk_some(visit, from, looked, chunk)
        looked, bytes = looked + chunk, bytes + more
        chunk = bytes < LOOK_BYTES and math.min(LOOK_MOST - looked, 4 * chunk) or 0
    end
    if not stop then
        stop = holds.cursor > began and 'full' or 'end'
    end
    holds.keeps_note = holds.keeps_note and stop ~= 'end'
    return holds.frees and 'full' or stop
end

-- When something may be claimed; `stopped`: what stopped the walk of this call, if it had one.  A
-- rest that ends later counts if the walk has come past it: a suspect holds back only what was sent
-- after it.
function holds.next(stopped)
    local earliest = state.lease or NEVER
    if state.has_suspect then
        return earliest
    end
    stopped = stopped or holds.walk(function() return 'full' end)
    if stopped == 'full' or stopped == 'suspect' and call.n == 0 and call.may_pass then
        return math.min(earliest, now)
    end
    for at = 1, holds.at - 1 do
        local it = holds.rests[at]
        if it.over > now and holds.is_head(it) then
            earliest = math.min(earliest, it.over)
        end
    end
    return earliest
end
