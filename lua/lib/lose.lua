-- What becomes of a claim whose process died, or whose handler took too long: the first loss in a
-- row makes it a suspect and uses no retry, each further one uses one, and without any left it is
-- dead, for that reason.
local function lose(member, before, attempts, reason)
    count('lease_lost')
    if attempts % 2 == 0 then
        give_back(member, before, attempts + 1)
    elseif attempts < 2 * limit_of(member) then
        give_back(member, before, attempts + 2)
    else
        bury(member, before, attempts, reason)
    end
end
