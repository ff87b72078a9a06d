-- Why a message failed last, in the hash why: R and the member -> the reason of its last answer
-- retry.  It stands there as long as an entry of the member in store or prepare has retries used:
-- the first of them that ends takes it along.  Of a suspect nothing is stored: its claim was lost.

local LOST = 'its process died or hung'

local function reason_keep(member, reason)
    if reason == '' then
        redis.call('HDEL', why, 'R' .. member)
    else
        redis.call('HSET', why, 'R' .. member, string.sub(reason, 1, 200))
    end
end

-- An entry with so many attempts has ended.
local function reason_drop(member, attempts)
    if attempts >= 2 then
        redis.call('HDEL', why, 'R' .. member)
    end
end
