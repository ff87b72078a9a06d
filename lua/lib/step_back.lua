-- GIVES step_back
-- TAKES prepare, slot
-- USES now, before_score, join, split, REST

-- Leases end at times of the node's clock.  The field `leased` has what that clock showed when one
-- was given, or later.  If it shows less now, it was set back, or this is another node, whose clock
-- is behind.  Then all leases end earlier by as much, so that none lasts longer than it was to.
-- All claims are read, however many there are: this happens once.
--
-- Order of writes: the times that the slot knows, the leases, which are tried before.
local function step_back(leased)
    local by, moved = leased - now, {}
    local all = redis.call('ZRANGE', prepare, 0, before_score(REST), 'BYSCORE', 'WITHSCORES')
    local changed, fields = { 'leased', string.format('%.0f', now) }, { 'claimed_until', 'former' }
    for i, ends in ipairs(redis.call('HMGET', slot, unpack(fields))) do
        if ends then
            changed[#changed + 1], changed[#changed + 2] = fields[i], ends - by
        end
    end
    redis.call('ZADD', prepare, 'XX', 0, '-')
    redis.call('HSET', slot, unpack(changed))
    for i = 1, #all, 2 do
        local ends, attempts = split(all[i + 1])
        local at = #moved
        moved[at + 1], moved[at + 2] = join(math.max(ends - by, 0), attempts), all[i]
        if at == 998 or i + 1 == #all then
            redis.call('ZADD', prepare, 'XX', unpack(moved))
            moved = {}
        end
    end
end
