-- USES why

-- Why a message failed last, in the hash why: R and the member -> the reason of its last answer
-- retry.  It is stored while an entry of the member in store or prepare has retries used, and
-- removed with the first of them that ends.  For a suspect nothing is stored: its claim was lost.

local LOST, TIMED_OUT = 'its process died or hung', 'its handler took too long'

-- Cuts a reason to 200 bytes, without a part of a UTF-8 character.
local function reason_cut(reason)
    local len = 200
    for back = 0, #reason > len and 3 or -1 do
        local byte = string.byte(reason, len + 1 - back)
        if byte < 128 or byte >= 192 then -- a character begins behind the cut
            return string.sub(reason, 1, len - back)
        end
    end
    return string.sub(reason, 1, len)
end

local function reason_keep(member, reason)
    if reason == '' then
        redis.call('HDEL', why, 'R' .. member)
    else
        redis.call('HSET', why, 'R' .. member, reason_cut(reason))
    end
end

-- An entry with this many attempts has ended.
local function reason_drop(member, attempts)
    if attempts >= 2 then
        redis.call('HDEL', why, 'R' .. member)
    end
end
