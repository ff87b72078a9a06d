-- USES kind, seq, now, PLACES

-- The integer part of a score at a new place.  Kinds p and f count their places: seq is the last
-- one.  Kind p: the priority, then 32 bits of order: the earlier is larger.

-- exact: a time that has passed stays as it is.
local function place(when, exact)
    if kind == 'p' or kind == 'f' then
        seq = seq + 1
        return kind == 'f' and seq or tonumber(when) * PLACES + PLACES - seq
    elseif kind == 'b' then
        return tonumber(when)
    elseif string.sub(when, 1, 1) == '+' then
        return now + tonumber(when)
    end
    local at = tonumber(when)
    return exact and at > 0 and at or math.max(now, at)
end

-- Kind p: does a message of this score have that priority?
local function has_priority(score, when)
    return math.floor(tonumber(score) / PLACES) == tonumber(when)
end
