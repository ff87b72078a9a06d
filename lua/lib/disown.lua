-- GIVES disown
-- TAKES prepare, state, moves
-- USES before_score, decode, claim_of, split, count

-- A push that its owner cannot have got: a failover has lost what its owner did before, and the
-- push got a number that the owner knows.  It waits again as it was.  Returns false if the
-- owner has a message of that number in flight, which may be this one.
local function disown()
    local ends = state.claimed_until
    local all = ends and redis.call('ZRANGE', prepare, ends, before_score(ends + 1), 'BYSCORE',
        'WITHSCORES') or {}
    for i = 1, #all, 2 do
        local before, letter, member = decode(all[i])
        if letter == 'c' and tonumber(claim_of(all[i])) == state.claims then
            if state.claims >= state.oldest then
                return false
            end
            local _, attempts = split(all[i + 1])
            moves.try()
            count('lease_lost')
            moves.give_back(member, before, attempts)
            redis.call('ZREM', prepare, all[i])
        end
    end
    return true
end
