#!lua flags=no-writes
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV def, kind, state (w waiting, s scheduled, c claimed, r resting, d dead), score, name, limit,
--      max_bytes, bodies (0 or 1), member, contains, reason, exact (0: the reason contains this
--      text; 1: it is this text), header, older_ms (these empty: whatever it is; but reason, if
--      exact: none), whole (1: the message `member` may be whole, lib/whole.lua)
-- RETURN OK, now, token, owner, base (the owner's claims have larger numbers), oldest (SINCE OWNER
--        ENTRY; empty: this entry is none of those below), more (1: there are more after the last
--        one read), score, name (of that, or as given), (name, score, reason [, header, body])...
--        (those read that match, in the order of consumption; with header and body: keyed)
--        | NO_TOPIC | STALE
--
-- It reads after score and name; name empty: from the first on.
-- limit: the number of messages that it reads.  header: one as it is stored in front of a body: its
-- name, NUL, the bytes of its value, ':', its value (libsrc/model/headers.h).  older_ms: the least
-- time since a message was due or became dead, or since it was sent if it has no time.

limit, max_bytes, bodies = math.min(tonumber(limit), 1000), tonumber(max_bytes), bodies == '1'

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

local newest = older_ms ~= '' and now - tonumber(older_ms)
local timed = kind == 'm' or kind == 't'

-- Key, first place, and the place after the last one.
local function bounds()
    if state == 'w' then
        return store, 0, redis.call('ZCARD', store) - 1
    elseif state == 'd' then
        return dead, 0, redis.call('ZCARD', dead) - 1
    end
    local claimed = redis.call('ZCOUNT', prepare, '-inf', before_score(REST))
    if state == 'c' then
        return prepare, 0, claimed
    end
    local all = redis.call('ZCARD', prepare) - 1
    local scheduled = timed and 0 or redis.call('ZCOUNT', prepare, SCHEDULE, '(inf')
    if state == 's' then
        return prepare, all - scheduled, all
    end
    return prepare, claimed, all - scheduled
end

-- When the message became dead, was due, or was first sent.
local function since(its_score, before, its_header)
    if state == 'd' or timed and state == 'w' then
        return split(its_score)
    elseif timed then
        return tonumber(before)
    end
    return tonumber(string.match(its_header, '^%d+'))
end

-- The headers and the body of what is stored.
local function divide(its_header, stored)
    local length = tonumber(string.match(its_header, '^%d+,%d*/(%d+),')) or 0
    if length == 0 then
        return '', stored
    end
    return string.sub(stored, 1, length), string.sub(stored, length + 1)
end

local function is_among(headers)
    local at = 1
    while true do
        local _, stop, length = string.find(headers, '^[^%z]+%z(%d+):', at)
        if not stop then
            return false
        elseif string.sub(headers, at, stop + length) == header then
            return true
        end
        at = stop + length + 1
    end
end

local function in_text(its_member, its_body)
    its_member = is_whole(its_member) and whole_member(its_member) or its_member
    local length, from = string.match(its_member, '^%z(%d+):()')
    if not length then
        return string.find(its_member, contains, 1, true)
            or string.find(its_body, contains, 1, true)
    end
    return string.find(string.sub(its_member, from, from + length - 1), contains, 1, true)
        or string.find(string.sub(its_member, from + length), contains, 1, true)
        or string.find(its_body, contains, 1, true)
end

local reply = { 'OK', now, token, owner or '', base or 0, '', 0, score, name }

local function is_reason(stored)
    local its_reason = string.match(stored, '^[^%z]*')
    if exact == '1' then
        return its_reason == reason
    end
    return reason == '' or string.find(its_reason, reason, 1, true)
end

-- Returns the bytes that it read besides the name; nil: neither this one nor later ones match.
local function look(its_name, its_score)
    local its_member, before = its_name, nil
    if state ~= 'w' then
        local _
        before, _, its_member = decode(its_name)
        its_member = its_member or its_name
    end
    if member ~= '' and its_member ~= member
        and not (is_whole(its_member) and whole_member(its_member) == member) then
        return 0
    end
    local its_header = stored_header(state, its_name, its_member, its_score)
    if newest then
        local at = since(its_score, before, its_header)
        if not at or at > newest then
            return (not timed and state ~= 'd' or state == 'c' or state == 'r') and 0 or nil
        end
    end
    local its_reason = stored_reason(state, its_name, its_member, its_score)
    if not is_reason(its_reason) then
        return 0
    end
    local its_stored = ''
    if bodies or contains ~= '' or header ~= '' then
        its_stored = stored_body(state, its_name, its_member)
    end
    if contains ~= '' or header ~= '' then
        local its_headers, its_body = divide(its_header, its_stored)
        if header ~= '' and not is_among(its_headers)
            or contains ~= '' and not in_text(its_member, its_body) then
            return #its_stored
        end
    end
    add_stored(reply, its_name, its_score, its_reason, its_header, bodies and its_stored or '')
    return #its_stored
end

local member_score = state == 'w' and member ~= '' and redis.call('ZSCORE', store, member)
if member_score and name == '' then
    look(member, member_score)
elseif state ~= 'w' or member == '' or whole == '1' then
    local rev = state == 'w' and (kind == 'p' or kind == 'b')
    local key, at, stop = bounds()
    if name ~= '' then
        at = math.max(at, place_behind(key, score, name, rev))
    end
    local last, last_score
    at, last, last_score = walk(key, at, stop, look,
        { limit = limit, bytes = max_bytes, rev = rev })
    reply[7] = at < stop and 1 or 0
    reply[8], reply[9] = last_score or score, last or name
end
return reply
