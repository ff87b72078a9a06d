-- GIVES forget_producers
-- TAKES slot
-- USES now

-- Forgets producers that have sent nothing to this slot for an hour.  Each new producer looks at a
-- few records, from where the one before it has ended, so at most a tenth of them are older.
-- libsrc/produce/send.h says for how long a send may be repeated: for less than that.
local FORGET_MS, LOOK_AT = 3600000, 10

local function forget_producers()
    local found = redis.call('HSCAN', slot, redis.call('HGET', slot, 'swept') or '0', 'MATCH', 'P*',
        'COUNT', LOOK_AT)
    local gone = {}
    for i = 1, #found[2], 2 do
        local at = string.match(found[2][i + 1], '^%d+,%d+,(%d+),')
        if at and now - at > FORGET_MS then
            gone[#gone + 1] = found[2][i]
        end
    end
    if #gone > 0 then
        redis.call('HDEL', slot, unpack(gone))
    end
    return found[1]
end
