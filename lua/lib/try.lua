-- GIVES try_moves
-- TAKES prepare, body

-- Redis does not undo what a script has written before an error.  But within one run of a script a
-- command with a key fails always or never: the user may not run it, the key has another type.  So
-- before messages are moved, what comes after the first write of a move is tried: the same commands
-- with names that do not exist change nothing, and an error ends the call here.
local function try_moves()
    redis.call('ZREM', prepare, '-')
    if body then
        redis.call('HDEL', body, '-')
    end
end
