-- GIVES rested_return, rested_undo
-- TAKES store, prepare, slot
-- USES now, REST, split, join, first, look_again

-- What has rested waits again, in an ordinary call, which reads after that what it claims.  If it
-- turns out not to be ordinary, it rests as before.
--
-- Order of writes: the new places, the rests.  Undone: the rests, the new places.  What comes
-- second is tried before.
local RESTED_MOST = 200

-- { entry, score, ... }, with their `entries`, `members` and `places`.  nil: they are many, or one
-- of the messages waits already.
local function rested_return(max_bytes)
    local found, cut = first(prepare, REST, string.format('(%.0f', REST + now + 1), RESTED_MOST,
        max_bytes)
    local entries, members, places, seen = {}, {}, {}, {}
    for i = 1, #found, 2 do
        local before, member = string.match(found[i], '^(%-?%d+)r%d*:(.*)$')
        local _, attempts = split(found[i + 1])
        cut = cut or seen[member]
        seen[member] = true
        entries[#entries + 1], members[#members + 1] = found[i], member
        places[i], places[i + 1] = join(before, attempts), member
    end
    if cut or #found == 0 then
        return not cut and {} or nil
    end
    for _, score in ipairs(redis.call('ZMSCORE', store, unpack(members))) do
        if score then
            return nil
        end
    end
    local looked = redis.call('HGET', slot, 'looked')
    for i = 1, looked and #places or 0, 2 do
        look_again(looked, split(places[i]))
    end
    redis.call('ZREM', prepare, '-')
    redis.call('ZADD', store, unpack(places))
    redis.call('ZREM', prepare, unpack(entries))
    return { entries = entries, found = found, members = members }
end

local function rested_undo(its)
    local scores = {}
    if not its.found then
        return
    end
    for i = 1, #its.entries do
        scores[2 * i - 1], scores[2 * i] = its.found[2 * i], its.entries[i]
    end
    redis.call('ZREM', store, '\0')
    redis.call('ZADD', prepare, unpack(scores))
    redis.call('ZREM', store, unpack(its.members))
end
