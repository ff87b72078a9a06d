-- USES store, slot, body, many, WIDTH, MESSAGES, results, headers_before, reply

-- The bodies or the slot could not be written: what was added is removed again, and the call ends
-- with that error.  The same commands, which change nothing here, name it.  What waited before
-- stays as this send has made it.
do
    local added, bodies, headers = {}, {}, {}
    for i = 1, many do
        local member = ARGV[MESSAGES + (i - 1) * WIDTH]
        if string.sub(results, i, i) == 'a' then
            added[#added + 1] = member
            if headers_before and headers_before[i] then
                headers[#headers + 1], headers[#headers + 2] = 'h' .. member, headers_before[i]
            else
                bodies[#bodies + 1], bodies[#bodies + 2] = 'h' .. member, 'b' .. member
            end
        end
    end
    if #added > 0 then
        redis.call('ZREM', store, unpack(added))
    end
    if body and #bodies > 0 then
        redis.call('HDEL', body, unpack(bodies))
    end
    if #headers > 0 then
        redis.pcall('HSET', body, unpack(headers))
    end
    if body then
        redis.call('HSET', body, '', '')
    end
    redis.call('HSET', slot, '', '')
    redis.call('HINCRBY', slot, 'sent', 0)
    error(reply)
end
