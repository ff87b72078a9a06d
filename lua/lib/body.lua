-- GIVES header_split, header_refs, header_join, header_of, header_cut
-- GIVES body_size, body_refer, body_drop, body_ends
-- TAKES body
-- USES is_whole

-- Bodies of layout keyed (body is nil in the other one), in the hash body: h.. and the member ->
-- its header and, behind a NUL, its body; or the header alone, and b.. and the member -> its body.
-- A message that was stored in two fields stays in two, so that b.. needs no removal before its
-- end.
--
-- A header is FIRST, the time of the first send, or FIRST,LIMIT,EXPIRY,REFS with a retry limit of
-- its own or nothing, the time of its expiry or nothing, and the number of entries of store and
-- prepare that refer to the body.  With the last reference body and header are removed.  A message
-- with headers has LIMIT/BYTES in the place of LIMIT, and these are the first BYTES of its body.
-- LIMIT stays a text here, as it was given.  Functions that take the text of a header take it with
-- a body behind it, too.

local function header_split(text)
    local first, limit, expiry = string.match(text, '^(%d+),([%d/]*),(%d*),')
    if first then
        return tonumber(first), limit, tonumber(expiry)
    end
    return tonumber(string.match(text, '^%d+')), '', nil
end

local function header_refs(text)
    return tonumber(string.match(text, '^%d+,[%d/]*,%d*,(%d+)') or 1)
end

local function header_join(first, limit, expiry, refs)
    if limit == '' and not expiry and refs == 1 then
        return string.format('%.0f', first)
    end
    return string.format('%.0f,%s,%s,%d', first, limit,
        expiry and string.format('%.0f', expiry) or '', refs)
end

-- A header, and the body behind it; nil: that is in a field of its own.
local function header_cut(text)
    local at = string.find(text, '\0', 1, true)
    if at then
        return string.sub(text, 1, at - 1), string.sub(text, at + 1)
    end
    return text, nil
end

-- What is stored beside a member; nil or false: nothing, as of whole messages (lib/whole.lua).
local function header_of(member)
    return body and not is_whole(member) and redis.call('HGET', body, 'h' .. member)
end

-- Of a body that has a field of its own.
local function body_size(member)
    return body and not is_whole(member) and redis.call('HSTRLEN', body, 'b' .. member) or 0
end

-- Adds this many references to the body of a member, or drops them.  Returns its header, if there
-- is one.
local function body_refer(member, by)
    local text = header_of(member)
    if text then
        local first, limit, expiry = header_split(text)
        local refs = header_refs(text)
        if refs + by > 0 then
            redis.call('HSET', body, 'h' .. member, header_join(first, limit, expiry, refs + by)
                .. (string.match(text, '%z.*') or ''))
        else
            redis.call('HDEL', body, 'h' .. member, 'b' .. member)
        end
    end
    return text
end

-- Of members that end: the fields of the bodies without another reference, and the members of the
-- others.  Changes nothing.
local function body_ends(members)
    local fields, gone, kept = {}, {}, {}
    for _, member in ipairs(members) do
        fields[#fields + 1] = not is_whole(member) and 'h' .. member or nil
    end
    for i, text in ipairs(#fields > 0 and redis.call('HMGET', body, unpack(fields)) or {}) do
        local member = string.sub(fields[i], 2)
        if text and header_refs(text) == 1 then
            gone[#gone + 1] = fields[i]
            gone[#gone + 1] = not string.find(text, '\0', 1, true) and 'b' .. member or nil
        elseif text then
            kept[#kept + 1] = member
        end
    end
    return gone, kept
end

-- Drops one reference to each member's body.
local function body_drop(members)
    local gone, kept = {}, {}
    if body then
        gone, kept = body_ends(members)
    end
    for _, member in ipairs(kept) do
        body_refer(member, -1)
    end
    if #gone > 0 then
        redis.call('HDEL', body, unpack(gone))
    end
end
