-- USES prepare, slot, base, former, formers, kept, keys, decode, before_score, open

-- After a strict takeover: `formers` gets the keys of which the former owner has claimed messages,
-- as long as the leases of these claims last.  Nothing may be pushed until then.

local FORMER_MOST = 5000 -- this many claims keep the slot

local all = redis.call('ZRANGE', prepare, 0, before_score(former + 1), 'BYSCORE', 'LIMIT', 0,
    FORMER_MOST)
for _, entry in ipairs(all) do
    local _, letter, claim, member = decode(entry)
    if letter == 'c' and tonumber(claim) <= base then
        formers[keys.of(member)] = true
    end
end
if next(formers) or #all == FORMER_MOST then
    kept, open = #all == FORMER_MOST, false
else
    redis.call('HDEL', slot, 'former')
end
