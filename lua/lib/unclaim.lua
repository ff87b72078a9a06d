-- USES store, prepare, moved, claimed, gone

-- The claimed messages, `claimed` many, could not be removed from the store: they are claimed no
-- more, and the call ends with that error.  The same command, which changes nothing here, names it.
do
    local entries = {}
    for i = 1, claimed do
        entries[i] = moved[2 * i]
    end
    redis.call('ZREM', prepare, unpack(entries))
    redis.call('ZREMRANGEBYRANK', store, 1, 0)
    error(gone)
end
