-- GIVES deliver
-- TAKES body, reply

-- Adds a claimed message to the reply.
local function deliver(entry, attempts, header, bytes)
    local at = #reply
    reply[at + 1], reply[at + 2] = entry, attempts
    if body then
        reply[at + 3], reply[at + 4] = header, bytes
    end
end
