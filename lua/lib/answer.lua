-- GIVES answer
-- TAKES slot, call
-- USES now

-- Writes what has changed in the slot: the fields in `changed`, the counters (added, merges and
-- refusals of `counts`), and the results for a repeat.  Returns the reply of the call, or an error.
local function answer(changed, results, counts)
    local at, kept = #changed, nil
    if counts.added > 0 then
        changed[at + 1] = 'sent'
        changed[at + 2], at = string.format('%d', (call.sent or 0) + counts.added), at + 2
    end
    if (counts.merges or 0) > 0 then
        kept = redis.pcall('HINCRBY', slot, 'merged', counts.merges)
    end
    if (counts.refusals or 0) > 0 and type(kept) ~= 'table' then
        kept = redis.pcall('HINCRBY', slot, 'duplicates', counts.refusals)
    end
    if call.ordered then
        changed[at + 1], changed[at + 2], at = 'seq', call.seq, at + 2
    end
    if call.producer ~= '-' then
        local one = string.sub(results, 1, 1)
        changed[at + 1] = call.producer_field
        changed[at + 2] = string.format('%d,%d,%d,%s', call.sequence + call.many - 1, call.many,
            now, results == string.rep(one, call.many) and one or results)
        if call.swept then
            changed[at + 3], changed[at + 4] = 'swept', call.swept
        end
    end
    if changed[1] and type(kept) ~= 'table' then
        kept = redis.pcall('HSET', slot, unpack(changed))
    end
    return type(kept) == 'table' and kept or { 'OK', results }
end
