-- GIVES sent_before
-- TAKES slot
-- USES now, wake

-- The call is a repeat, or came late.  The record of its producer, LAST,COUNT,TIME,RESULTS, has the
-- answer to the last request of the producer: COUNT messages up to the sequence LAST, with one
-- character for each, or one for all.  Writing it again renews it, and lets a WAIT after the call
-- wait for the first try.  The first try may have woken nobody, so this one wakes once more.
--
-- call: its producer_field, its sequence, and how many messages it has.
local function sent_before(call, record, parked)
    local last, count, kept = string.match(record, '^(%d+),(%d+),%d+,(%a+)$')
    local before, results = last - count, {}
    for i = 1, call.many do
        local place = call.sequence + i - 1 - before
        if place < 1 or place > tonumber(count) then
            results[i] = 'u'
        else
            results[i] = #kept == 1 and kept or string.sub(kept, place, place)
        end
    end
    redis.call('HSET', slot, call.producer_field,
        string.format('%s,%s,%.0f,%s', last, count, now, kept))
    wake(parked, 0)
    return { 'OK', table.concat(results) }
end
