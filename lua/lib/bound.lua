-- USES slot

-- What the topic is bound to, as the slot was told last, behind the generation of that time.  What
-- comes late has a smaller generation, and changes nothing: answers false.
local function bound_keep(bound, its_generation, coord)
    if its_generation < tonumber(string.match(bound or '', '^%d+') or 0) then
        return false
    end
    redis.call('HSET', slot, 'bound', string.format('%.0f ', its_generation) .. coord)
    return true
end
