#!lua flags=no-writes
-- KEYS store, prepare, dead, why, slot, [body], [done]
-- ARGV channel
-- RETURN OK, missing: the commands that the user may not run with these keys, separated by commas
--
-- May the user do with a slot all that its owner does?

local missing = {}
local function need(command, keys, ...)
    for _, key in ipairs(keys) do
        if not redis.acl_check_cmd(command, key, ...) then
            missing[#missing + 1] = command
            return
        end
    end
end

local zsets, hashes = { store, prepare, dead, done }, { why, slot, body }
need('ZADD', zsets, '0', 'm')
need('ZCARD', zsets)
need('ZCOUNT', zsets, '0', '0')
need('ZMSCORE', zsets, 'm')
need('ZRANGE', zsets, '0', '0')
need('ZRANK', zsets, 'm')
need('ZREM', zsets, 'm')
need('ZREMRANGEBYRANK', zsets, '0', '0')
need('ZSCORE', zsets, 'm')
need('HDEL', hashes, 'f')
need('HGET', hashes, 'f')
need('HINCRBY', hashes, 'f', '1')
need('HMGET', hashes, 'f')
need('HSET', hashes, 'f', 'v')
need('HSTRLEN', hashes, 'f')
need('SSUBSCRIBE', { channel })
if not redis.acl_check_cmd('TIME') then
    missing[#missing + 1] = 'TIME'
end
return { 'OK', table.concat(missing, ',') }
