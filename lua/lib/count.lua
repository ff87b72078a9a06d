-- GIVES counted, count, count_save
-- TAKES slot

-- Counters of the slot, written together at the end.
local counted = {}

local function count(name, by)
    counted[name] = (counted[name] or 0) + (by or 1)
end

local function count_save()
    for name, by in pairs(counted) do
        redis.call('HINCRBY', slot, name, by)
    end
end
