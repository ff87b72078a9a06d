-- GIVES stored_header, stored_body, stored_reason, add_stored
-- TAKES why, body, oldest
-- USES split, decode, is_whole, whole_read, whole_header, header_cut, LOST, history_of

-- The data stored for a message: of a dead letter in `why`, of those that are whole in themselves,
-- of all others of layout keyed in `body`, inline nothing; and why it failed last.

local function stored_header(state, name, member, score)
    if not body then
        return ''
    elseif state == 'd' then
        return redis.call('HGET', why, 'H' .. name) or ''
    elseif is_whole(member) then
        return whole_header(whole_read(member), state == 'w' and split(score) or decode(name))
    end
    return (header_cut(redis.call('HGET', body, 'h' .. member) or ''))
end

local function stored_body(state, name, member)
    if not body then
        return ''
    elseif state == 'd' then
        return redis.call('HGET', why, 'B' .. name) or ''
    elseif is_whole(member) then
        return whole_read(member).text
    end
    local header, bytes = unpack(redis.call('HMGET', body, 'h' .. member, 'b' .. member))
    local _, joined = header_cut(header or '')
    return joined or bytes or ''
end

-- And its history (lib/reason.lua), which a suspect always has.
local function stored_reason(state, name, member, score)
    if state == 'd' then
        return redis.call('HGET', why, name) or ''
    end
    local _, attempts = split(score)
    local stored = attempts >= 2 and redis.call('HGET', why, 'R' .. member)
    if attempts % 2 == 1 then
        return LOST .. '\0' .. history_of(stored, attempts)
    end
    return stored or ''
end

local noted = string.match(oldest or '', '^%d+ [^ ]+ (.*)$')

-- Adds one message to a reply, whose sixth element has what is noted of it (lib/oldest.lua).
local function add_stored(reply, name, score, reason, header, its_body)
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = name, score, reason
    if body then
        reply[at + 4], reply[at + 5] = header, its_body
    end
    if name == noted then
        reply[6] = oldest
    end
end
