-- GIVES tombstone_read, tombstone_write

-- What a deletion leaves for a while: two numbers, under a key of its own.
--
-- The key is no declared one: most of the time it does not exist, and while a hash slot moves,
-- scripts with a declared key that is missing fail.  It has the hash slot of the others.  What
-- cannot be read, as while it moves, counts as nothing; what cannot be written is left out.
local function tombstone_read(key)
    local text = (key or '') ~= '' and redis.pcall('GET', key)
    local first, second = string.match(text and not text.err and text or '', '^(%d+) (%d+)$')
    return tonumber(first or 0), tonumber(second or 0)
end

local function tombstone_write(key, first, second, keep_ms)
    if (key or '') ~= '' then
        redis.pcall('SET', key, string.format('%d %d', first, second), 'PX', keep_ms)
    end
end
