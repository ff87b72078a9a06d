#!lua flags=no-writes
-- KEYS store, prepare, dead, why, slot, [body], [done]
-- ARGV tombstone (a key; empty: none), sent_ms (empty: senders are not counted)
-- RETURN OK, def, definition, version (of that text), generation, token, pauses, paused 0/1,
--        sealed, messages, complete (1: every key is there), bound ("GENERATION COORD"), senders
--        (of versions before 0.3.0, that have sent within sent_ms)
--        (empty or 0: nothing is stored)
--        | FOREIGN, key: it holds something else
--
-- What the slot knows of its topic.  Producers of such versions have names that begin with a hex
-- digit.

-- @include ours
-- @include held
-- @include tombstone

local function old_senders()
-- @include clock
    local cursor, count = '0', 0
    repeat
        local found = redis.call('HSCAN', slot, cursor, 'MATCH', 'P[0-9a-f]*', 'COUNT', 1000)
        for i = 2, #found[2], 2 do
            local at = string.match(found[2][i], '^%d+,%d+,(%d+),')
            count = count + (at and now - at <= tonumber(sent_ms) and 1 or 0)
        end
        cursor = found[1]
    until cursor == '0'
    return count
end

local foreign = foreign_key()
if foreign then
    return { 'FOREIGN', foreign }
end
local known = redis.call('HMGET', slot, 'def', 'definition', 'version', 'generation', 'token',
    'pauses', 'paused', 'sealed', 'bound')
local complete = redis.call('EXISTS', store, prepare, dead, why, slot) == 5
    and (not body or redis.call('EXISTS', body, done) == 2)
local gone, made_at = tombstone_read(not known[1] and tombstone)
local sealed = math.max(tonumber(known[8] or 0), gone)
local generation = math.max(tonumber(known[4] or 0), made_at)
return {
    'OK', known[1] or '', known[2] or '', tonumber(known[3] or 0), generation,
    known[5] or '', tonumber(known[6] or 0), known[7] and 1 or 0, sealed,
    messages_held(), complete and 1 or 0, known[9] or '', sent_ms ~= '' and old_senders() or 0
}
