-- USES keys, passes

-- The keys of messages, and those that the caller has named in `passes`.

-- The key of a message, or its id without one; inline without one its body.
function keys.of(member)
    local len, from = string.match(member, '^%z(%d+):()')
    if not len then
        return member
    elseif len == '0' then
        return string.sub(member, from)
    end
    return string.sub(member, from, from + len - 1)
end

keys.passed = {}
local pass_at = 1
while passes ~= '-' and pass_at <= #passes do
    local len, from = string.match(passes, '^(%d+):()', pass_at)
    pass_at = from + len
    keys.passed[string.sub(passes, from, pass_at - 1)] = true
end
