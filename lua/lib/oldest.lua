-- GIVES oldest_claim
-- TAKES prepare

-- What owners note of the claim that has been in work for longest: "SINCE OWNER ENTRY".  A note
-- counts as long as its claim exists, so nobody has to remove it.
--
-- SINCE, and the score of the claim; nothing: the claim has ended, or nothing was noted.
local function oldest_claim(note)
    local since, entry = string.match(note or '', '^(%d+) [^ ]+ ()')
    local score = since and redis.call('ZSCORE', prepare, string.sub(note, entry))
    if score then
        return tonumber(since), score
    end
end
