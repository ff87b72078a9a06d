-- USES store, prepare, rests, skip_failed, before_score, REST, now, decode, split, by_place
-- USES NEVER, has_suspect, lease, former, formers, keys

-- Kind f: messages that rest, and when they may be claimed.

-- Messages that rest, the first sent first; with skip failed only those whose rest has ended.
function rests.all()
    local to, found = skip_failed and before_score(REST + now + 1) or '(inf', {}
    local most = skip_failed and 1000 or 5000 -- an owner by key leaves at most as many
    local all = redis.call('ZRANGE', prepare, REST, to, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
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
function rests.first_waiting()
    local head = redis.call('ZRANGE', store, 0, 0, 'WITHSCORES')
    return head[1] ~= '' and split(head[2]) or NEVER
end

-- The end of a rest after which something could be claimed; must what waits wait for it?
function rests.next()
    local soonest, waits = NEVER, rests.first_waiting()
    for _, it in ipairs(rests.all()) do
        local held_up = has_suspect or it.attempts % 2 == 1 and lease
            or former and formers[keys.of(it.member)]
        local over = held_up and NEVER or it.over
        if not skip_failed then
            return waits < it.place and NEVER or over, waits > it.place
        end
        soonest = math.min(soonest, over)
    end
    local later = redis.call('ZRANGE', prepare, REST + now + 1, '(inf', 'BYSCORE', 'LIMIT', 0, 1,
        'WITHSCORES')
    if later[1] and not has_suspect then
        soonest = math.min(soonest, split(later[2]) - REST)
    end
    return soonest, false
end
