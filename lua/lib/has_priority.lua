-- GIVES has_priority
-- USES PLACES

-- Kind p: does a message of this score have that priority?
local function has_priority(score, when)
    return math.floor(tonumber(score) / PLACES) == tonumber(when)
end
