#!lua flags=no-writes
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV def, kind, member, where (w, then v: whole messages that wait; p: claimed and resting; d:
--      dead), from_score, from_name, limit
-- RETURN OK, now, token, owner, base (the owner's claims have larger numbers), oldest (SINCE OWNER
--        ENTRY; empty: this entry is not the one below), state (w waiting, s scheduled, c claimed,
--        r resting, d dead), name, score, reason [, header, body] (keyed)
--        | OK, now, token, owner, base, oldest, - (not stored)
--        | OK, now, token, owner, base, oldest, +, where, score, name (continue after these)
--        | NO_TOPIC | STALE
--
-- It searches after from_score and from_name; from_name empty: from the first on.
--
-- If a message is stored several times the waiting copy is found, else the scheduled, the claimed,
-- the resting, the dead one.  Every call searches the waiting and the scheduled messages, and then
-- up to limit of the others.
--
-- One that is whole (lib/whole.lua) has another member in the slot.  It waits near the time in its
-- id, so `w` searches from a second before that time on, and `v` what comes before.

limit = math.min(tonumber(limit), 1000)

local stored, token, owner, base, oldest =
    unpack(redis.call('HMGET', slot, 'def', 'token', 'owner', 'base', 'oldest'))
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end

-- @include clock
-- @include score
-- @include entry
-- @include whole
-- @include body
-- @include bytes
-- @include walk
-- @include reason
-- @include stored

local reply = { 'OK', now, token, owner or '', base or 0, '', '-' }

local function found(state, name, its_member, score)
    reply[7] = state
    add_stored(reply, name, score, stored_reason(state, name, its_member, score),
        stored_header(state, name, its_member, score), stored_body(state, name, its_member))
end

local looked, tail = 0, string.sub(member, -32)

local function look(name, score)
    looked = looked + 1
    if not string.find(name, tail, 1, true) then
        return 0
    end
    local letter, its_member, _ = 'w', name, nil
    if where == 'p' or where == 'd' then
        _, letter, its_member = decode(name)
    end
    if its_member == member
        or its_member and is_whole(its_member) and whole_member(its_member) == member then
        found(letter, name, its_member, score)
        return nil
    end
    return 0
end

-- The first place of the store that is of the time in the id, or later.  In kinds p and b the
-- sentinel comes first.
local priority = kind == 'p' or kind == 'b'
local function place_of_id()
    local ms = (kind == 'm' or kind == 't') and tonumber(string.sub(tail, 1, 12), 16)
    if ms then
        return redis.call('ZCOUNT', store, '-inf', before_score(ms - 1000))
    end
    return priority and 1 or 0
end

-- Returns true if the search ends here.
local function search(key)
    local at, stop = 0, redis.call('ZCARD', key) - (key == store and priority and 0 or 1)
    if where == 'w' then
        at = place_of_id()
    elseif where == 'v' then
        stop = place_of_id()
    end
    if from_name ~= '' then
        at = place_behind(key, from_score, from_name)
    end
    local most = { limit = limit - looked, bytes = 1048576 }
    local ended, name, score = walk(key, at, stop, look, most)
    if reply[7] == '-' and ended < stop then
        reply[7], reply[8] = '+', where
        reply[9], reply[10] = score or from_score, name or from_name
    end
    from_score, from_name = '', ''
    return reply[7] ~= '-'
end

local function hint_read(key)
    return redis.call('HGET', key, 'S' .. member)
end

local score = redis.call('ZSCORE', store, member)
local before = not score and hint_read(body or slot) -- lib/hint.lua
local entry = before and before .. 's:' .. member
local scheduled = entry and redis.call('ZSCORE', prepare, entry)
if score then
    found('w', member, member, score)
elseif scheduled then
    found('s', entry, member, scheduled)
else
    local steps = { w = { store, 'v' }, v = { store, 'p' }, p = { prepare, 'd' }, d = { dead } }
    while where and not search(steps[where][1]) do
        where = steps[where][2]
    end
end
return reply
