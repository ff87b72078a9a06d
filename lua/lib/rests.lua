-- GIVES rests
-- TAKES prepare, state
-- USES now, REST, NEVER, split, before_score, decode, by_place

-- Kind f that skips failed messages: those that rest, and when they may be claimed.

local RESTS_MOST = 1000

local rests = {}

-- Messages whose rest has ended, the first sent first.
function rests.ended()
    local found = {}
    local all = redis.call('ZRANGE', prepare, REST, before_score(REST + now + 1), 'BYSCORE',
        'LIMIT', 0, RESTS_MOST, 'WITHSCORES')
    for i = 1, #all, 2 do
        local before, _, member = decode(all[i])
        local over, attempts = split(all[i + 1])
        found[#found + 1] = {
            entry = all[i], before = before, place = tonumber(before), member = member,
            over = over - REST, attempts = attempts
        }
    end
    table.sort(found, by_place)
    return found
end

-- Must it wait for messages that are claimed?
function rests.is_held(it)
    return state.has_suspect or it.attempts % 2 == 1 and state.lease
        or state.former and state.formers[state.keys.of(it.member)]
end

-- The end of a rest after which something could be claimed.
function rests.next()
    local soonest = NEVER
    for _, it in ipairs(rests.ended()) do
        soonest = rests.is_held(it) and soonest or math.min(soonest, it.over)
    end
    local later = redis.call('ZRANGE', prepare, REST + now + 1, '(inf', 'BYSCORE', 'LIMIT', 0, 1,
        'WITHSCORES')
    if later[1] and not state.has_suspect then
        soonest = math.min(soonest, split(later[2]) - REST)
    end
    return soonest
end
