-- GIVES PLACES, place

-- Kind p: how many places there are.  The scores of a priority begin at its multiple of this.
local PLACES = 4294967296

-- The integer part of a score at a new place, and seq after it.  Kinds p and f count their places:
-- seq is the last one.  Kind p: the priority, then 32 bits of order: the earlier is larger.

-- exact: a time that has passed stays as it is.
local function place(kind, seq, now, when, exact)
    if kind == 'f' then
        return seq + 1, seq + 1
    elseif kind == 'p' then
        return tonumber(when) * PLACES + PLACES - seq - 1, seq + 1
    elseif kind == 'b' then
        return tonumber(when), seq
    elseif string.byte(when) == 43 then -- +
        return now + tonumber(when), seq
    end
    local at = tonumber(when)
    return exact and at > 0 and at or math.max(now, at), seq
end
