-- GIVES ended_lately
-- TAKES done, dedup_ms
-- USES now

-- Of messages with these ids, which were done within the window?  By their indexes.
local function ended_lately(ids)
    local found = {}
    for i, at in ipairs(redis.call('ZMSCORE', done, unpack(ids))) do
        found[i] = at and tonumber(at) > now - dedup_ms
    end
    return found
end
