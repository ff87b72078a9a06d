-- GIVES is_whole, whole_read, whole_member, whole_header
-- TAKES kind

-- Whole messages (format 5): the member holds all of the message, and nothing is stored beside it.
-- It is NUL, w, or e if the message expires, LIMIT or LIMIT/BYTES, ',', its ttl in ms or nothing,
-- ',', length of the key, ':', key, id of 32 digits, headers and body.  An id begins with the time
-- at which it was made: 12 hex digits of ms.  libsrc/model/whole.h has the same encoding.

local function is_whole(member)
    local nul, letter = string.byte(member, 1, 2)
    return nul == 0 and (letter == 119 or letter == 101)
end

-- Its parts; `from` and `upto`: where the key begins and ends.
local function whole_read(member)
    local limit, ttl, len, from = string.match(member, '^%z[we]([%d/]*),(%d*),(%d+):()')
    local upto = from + len - 1
    return {
        limit = limit, ttl = tonumber(ttl), from = from, upto = upto,
        id = string.sub(member, upto + 1, upto + 32), text = string.sub(member, upto + 33)
    }
end

-- The member that the message has as long as it is not whole.
local function whole_member(member)
    local its = whole_read(member)
    local key = string.sub(member, its.from, its.upto)
    return key == '' and its.id or '\0' .. #key .. ':' .. key .. its.id
end

-- Its header as layout keyed stores one (lib/body.lua); before: the integer part of its score while
-- it waits, which in kinds with times is the time of its first send.
local function whole_header(its, before)
    local timed = kind == 'm' or kind == 't'
    local first = timed and tonumber(before) or tonumber(string.sub(its.id, 1, 12), 16)
    if its.limit == '' and not its.ttl then
        return string.format('%.0f', first)
    end
    return string.format('%.0f,%s,%s,1', first, its.limit,
        its.ttl and string.format('%.0f', first + its.ttl) or '')
end
