-- GIVES NOBODY, newer

-- Tokens are 24 hex digits.  Strings compare by locale, and a number holds 53 bits only: so three
-- numbers of 32 bits.

local NOBODY = '000000000000000000000000' -- accepted by no script

local function newer(a, b)
    for i = 1, 17, 8 do
        local x, y = tonumber(string.sub(a, i, i + 7), 16), tonumber(string.sub(b, i, i + 7), 16)
        if x ~= y then
            return x > y
        end
    end
    return false
end
