-- USES holds, body, taken, n, dying, dropped, MEET_MOST, take, join, lease_end, rested_entries
-- USES gone

-- Kind f by key: claims what no message of its own key holds.  Returns what stopped it.
local function claim_by_key(mark)
    return holds.walk(function(member, before, attempts, entry)
        local had = taken
        if taken == n or #dying + #dropped >= MEET_MOST then
            return 'full'
        end
        local header = body and redis.call('HGET', body, 'h' .. member)
        if not take(mark, member, before, join(lease_end, attempts), attempts, header) then
            return 'full'
        end
        local list = entry and rested_entries or gone
        list[#list + 1] = entry or member
        return nil, taken > had
    end)
end
