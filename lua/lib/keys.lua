-- GIVES keys_open
-- TAKES call
-- USES is_whole, whole_read

-- The keys of messages, and those that the caller has named in `passes`.
local function keys_open()
    local keys, at = { passed = {} }, 1

    -- The key of a message, or its id without one; inline without one its body.
    function keys.of(member)
        local len, from = string.match(member, '^%z(%d+):()')
        if is_whole(member) then
            local its = whole_read(member)
            return its.upto < its.from and its.id or string.sub(member, its.from, its.upto)
        elseif not len then
            return member
        elseif len == '0' then
            return string.sub(member, from)
        end
        return string.sub(member, from, from + len - 1)
    end

    while call.passes ~= '-' and at <= #call.passes do
        local len, from = string.match(call.passes, '^(%d+):()', at)
        at = from + len
        keys.passed[string.sub(call.passes, from, at - 1)] = true
    end
    return keys
end
