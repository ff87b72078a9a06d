-- Kind f: what rests holds up what was sent after it, and is claimed where it is, alone.

local rested_entries = {} -- claimed, or set aside

-- What rests, the first sent first; with skip failed only what may come again.
local function resting()
    local to, found = skip_failed and before_score(REST + now + 1) or '(inf', {}
    local all = redis.call('ZRANGE', prepare, REST, to, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES')
    for i = 1, #all, 2 do
        local before, _, _, member = decode(all[i])
        local over, attempts = split(all[i + 1])
        found[#found + 1] = {
            entry = all[i], before = before, place = tonumber(before), member = member,
            over = over - REST, attempts = attempts
        }
    end
    table.sort(found, by_place)
    return found
end

-- The place of the first that waits.
local function first_waiting()
    local head = redis.call('ZRANGE', store, 0, 0, 'WITHSCORES')
    return head[1] ~= '' and split(head[2]) or NEVER
end

local function take_rested(mark, it)
    local header = redis.call('HGET', body, 'h' .. it.member)
    local score = join(lease_end, it.attempts)
    if not take(mark, it.member, it.before, score, it.attempts, header) then
        return false
    end
    rested_entries[#rested_entries + 1] = it.entry
    return true
end

-- Claims what rests.  Up to which place may what waits be claimed too?
local function claim_rested(mark)
    local waits = first_waiting()
    for _, it in ipairs(resting()) do
        local held_up = it.over > now or it.attempts % 2 == 1 and lease
        if not skip_failed and waits < it.place then
            return it.before
        elseif held_up or taken == n or suspect_in_hand or not take_rested(mark, it) then
            held_up = true
        else
            held_up = taken > 0
        end
        if held_up and not skip_failed then
            return nil
        end
    end
    return not suspect_in_hand and 'inf' or nil
end

-- The end of a rest after which something could be claimed; must what waits wait for it?
local function next_rested()
    local soonest, waits = NEVER, first_waiting()
    for _, it in ipairs(resting()) do
        local over = (suspect_in_hand or it.attempts % 2 == 1 and lease) and NEVER or it.over
        if not skip_failed then
            return waits < it.place and NEVER or over, waits > it.place
        end
        soonest = math.min(soonest, over)
    end
    local later = redis.call('ZRANGE', prepare, REST + now + 1, '(inf', 'BYSCORE', 'LIMIT', 0, 1,
        'WITHSCORES')
    if later[1] and not suspect_in_hand then
        soonest = math.min(soonest, split(later[2]) - REST)
    end
    return soonest, false
end
