-- USES prepare, claims, claimed_until, oldest, before_score, decode, split, count, give_back
-- USES try_moves

-- A push that its owner cannot have got: a failover has lost what its owner did before, and the
-- push got a number that the owner knows.  It waits again as it was.  Returns false if the
-- owner has a message of that number in flight, which may be this one.
local function disown()
    local all = claimed_until and redis.call('ZRANGE', prepare, claimed_until,
        before_score(claimed_until + 1), 'BYSCORE', 'WITHSCORES') or {}
    for i = 1, #all, 2 do
        local before, letter, claim, member = decode(all[i])
        if letter == 'c' and tonumber(claim) == claims then
            if claims >= oldest then
                return false
            end
            local _, attempts = split(all[i + 1])
            try_moves()
            count('lease_lost')
            give_back(member, before, attempts)
            redis.call('ZREM', prepare, all[i])
        end
    end
    return true
end
