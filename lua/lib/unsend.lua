-- GIVES unsend
-- TAKES store, slot, body, many, WIDTH, MESSAGES

-- The bodies or the slot could not be written: what was added is removed again, and the call ends
-- with that error.  The same commands, which change nothing here, name it.  What waited before
-- stays as this send has made it.  headers: those that were stored before, by the index of the
-- message.
local function unsend(results, headers, failure)
    local added, bodies, kept = {}, {}, {}
    for i = 1, many do
        local member = ARGV[MESSAGES + (i - 1) * WIDTH]
        if string.sub(results, i, i) == 'a' then
            added[#added + 1] = member
            if headers and headers[i] then
                kept[#kept + 1], kept[#kept + 2] = 'h' .. member, headers[i]
                if string.find(headers[i], '\0', 1, true) then
                    bodies[#bodies + 1] = 'b' .. member
                end
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
    if #kept > 0 then
        redis.pcall('HSET', body, unpack(kept))
    end
    if body then
        redis.call('HSET', body, '', '')
    end
    redis.call('HSET', slot, '', '')
    redis.call('HINCRBY', slot, 'sent', 0)
    error(failure)
end
