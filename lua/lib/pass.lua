-- USES keys, store, n, max_bytes, priority, fifo, now, lease, taken, has_suspect, body, first
-- USES before_score, split, join, lease_end, take, gone, formers

-- A claim that passes over the messages of some keys: their owner has some of them already, and
-- would let the others wait, or a former owner keeps them.  It looks at the first messages that
-- could be claimed, PASS_MOST of them or about max_bytes.  A suspect stops it, whatever its key.

local PASS_MOST = 1000

local function reachable(up_to)
    if priority then
        return first(store, '+inf', '(-inf', PASS_MOST, max_bytes, true)
    elseif fifo then
        return first(store, '-inf', '(' .. up_to, PASS_MOST, max_bytes, false)
    end
    return first(store, '-inf', before_score(now + 1), PASS_MOST, max_bytes, false)
end

-- Claims messages of other keys, and notes in `gone` which are to be removed from the store.
-- Returns what stopped it: 'full', 'suspect', or 'end' of what it may look at.
local function claim_passing(mark, up_to)
    local found = reachable(up_to)
    for i = 1, #found, 2 do
        local member = found[i]
        local before, attempts = split(found[i + 1])
        local key = keys.of(member)
        if has_suspect or attempts % 2 == 1 and lease then
            return 'suspect'
        elseif taken == n then
            return 'full'
        elseif not (keys.passed[key] or formers[key]) then
            local header = body and redis.call('HGET', body, 'h' .. member)
            if not take(mark, member, string.format('%.0f', before), join(lease_end, attempts),
                attempts, header) then
                return 'full'
            end
            gone[#gone + 1] = member
        end
    end
    return 'end'
end
