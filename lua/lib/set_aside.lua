-- GIVES end_set_aside
-- TAKES why, store, prepare, moves
-- USES body_drop, count

-- Ends the messages that a claim has set aside: they are dropped, or become dead letters.  The
-- claim removes them from where they wait or rest, so what comes until then is tried first.

local function end_dropped(dropped)
    local members, reasons = {}, {}
    for i, it in ipairs(dropped) do
        members[i] = it.member
        if it.attempts >= 2 then
            reasons[#reasons + 1] = 'R' .. it.member
        end
    end
    if #reasons > 0 then
        redis.call('HDEL', why, unpack(reasons))
    end
    body_drop(members)
end

local function end_set_aside(dying, dropped)
    moves.try()
    redis.call('ZREMRANGEBYRANK', store, 1, 0)
    redis.call('ZADD', prepare, 'XX', 0, '-')
    local expired = #dropped
    for _, it in ipairs(dying) do
        expired = expired + (it.cause == 'expired' and 1 or 0)
    end
    if expired > 0 then
        count('expired', expired)
    end
    if #dying > 0 then
        moves.bury_all(dying)
    end
    end_dropped(dropped)
end
