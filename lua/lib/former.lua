-- GIVES former_read
-- TAKES prepare, slot, call, state
-- USES decode, claim_of, before_score

-- After a strict takeover: `formers` gets the keys of which the former owner has claimed messages,
-- as long as the leases of these claims last.  Nothing may be pushed until then.

local FORMER_MOST = 5000 -- this many claims keep the slot

local function former_read()
    local all = redis.call('ZRANGE', prepare, 0, before_score(state.former + 1), 'BYSCORE',
        'LIMIT', 0, FORMER_MOST)
    for _, entry in ipairs(all) do
        local _, letter, member = decode(entry)
        if letter == 'c' and tonumber(claim_of(entry)) <= state.base then
            state.formers[state.keys.of(member)] = true
        end
    end
    if next(state.formers) or #all == FORMER_MOST then
        state.is_kept, call.open = #all == FORMER_MOST, false
    else
        redis.call('HDEL', slot, 'former')
    end
end
