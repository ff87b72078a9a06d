-- GIVES claimed, take, read_bodies, claim_waiting
-- TAKES store, body, call, state, reply
-- USES now, split, before_score, join, first, is_whole, whole_read, whole_header, header_split
-- USES header_cut, body_size, deliver

-- Claiming messages that wait: up to n, and about max_bytes of them.  Messages that must not be
-- handled are set aside on the way, and end before the claims are written, so that an error loses
-- nothing.

local MEET_AGAIN = 100 -- how many to read after some that were set aside
local claimed = {
    count = 0, moved = {}, -- { score, entry, score, entry, ... }
    dying = {}, dropped = {}, -- set aside
    gone = {}, -- members that the store holds no more
    rested = {}, -- of kind f: entries claimed where they rested, or set aside
    most = 2.5 * call.most -- with those set aside
}
local met, bytes_met = 0, 0
local unread, unread_at = {}, {} -- bodies that are read later, all at once, and their places

-- Does the message fit into the reply?  The first one always does.
local function fits(size)
    bytes_met = bytes_met + size
    if met > 0 and bytes_met > call.max_bytes then
        return false
    end
    met = met + 1
    return true
end

local function has_expired(header)
    local _, _, expiry = header_split(header)
    return expiry and expiry <= now
end

local function set_aside(list, member, before, attempts, cause, reason)
    list[#list + 1] = {
        member = member, before = before, attempts = attempts, cause = cause, reason = reason
    }
end

-- The header of a whole message that expires, and what is in the reply in the place of header and
-- body of those that are whole.
local function whole_parts(member, before)
    if string.byte(member, 2) == 101 then
        return whole_header(whole_read(member), before), ''
    end
    return nil, ''
end

-- Claims a message, or sets it aside if it has expired or its body was removed.  false: it does not
-- fit, and stays where it is.
local function take(mark, member, before, score, attempts, header)
    local size, bytes, whole = nil, nil, body and is_whole(member)
    if whole then
        header, bytes = whole_parts(member, before)
    elseif header then
        header, bytes = header_cut(header)
    end
    size = bytes and #bytes or body_size(member)
    local expired = header and has_expired(header)
    if expired and not call.expired_to_dead then
        set_aside(claimed.dropped, member, before, attempts)
        return true
    elseif not fits(#member + size) then
        return false
    elseif expired then
        set_aside(claimed.dying, member, before, attempts, 'expired', 'expired')
        return true
    end
    if whole then
        header = ''
    elseif body and not bytes then
        bytes = header and (size > 0 or redis.call('HGET', body, 'b' .. member))
        if not bytes then
            set_aside(claimed.dying, member, before, attempts, 'bodiless', 'its body is missing')
            return true
        end
    end
    local entry = before .. mark .. member
    local moved, count = claimed.moved, claimed.count + 1
    moved[2 * count - 1], moved[2 * count], claimed.count = score, entry, count
    deliver(entry, attempts, header, bytes)
    if bytes == true then
        unread[#unread + 1], unread_at[#unread_at + 1] = 'b' .. member, #reply
    end
    if count == 1 then
        state.lease = math.min(state.lease or call.lease_end, call.lease_end)
    end
    if attempts % 2 == 1 then
        state.has_suspect = true
    end
    return true
end

-- Puts the bodies of the claimed messages into the reply.
local function read_bodies()
    for i, bytes in ipairs(#unread > 0 and redis.call('HMGET', body, unpack(unread)) or {}) do
        reply[unread_at[i]] = bytes
    end
end

-- The next waiting messages, after those read already.
local function waiting(up_to, ranks)
    local from, to = '-inf', '(' .. up_to
    local many = ranks == 0 and call.n - claimed.count
        or math.min(MEET_AGAIN, claimed.most - ranks)
    if call.priority then
        from, to = '+inf', '(-inf'
    elseif not call.fifo then
        to = before_score(now + 1)
    end
    return first(store, from, to, many, call.max_bytes, ranks)
end

-- The headers of some of them.
local function headers_of(found)
    local fields, at, headers = {}, {}, {}
    for i = 1, body and #found or 0, 2 do
        if not is_whole(found[i]) then
            fields[#fields + 1], at[#at + 1] = 'h' .. found[i], (i + 1) / 2
        end
    end
    for i, header in ipairs(#fields > 0 and redis.call('HMGET', body, unpack(fields)) or {}) do
        headers[at[i]] = header
    end
    return headers
end

-- Claims the messages of one read.  Returns how many were read, and whether to read again.
local function claim_some(mark, found, ranks)
    local headers, fresh = headers_of(found), join(call.lease_end, 0)
    for i = 1, #found, 2 do
        local member, before, attempts, score = found[i], found[i + 1], 0, fresh
        if string.find(before, '[.e]') then
            before, attempts = split(before)
            before, score = string.format('%.0f', before), join(call.lease_end, attempts)
        end
        if claimed.count == call.n or attempts % 2 == 1 and state.lease
            or not take(mark, member, before, score, attempts, headers[(i + 1) / 2]) then
            return ranks, false
        end
        ranks = ranks + 1
        if state.has_suspect then
            return ranks, false
        end
    end
    return ranks, claimed.count < call.n and ranks < claimed.most
end

-- Claims messages that wait, and returns how many are to be removed.  Where many must not be
-- handled it reads again.
local function claim_waiting(mark, up_to)
    local ranks, more = 0, true
    while more do
        local found, cut = waiting(up_to, ranks)
        ranks, more = claim_some(mark, found, ranks)
        more = more and cut and body
    end
    return ranks
end
