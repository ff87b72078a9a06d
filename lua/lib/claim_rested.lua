-- USES body, join, lease_end, take, rested_entries, rests, taken, n, has_suspect

-- Kind f that skips failed messages: claims those that have rested where they are.

-- Returns up to which place those that wait may be claimed, too; nil: none may.
local function claim_rested(mark)
    for _, it in ipairs(rests.ended()) do
        if taken < n and not rests.is_held(it) then
            local header = redis.call('HGET', body, 'h' .. it.member)
            local score = join(lease_end, it.attempts)
            if take(mark, it.member, it.before, score, it.attempts, header) then
                rested_entries[#rested_entries + 1] = it.entry
            end
        end
    end
    return not has_suspect and 'inf' or nil
end
