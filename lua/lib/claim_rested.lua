-- USES body, join, lease_end, take, rested_entries, rests, now, lease, skip_failed, taken, n
-- USES has_suspect, former, formers, keys

-- Kind f: a message that rests holds up those that were sent after it, and is claimed where it is,
-- alone.

local function take_rested(mark, it)
    local header = redis.call('HGET', body, 'h' .. it.member)
    local score = join(lease_end, it.attempts)
    if not take(mark, it.member, it.before, score, it.attempts, header) then
        return false
    end
    rested_entries[#rested_entries + 1] = it.entry
    return true
end

-- Claims a message that rests.  Returns up to which place those that wait may be claimed, too; nil:
-- none may.
local function claim_rested(mark)
    local waits = rests.first_waiting()
    for _, it in ipairs(rests.all()) do
        local held_up = it.over > now or it.attempts % 2 == 1 and lease
            or former and formers[keys.of(it.member)]
        if not skip_failed and waits < it.place then
            return it.before
        elseif held_up or taken == n or has_suspect or not take_rested(mark, it) then
            held_up = true
        else
            held_up = taken > 0
        end
        if held_up and not skip_failed then
            return nil
        end
    end
    return not has_suspect and 'inf' or nil
end
