-- GIVES hand_over
-- TAKES prepare, slot, body, call, state, moves
-- USES split, before_score, decode, join, by_place, sorts_before, is_whole, header_cut, deliver

-- Handing the newest claim over again to an owner that did not get its reply, as many messages per
-- call as fit into one reply: those behind the last one that the owner names.
--
-- An owner knows all claims but perhaps the newest.  claimed_until of the slot is when the leases
-- of that claim end; what the owner has renewed since ends at another time, and is known to it.
-- So no other claims are read.

-- Among equals, those with the larger bytes first.
local function by_priority(a, b)
    return a.place > b.place or a.place == b.place and a.at > b.at
end

-- Those of the newest claim, in the order of Redis: the attempts, then the bytes.
local function newest()
    local found, ends = {}, state.claimed_until
    if not ends or state.claims <= state.base then
        return found
    end
    local all = redis.call('ZRANGE', prepare, ends, before_score(ends + 1), 'BYSCORE',
        'WITHSCORES')
    local pattern = string.format('^(%%-?%%d+)c%.0f:()', state.claims)
    for i = 1, #all, 2 do
        local before, from = string.match(all[i], pattern)
        if before then
            local _, attempts = split(all[i + 1])
            found[#found + 1] = {
                entry = all[i], attempts = attempts, before = before, place = tonumber(before),
                member = string.sub(all[i], from), at = #found + 1
            }
        end
    end
    return found
end

-- How many of them come before a position, itself included, in the order of Redis.
local function count_before(found, position)
    local low, high = 0, #found
    while low < high do
        local middle = math.ceil((low + high) / 2)
        local it = found[middle]
        if it.attempts > position.attempts
            or it.attempts == position.attempts and sorts_before(position.entry, it.entry) then
            high = middle - 1
        else
            low = middle
        end
    end
    return low
end

local function is_behind(it, position)
    if call.fifo or call.priority and it.place ~= position.place then
        return (it.place > position.place) == call.fifo
    elseif call.priority then
        return it.at < position.at
    end
    return it.at > position.at
end

-- Those behind the position, in the order in which they were claimed.
local function behind(found, position)
    local left = {}
    if position then
        local passed = count_before(found, position)
        local gone = passed == 0 or found[passed].entry ~= position.entry
        position.place = tonumber((decode(position.entry)))
        position.at = gone and passed + 0.5 or passed
    end
    for _, it in ipairs(found) do
        if not position or is_behind(it, position) then
            left[#left + 1] = it
        end
    end
    if call.fifo or call.priority then
        table.sort(left, call.fifo and by_place or by_priority)
    end
    return left
end

local function renew_all(found)
    local moved = {}
    for i, it in ipairs(found) do
        moved[2 * i - 1], moved[2 * i] = join(call.lease_end, it.attempts), it.entry
    end
    if #found > 0 then
        redis.call('ZADD', prepare, 'XX', 0, '-') -- a try: the field finds the claim
        redis.call('HSET', slot, 'claimed_until', string.format('%.0f', call.lease_end))
        redis.call('ZADD', prepare, 'XX', unpack(moved))
    end
end

-- Hands them over whatever has become of them since, also when they have expired or have larger
-- bodies of later sends.  Nothing is dropped or given back, because this call may come late, and
-- handlers may have the messages.  true: there are more.
local function hand_over(position)
    local found, bytes, handed = newest(), 0, 0
    renew_all(found)
    for _, it in ipairs(behind(found, position)) do
        local header, text, joined
        if body and is_whole(it.member) then
            header, text = '', ''
        elseif body then
            header, text = unpack(redis.call('HMGET', body, 'h' .. it.member,
                'b' .. it.member))
            if header then
                header, joined = header_cut(header)
                text = joined or text
            end
        end
        local size = #it.member + #(text or '')
        if handed > 0 and bytes + size > call.max_bytes then
            return true
        end
        if body and not (header and text) then
            moves.bury(it.member, it.before, it.attempts, 'bodiless', 'its body is missing')
            redis.call('ZREM', prepare, it.entry)
        else
            deliver(it.entry, it.attempts, header, text)
            bytes, handed = bytes + size, handed + 1
        end
    end
    return false
end
