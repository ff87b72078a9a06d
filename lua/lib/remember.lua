-- GIVES remember
-- TAKES done, dedup_ms
-- USES now, is_whole, whole_member

-- Remembers ids whose messages are done, for the window, if there is one.  A call also removes
-- those that have left the window: more than it adds, so that they become fewer, but not many
-- more, so that no call is long.
local FORGET_MORE = 10

local function remember(ids)
    local placed = {}
    if dedup_ms == 0 then
        return
    end
    for i, id in ipairs(ids) do
        placed[2 * i - 1], placed[2 * i] = now, is_whole(id) and whole_member(id) or id
    end
    redis.call('ZADD', done, unpack(placed))
    local over = redis.call('ZCOUNT', done, '-inf', now - dedup_ms)
    if over > 0 then
        redis.call('ZREMRANGEBYRANK', done, 0, math.min(over, 2 * #ids + FORGET_MORE) - 1)
    end
end
