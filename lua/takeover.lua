#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV def, token, kind, mode (fast or strict), max_retries, limit, owner, coord
-- RETURN OK, base, given_back, more: 1 repeat the call before the first claim
--        | FENCED, token (stored: larger, of another owner, or the word of a shared topic)
--        | NO_TOPIC | STALE
--
-- Stores a token that is larger than the stored one, and what the topic is bound to, with which a
-- lost topic{T} is put back; the claims made so far are then the former owner's.  Fast: gives
-- those back, a limited number a call.  Strict: leaves them until their leases end.  The same token
-- again, from the same owner, only continues with that, and changes nothing once the owner has
-- claimed.

local store, prepare, dead, why, slot, body = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local kind, max_retries, limit = ARGV[3], tonumber(ARGV[5]), tonumber(ARGV[6])

local def, token, base, claims, owner, bound =
    unpack(redis.call('HMGET', slot, 'def', 'token', 'base', 'claims', 'owner', 'bound'))
-- @include def
local refused = def_refused(def, ARGV[1])
if refused then
    return refused
end

-- @include token
token = token or NOBODY
if token == 'shared' or newer(token, ARGV[2]) or ARGV[2] == NOBODY then
    return { 'FENCED', token }
elseif token == ARGV[2] and owner and owner ~= '' and owner ~= ARGV[7] then
    return { 'FENCED', token }
end

def_keep(def, ARGV[1])

-- @include clock
-- @include entry
-- @include first
-- @include count
-- @include body
-- @include give_back
-- @include reason
-- @include bury
-- @include lose
-- @include sentinels
-- @include bound

if newer(ARGV[2], token) then
    base = claims
    redis.call('HSET', slot, 'token', ARGV[2], 'owner', ARGV[7], 'base', base)
    bound_keep(bound, tonumber(string.sub(ARGV[2], 1, 8), 16), ARGV[8])
end
make_sentinels()
if ARGV[4] ~= 'fast' or tonumber(claims) > tonumber(base) then
    return { 'OK', tonumber(base), 0, 0 }
end

local found = first(prepare, 0, before_score(REST), limit, 1048576)
for i = 1, #found, 2 do
    local before, _, _, member = decode(found[i])
    local _, attempts = split(found[i + 1])
    lose(member, before, attempts, LOST)
    redis.call('ZREM', prepare, found[i])
end
count_save()
local left = redis.call('ZCOUNT', prepare, 0, before_score(REST))
return { 'OK', tonumber(base), #found / 2, left > 0 and 1 or 0 }
