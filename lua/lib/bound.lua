-- GIVES bound_keep
-- TAKES slot

-- Stores the binding of the topic and its generation.  A late call has a smaller generation than
-- the stored one and changes nothing: returns false.
local function bound_keep(bound, its_generation, coord)
    if its_generation < tonumber(string.match(bound or '', '^%d+') or 0) then
        return false
    end
    redis.call('HSET', slot, 'bound', string.format('%.0f ', its_generation) .. coord)
    return true
end
