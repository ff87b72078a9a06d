-- GIVES scheduled_open
-- TAKES prepare, slot, body, call
-- USES now, place, look_again, has_priority, hint_drop, schedule_entry, schedule_time
-- USES schedule_find, schedule_save, batch, keep_body

-- Messages of a send of kinds p and b, of which some are scheduled, or are to be.  The last send of
-- a message says what its priority is, and when it is due.
local found, moved, scheduled = nil, {}, {}

-- Does the message wait, or is it scheduled?
function scheduled.is_there(member)
    return found[member].place ~= nil
end

function scheduled.put(member, when, at)
    local it, its = found[member], call.restored and call.restored[at]
    if body then
        keep_body(member, at, it.entries)
    end
    local due = call.times and schedule_time(call.times[at])
    local keeps = it.place and call.kind == 'p' and has_priority(it.place, when)
    if keeps and not (due or it.entry or it.is_moved) then
        return
    elseif not keeps then
        it.place, call.seq = place(call.kind, call.seq, now, when)
    end
    it.attempts = it.attempts or its and its.attempts or 0
    if it.entries == 2 then
        batch.merges, batch.room = batch.merges + 1, batch.room + 1
    end
    it.entries = 1
    it.due, it.is_moved, moved[#moved + 1] = due, true, member
    batch.earliest = math.min(batch.earliest, it.attempts % 2 == 0 and due or 0)
    if not due then
        look_again(call.looked, it.place)
    end
end

function scheduled.save()
    if #moved > 0 then
        schedule_save(moved, found)
    end
end

-- What was added is removed again.
function scheduled.undo(results)
    local entries, hints = {}, {}
    for i, member in ipairs(batch.members) do
        local it = found[member]
        if string.sub(results, i, i) == 'a' and it.due then
            entries[#entries + 1] = schedule_entry(it.place, member)
            hints[#hints + 1] = 'S' .. member
        end
    end
    if #entries > 0 then
        redis.call('ZREM', prepare, unpack(entries))
        hint_drop(body or slot, unpack(hints))
    end
end

local function scheduled_open()
    found = schedule_find(batch.members, batch.scores)
    return scheduled
end
