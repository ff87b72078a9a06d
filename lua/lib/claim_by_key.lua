-- GIVES claim_by_key
-- TAKES call, state
-- USES join, header_of, claimed, take

-- Kind f by key: claims what no message of its own key holds.  Returns what stopped it.
local function claim_by_key(mark)
    return state.holds.walk(function(member, before, attempts, entry)
        local had = claimed.count
        if had == call.n or #claimed.dying + #claimed.dropped >= claimed.most then
            return 'full'
        end
        local header = header_of(member)
        local score = join(call.lease_end, attempts)
        if not take(mark, member, before, score, attempts, header) then
            return 'full'
        end
        local list = entry and claimed.rested or claimed.gone
        list[#list + 1] = entry or member
        return nil, claimed.count > had
    end)
end
