-- GIVES REST, SCHEDULE, NEVER, split

-- Scores.  libsrc/model/entry.c has the same encoding; both are tested on the vectors of
-- tests/vectors/.  "Attempts" here is one number: retries * 2 + suspect, 0 .. 127.

local REST = 17592186044416 -- 2^44, added to the end of a rest: claims sort before rests
local SCHEDULE = 26388279066624 -- 2^44 + 2^43, added to the time of a scheduled message
local NEVER = 9007199254740992 -- 2^53, a time after all others

-- The integer part and the attempts of a score as Redis writes it.
local function split(score)
    local number = tonumber(score)
    local integer = math.floor(number)
    return integer, (number - integer) * 128
end
