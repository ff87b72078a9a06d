-- GIVES merge
-- TAKES store, MESSAGES
-- USES split, join

-- Inline, for one time: the messages of the call are stored, and some of them waited before.  Those
-- of kind t are moved.  Returns the results, and when something may be claimed that could not
-- before.
local function merge(integer, call)
    local members, is_added, placed, results, due = {}, {}, {}, {}, integer
    for i = 1, call.many do
        members[i] = ARGV[MESSAGES + 2 * i - 2]
    end
    for i, score in ipairs(redis.call('ZMSCORE', store, unpack(members))) do
        local member = members[i]
        if call.many > 1 and tonumber(score) == integer and not is_added[member] then
            is_added[member], results[i] = true, 'a'
        else
            local _, attempts = split(score)
            placed[#placed + 1], placed[#placed + 2] = join(integer, attempts), member
            results[i] = 'm'
            if call.kind == 't' and attempts % 2 == 1 then
                due = 0 -- what waits behind the suspect may be claimed now
            end
        end
    end
    if call.kind == 't' then
        redis.call('ZADD', store, unpack(placed))
    end
    return table.concat(results), due
end
