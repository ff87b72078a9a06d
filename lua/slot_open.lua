#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body], [done]
-- ARGV def, kind, channel, shared (0 or 1), definition, generation, pauses, paused (0 or 1),
--      deletes, tombstone (a key; empty: none)
-- RETURN OK, made (1: the slot had no keys), [failed] | FOREIGN, key: it holds something else
--        | TAKEN: by another creation of the topic, which was not deleted | STALE: it is newer
--        | GONE: the slot has a later generation, or was sealed by a deletion after those
--
-- Token, claims, generation and sealed of an earlier topic stay in the slot; its binding does not.
-- A slot of an earlier generation without messages was left by a late call: it is used for this
-- topic.
--
-- Callers may sleep since before the slot lost its keys, and no send would wake them.  This does.
--
-- Order of writes: the keys, what must not decrease, the definition, whether it is paused.  Without
-- a definition no other script uses the slot, and the same call does all of it again.

generation, pauses = tonumber(generation), tonumber(pauses)

-- @include ours
-- @include held
-- @include def
-- @include token
-- @include sentinels
-- @include tombstone

local foreign = foreign_key()
if foreign then
    return { 'FOREIGN', foreign }
end
local stored, token, last, paused_at, sealed =
    unpack(redis.call('HMGET', slot, 'def', 'token', 'generation', 'pauses', 'sealed'))
local nonce, version = def_split(def)
last, sealed = tonumber(last or 0), tonumber(sealed or 0)
if not stored then
    local gone, made_at = tombstone_read(tombstone)
    sealed, last = math.max(sealed, gone), math.max(last, made_at)
end
if sealed > tonumber(deletes) then
    return { 'GONE' }
elseif stored and def_split(stored) ~= nonce then
    if last >= generation or messages_held() > 0 then
        return { 'TAKEN' }
    end
elseif last > generation then
    return { 'GONE' }
elseif stored then
    local refused = def_refused(stored, def)
    if refused then
        return refused
    end
end

if not stored or def_split(stored) ~= nonce then
    redis.call('HDEL', slot, 'bound')
end
local made = redis.call('EXISTS', store, prepare, dead, why, slot) == 0
make_sentinels()
if shared == '1' then
    token = 'shared'
elseif not token or token == 'shared' then
    token = NOBODY
end
redis.call('HSETNX', slot, 'base', 0)
redis.call('HSETNX', slot, 'claims', 0)
redis.call('HSETNX', slot, 'owner', '')
redis.call('HSET', slot, 'token', token, 'def', def, 'definition', definition, 'version', version,
    'generation', generation)
if sealed > 0 then
    redis.call('HSET', slot, 'sealed', sealed)
end
if pauses >= tonumber(paused_at or 0) then
    redis.call('HSET', slot, 'pauses', pauses)
    if paused == '1' then
        redis.call('HSET', slot, 'paused', 1)
    else
        redis.call('HDEL', slot, 'paused')
    end
end
local reply = { 'OK', made and 1 or 0 }
if not stored then
-- @include call_all
    local _
    _, reply[3] = call_all()
end
return reply
