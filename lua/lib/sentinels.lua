-- GIVES make_sentinels
-- TAKES store, prepare, dead, why, slot, body, done, kind

-- The members and fields that keep every key of a slot alive: while a hash slot moves to another
-- node, scripts fail as soon as one of their keys is missing.
local function make_sentinels()
    redis.call('ZADD', store, (kind == 'p' or kind == 'b') and '-inf' or '+inf', '')
    redis.call('ZADD', prepare, '+inf', '')
    redis.call('ZADD', dead, '+inf', '')
    redis.call('HSET', why, '', '')
    redis.call('HSET', slot, '', '')
    if body then
        redis.call('HSET', body, '', '')
        redis.call('ZADD', done, '+inf', '')
    end
end
