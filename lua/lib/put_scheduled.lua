-- USES scheduled, members, scores, times, restored, body, keep_body, kind, has_priority, place, seq
-- USES now, merges, room, earliest, looked, look_again, prepare, slot, hint_drop, schedule_entry
-- USES schedule_time, schedule_find, schedule_save

-- Messages of a send of kinds p and b, of which some are scheduled, or are to be.  The last send of
-- a message says what its priority is, and when it is due.
local found, moved = schedule_find(members, scores), {}
scheduled = {}

-- Does the message wait, or is it scheduled?
function scheduled.is_there(member)
    return found[member].place ~= nil
end

function scheduled.put(member, when, index)
    local it, its = found[member], restored and restored[index]
    if body then
        keep_body(member, index, it.entries)
    end
    local due = times and schedule_time(times[index])
    local keeps = it.place and kind == 'p' and has_priority(it.place, when)
    if keeps and not (due or it.entry or it.is_moved) then
        return
    elseif not keeps then
        it.place, seq = place(kind, seq, now, when)
    end
    it.attempts = it.attempts or its and its.attempts or 0
    if it.entries == 2 then
        merges, room = merges + 1, room + 1
    end
    it.entries = 1
    it.due, it.is_moved, moved[#moved + 1] = due, true, member
    earliest = math.min(earliest, it.attempts % 2 == 0 and due or 0)
    if not due then
        look_again(looked, it.place)
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
    for i, member in ipairs(members) do
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
