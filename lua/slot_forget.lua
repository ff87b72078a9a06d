#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body], [done]
-- ARGV deletion (its number; empty: any, but a slot that was not sealed is left), tombstone (a key;
--      empty: none), keep_ms, schedule (a key; empty: none)
-- RETURN OK: the keys of the slot are gone | IN_USE: it is open, or holds messages, or was not
--        sealed by that deletion
--
-- The last step of a deletion, after slot_clear.  Calls that come late are refused because the slot
-- has no def; all but slot_open, which would make it again.  So the tombstone keeps, for keep_ms,
-- the numbers with which slot_open compares: sealed, and the generation.
--
-- The tombstone is written first: an error after it leaves keys for the next call.

local def, sealed, generation = unpack(redis.call('HMGET', slot, 'def', 'sealed', 'generation'))
-- @include held
-- @include tombstone
if def or messages_held() > 0 or deletion == '' and not sealed
    or deletion ~= '' and sealed and sealed ~= deletion then
    return { 'IN_USE' }
end
if sealed then
    tombstone_write(tombstone, tonumber(sealed), tonumber(generation or 0), keep_ms)
end
-- @include unschedule
schedules_drop(schedule)
redis.call('UNLINK', store, prepare, dead, why, slot)
if body then
    redis.call('UNLINK', body, done)
end
return { 'OK' }
