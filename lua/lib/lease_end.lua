-- GIVES lease_end
-- TAKES topic
-- USES now

-- When the lease of a topic ends that was given at a time `at`.  If the clock of the node shows
-- less now, it was set back, or this is another node, whose clock is behind.  Then the lease ends
-- earlier by as much, so that it does not last longer than it was to.  This is stored.
local function lease_end(ends, at)
    ends, at = tonumber(ends or 0), tonumber(at or 0)
    if at > now and ends > now then
        ends = ends - at + now
        redis.call('HSET', topic, 'lease_until', ends, 'lease_at', now)
    end
    return ends
end
