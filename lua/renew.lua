#!lua flags=allow-oom
-- KEYS prepare, slot
-- ARGV def, token, lease_ms, entry...
-- RETURN OK, now, results: 1 renewed or 0 gone, a character an entry
--        | FENCED, token | NO_TOPIC | STALE

local prepare, slot = KEYS[1], KEYS[2]

local def, token = unpack(redis.call('HMGET', slot, 'def', 'token'))
-- @include def
local refused = def_refused(def, ARGV[1])
if refused then
    return refused
end
-- @include token
-- fence: begin
if token ~= ARGV[2] or token == NOBODY then
    return { 'FENCED', token }
end
-- fence: end
def_keep(def, ARGV[1])

-- @include clock
-- @include entry

local lease_end, results = now + tonumber(ARGV[3]), {}
for i = 4, #ARGV do
    local _, letter = decode(ARGV[i])
    local score = letter == 'c' and redis.call('ZSCORE', prepare, ARGV[i])
    if score then
        local _, attempts = split(score)
        redis.call('ZADD', prepare, 'XX', join(lease_end, attempts), ARGV[i])
    end
    results[#results + 1] = score and 1 or 0
end
return { 'OK', now, table.concat(results) }
