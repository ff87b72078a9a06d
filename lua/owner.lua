#!lua flags=no-writes
-- KEYS prepare, slot
-- ARGV (none)
-- RETURN OK, token (empty: none), owner,
--        leased_ms (until the last lease of a claim ends; 0: none),
--        bound_at (the generation of the binding that the slot has stored; 0: none)
--
-- If the clock was set back, the lease ends earlier by as much: see lib/step_back.lua.
--
-- It does not need a definition, so it also works on a slot that lost it.

-- @include clock
-- @include score
-- @include entry

local last = redis.call('ZRANGE', prepare, before_score(REST), '-inf', 'BYSCORE', 'REV',
    'LIMIT', 0, 1, 'WITHSCORES')
local ends = last[1] and split(last[2]) or 0
local token, owner, bound, leased =
    unpack(redis.call('HMGET', slot, 'token', 'owner', 'bound', 'leased'))
local since = tonumber(string.match(bound or '', '^%d+') or 0)
local left = math.max(ends - math.max(now, tonumber(leased or 0)), 0)
return { 'OK', token or '', owner or '', left, since }
