-- GIVES when_read

-- The parts of a `when` that is more than a number: the number, a time for which the message is to
-- be scheduled (nil: none), and of one that is restored its attempts, first and expiry (nil: it is
-- not).  Nothing: it is malformed.
local function when_read(text)
    local place, time, kept = string.match(text, '^([+-]?%d+)(@?%+?%d*)(.*)$')
    local tries, first, expiry = string.match(kept or '', '^/(%d+)/(%d*)/(%d*)$')
    if not place or kept ~= '' and not tries
        or time ~= '' and not string.find(time, '^@%+?%d+$') then
        return nil
    end
    local restored = tries and {
        attempts = tonumber(tries), first = tonumber(first), expiry = tonumber(expiry)
    }
    return place, time ~= '' and time or nil, restored
end
