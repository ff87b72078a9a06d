-- GIVES claim_rested
-- TAKES call, state
-- USES join, header_of, claimed, take

-- Kind f that skips failed messages: claims those that have rested where they are.

-- Returns up to which place those that wait may be claimed, too; nil: none may.
local function claim_rested(mark)
    local rests = state.rests
    for _, it in ipairs(rests.ended()) do
        if claimed.count < call.n and not rests.is_held(it) then
            local header = header_of(it.member)
            local score = join(call.lease_end, it.attempts)
            if take(mark, it.member, it.before, score, it.attempts, header) then
                claimed.rested[#claimed.rested + 1] = it.entry
            end
        end
    end
    return not state.has_suspect and 'inf' or nil
end
