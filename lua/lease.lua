#!lua flags=allow-oom
-- KEYS topic
-- ARGV op (acquire, renew or release), nonce, owner, ttl_ms
-- RETURN OK, generation, epoch, remaining_ms | HELD, owner, remaining_ms
--        | OTHER_FLEET, coord: the topic is bound to another coordination now | NO_TOPIC
--
-- The lease of a whole topic, for processes without ZooKeeper.  Every acquire raises the epoch,
-- also one by the holder, because a process that acquires does not know what it held before a
-- restart.
--
-- Order of writes: none is needed, as there is one, and before it perhaps an earlier end.

local state, stored, generation, coord, holder, ends, at, epoch =
    unpack(redis.call('HMGET', topic, 'state', 'nonce', 'generation', 'coord', 'lease_owner',
        'lease_until', 'lease_at', 'lease_epoch'))
if state ~= 'ready' or stored ~= nonce then
    return { 'NO_TOPIC' }
elseif op == 'acquire' and coord and coord ~= 'standalone' then
    return { 'OTHER_FLEET', coord }
end

-- @include clock
-- @include lease_end

holder, ends, epoch = holder or '', lease_end(ends, at), tonumber(epoch or 0)
local mine = holder == owner
local free = holder == '' or ends <= now

if op == 'acquire' and (mine or free) then
    epoch = epoch + 1
elseif not mine then
    return { 'HELD', holder, math.max(ends - now, 0) }
end
ends = op == 'release' and 0 or now + tonumber(ttl_ms)
redis.call('HSET', topic, 'lease_owner', op == 'release' and '' or owner, 'lease_until', ends,
    'lease_at', now, 'lease_epoch', epoch)
return { 'OK', tonumber(generation), epoch, math.max(ends - now, 0) }
