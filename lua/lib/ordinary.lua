-- USES store, prepare, slot, n, priority, fifo, now, max_bytes, claims, settled, lease, lease_end
-- USES reply, done_now, head, count, moved, gone

-- The ordinary consume: an owner claims messages that were never tried, inline, while nothing is to
-- be brought back.  Most calls end here, before the functions that they do not need are made.  Sets
-- the reply (nil: this call is not an ordinary one), the score of the first message that waits then
-- (nil: none), how many were claimed, and what removing them from the store replied.
--
-- Order of writes: the number of the claim, with the counter `done`, then the claim, then what
-- waits.  If that cannot be removed the caller removes the claim (lib/unclaim.lua), and the next
-- call finds a number without a claim, as that of a claim that was answered.

-- The first that wait, up to n, into the reply: as { fresh, entry, fresh, entry, ... }, how many,
-- and the score of the next one (nil: none).  nil: one was tried before.  It reads a few, then
-- more, as many as fit by the sizes seen.  Scores are expensive to read: where some have the same
-- one, it counts them and reads the members alone.
local function meet(store, n, max_bytes, ready, priority, reply, fresh, mark)
    local count, bytes, upto, moved, width = 0, 0, math.min(n, 3), nil, 2
    local score, number, prefix, begun, last_alike, part
    while true do
        if width == 1 then
            part = priority and redis.call('ZRANGE', store, count, upto, 'REV')
                or redis.call('ZRANGE', store, count, upto)
        else
            part = priority and redis.call('ZRANGE', store, count, upto, 'REV', 'WITHSCORES')
                or redis.call('ZRANGE', store, count, upto, 'WITHSCORES')
        end
        moved = moved or part
        if #part == 0 then
            return moved, count, nil
        end
        for i = 1, #part, width do
            local member = part[i]
            if member == '' then
                return moved, count, nil
            elseif width == 2 and part[i + 1] ~= score then
                score, begun, last_alike = part[i + 1], count, nil
                number, prefix = tonumber(score), nil
            end
            bytes = bytes + #member
            if count == n or number >= ready or bytes > max_bytes and count > 0 then
                return moved, count, score
            elseif number % 1 ~= 0 then
                return nil
            end
            local at, entry = 2 * count, prefix and prefix .. member or score .. mark .. member
            moved[at + 1], moved[at + 2] = fresh, entry
            reply[at + 7], reply[at + 8] = entry, 0
            count = count + 1
        end
        local fit = math.floor(math.max(max_bytes - bytes, 0) * count / bytes)
        upto, width = math.min(n, count + fit, 5 * count), 2
        if not last_alike and count - begun > 2 then
            last_alike = begun + redis.call('ZCOUNT', store, score, score) - 1
        end
        if last_alike and last_alike >= count then
            upto, width, prefix = math.min(upto, last_alike), 1, score .. mark
        end
    end
end

reply = { 'OK', now, '', claims, settled, 0 }
local fresh = string.format('%d', lease_end)
moved, count, head = meet(store, n, max_bytes, (priority or fifo) and math.huge or now + 1,
    priority, reply, fresh, string.format('c%d:', claims + 1))
if not moved then
    reply = nil
elseif count > 0 then
    if done_now then
        redis.call('HSET', slot, 'claims', claims + 1, 'claimed_until', fresh, 'done', done_now)
        done_now = nil
    else
        redis.call('HSET', slot, 'claims', claims + 1, 'claimed_until', fresh)
    end
    redis.call('ZADD', prepare, unpack(moved, 1, 2 * count))
    gone = priority and redis.pcall('ZREMRANGEBYRANK', store, -count, '-1')
        or redis.pcall('ZREMRANGEBYRANK', store, '0', count - 1)
    reply[4] = claims + 1
    lease = math.min(lease or lease_end, lease_end)
end
