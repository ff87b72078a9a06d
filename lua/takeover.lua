#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body], [done]
-- ARGV def, token, kind, mode (fast or strict), max_retries, limit, owner, coord
-- RETURN OK, base, given_back, more: 1 repeat the call before the first claim
--        | FENCED, token (stored: larger, of another owner, or the word of a shared topic)
--        | NO_TOPIC | STALE
--
-- Stores a token that is larger than the stored one, and the binding of the topic, from which a
-- lost topic{T} is restored; the claims made so far are then the former owner's.  Fast: requeues
-- those, a limited number per call.  Strict: leaves them until their leases end, and notes when the
-- last one does (`former`), for consume.  The same token again, from the same owner, only continues
-- with that, and changes nothing once the owner has claimed; of another owner it is refused, unless
-- that one has vacated the slot.  Each call writes the sentinels, so a WAIT after it also waits for
-- earlier writes.
--
-- Order of writes: `parked`, the token, the sentinels, `former`; then each message is in its new
-- place before it leaves the old one, which is tried before (lib/try.lua).  After an error the same
-- call continues.

max_retries, limit = tonumber(max_retries), tonumber(limit)

local stored, current, base, claims, held_by, bound, parked, leased =
    unpack(redis.call('HMGET', slot, 'def', 'token', 'base', 'claims', 'owner', 'bound', 'parked',
        'leased'))
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end

-- @include token
current = current or NOBODY
if current == 'shared' or newer(current, token) or token == NOBODY then
    return { 'FENCED', current }
elseif current == token and held_by and held_by ~= '' and held_by ~= owner then
    return { 'FENCED', current }
end

if stored ~= def then -- newer than what the slot has: it keeps it
    redis.call('HSET', slot, 'def', def)
end

-- @include clock
-- @include score
-- @include entry
-- @include first
-- @include count
-- @include whole
-- @include body
-- @include try
-- @include look_again
-- @include give_back
-- @include reason
-- @include bury
-- @include lose
-- @include sentinels
-- @include bound

if newer(token, current) then
    base = claims
    -- Sends claimed for the former owner, or had leave to: this owner looks before it sleeps.
    if parked and string.find(parked, '[-/]') then
        redis.call('HDEL', slot, 'parked')
    end
    redis.call('HSET', slot, 'token', token, 'owner', owner, 'base', base)
    bound_keep(bound, tonumber(string.sub(token, 1, 8), 16), coord)
end
make_sentinels()
if tonumber(claims) > tonumber(base) then
    return { 'OK', tonumber(base), 0, 0 }
elseif mode ~= 'fast' then
    leased = tonumber(leased)
    if leased and leased > now then
-- @include step_back
        step_back(leased)
    end
    local last = redis.call('ZRANGE', prepare, before_score(REST), 0, 'BYSCORE', 'REV',
        'LIMIT', 0, 1, 'WITHSCORES')
    if last[1] then
        redis.call('HSET', slot, 'former', string.format('%.0f', split(last[2])))
    end
    return { 'OK', tonumber(base), 0, 0 }
end

try_moves()
local found = first(prepare, 0, before_score(REST), limit, 1048576)
for i = 1, #found, 2 do
    local before, _, member = decode(found[i])
    local _, attempts = split(found[i + 1])
    lose(member, before, attempts, 'crashed')
    redis.call('ZREM', prepare, found[i])
end
count_save()
local left = redis.call('ZCOUNT', prepare, 0, before_score(REST))
return { 'OK', tonumber(base), #found / 2, left > 0 and 1 or 0 }
