-- GIVES foreign_key
-- TAKES store, prepare, dead, why, slot, body, done

-- The first key of the slot that holds something other than what these scripts store in it.
local function foreign_key()
    local expected = {
        { store, 'zset' }, { prepare, 'zset' }, { dead, 'zset' }, { why, 'hash' },
        { slot, 'hash' }, body and { body, 'hash' }, done and { done, 'zset' }
    }
    for _, pair in ipairs(expected) do
        local key = pair[1]
        local is, sentinel = redis.call('TYPE', key).ok, false
        if is == 'zset' and is == pair[2] then
            sentinel = redis.call('ZSCORE', key, '')
        elseif is == 'hash' and is == pair[2] then
            sentinel = redis.call('HGET', key, '')
        end
        if is ~= 'none' and not sentinel then
            return key
        end
    end
end
