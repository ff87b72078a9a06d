#!lua flags=allow-oom
-- KEYS prepare, slot
-- ARGV def, token, lease_ms, owner, age_ms, oldest (the oldest claim that its caller has not
--      answered, which it has had for age_ms; empty: none), entries...
-- RETURN OK, now, results (one character per entry: 1 renewed, 0 gone)
--        | FENCED, token | NO_TOPIC | STALE
--
-- It notes which claim of the slot has been in work for longest, for those who look on: of several
-- owners, as in a shared topic, the note of the oldest claim stays until that has ended.
--
-- Order of writes: none is needed, as each lease is one write, and what `leased` says is right
-- without any.  The note comes last, as no lease depends on it.

local stored, current, leased, note =
    unpack(redis.call('HMGET', slot, 'def', 'token', 'leased', 'oldest'))
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
if stored ~= def then -- newer than what the slot has: it keeps it
    redis.call('HSET', slot, 'def', def)
end

-- @include clock
-- @include score
-- @include entry
-- @include step_back
-- @include oldest

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

local since = math.max(now - tonumber(age_ms), 0)
if oldest ~= '' and (oldest_claim(note) or math.huge) > since then
    redis.call('HSET', slot, 'oldest', string.format('%.0f %s ', since, owner) .. oldest)
end
return { 'OK', now, table.concat(results) }
