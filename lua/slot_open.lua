#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV def, kind, shared (0 or 1)
-- RETURN OK | FOREIGN, key: it holds something else, or belongs to a topic that was not deleted
--
-- What outlives a topic in its slot stays: token and claims.

local store, prepare, dead, why, slot, body = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local kind = ARGV[2]

local expected = {
    { store, 'zset' }, { prepare, 'zset' }, { dead, 'zset' }, { why, 'hash' }, { slot, 'hash' },
    body and { body, 'hash' }
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
        return { 'FOREIGN', key }
    end
end
local def, token = unpack(redis.call('HMGET', slot, 'def', 'token'))
if def and def ~= ARGV[1] then
    return { 'FOREIGN', slot }
end

-- @include token
-- @include sentinels

make_sentinels()
if ARGV[3] == '1' then
    token = 'shared'
elseif not token or token == 'shared' then
    token = NOBODY
end
redis.call('HSETNX', slot, 'base', 0)
redis.call('HSETNX', slot, 'claims', 0)
redis.call('HSETNX', slot, 'owner', '')
redis.call('HSET', slot, 'token', token, 'def', ARGV[1])
return { 'OK' }
