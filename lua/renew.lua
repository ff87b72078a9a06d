#!lua flags=allow-oom
-- KEYS prepare, slot
-- ARGV def, token, lease_ms, entries...
-- RETURN OK, now, results (one character per entry: 1 renewed, 0 gone)
--        | FENCED, token | NO_TOPIC | STALE
--
-- Order of writes: none is needed, as each lease is one write, and what `leased` says is right
-- without any.

local stored, current, leased = unpack(redis.call('HMGET', slot, 'def', 'token', 'leased'))
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end
-- @include token
-- fence: begin
if current ~= token or current == NOBODY then
    return { 'FENCED', current }
end
-- fence: end
-- @include def_keep

-- @include clock
-- @include score
-- @include entry
-- @include step_back

leased = tonumber(leased)
if leased and leased > now then
    step_back(leased)
elseif leased then
    redis.call('HSET', slot, 'leased', string.format('%.0f', now))
end

local lease_end, results = now + tonumber(lease_ms), {}
for i = ENTRIES, #ARGV do
    local _, letter = decode(ARGV[i])
    local score = letter == 'c' and redis.call('ZSCORE', prepare, ARGV[i])
    if score then
        local _, attempts = split(score)
        redis.call('ZADD', prepare, 'XX', join(lease_end, attempts), ARGV[i])
    end
    results[#results + 1] = score and 1 or 0
end
return { 'OK', now, table.concat(results) }
