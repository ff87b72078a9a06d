-- GIVES settle_some
-- TAKES store, prepare

-- Of the answers from..upto in ARGV, which are done, not all claims could be removed: a failover
-- had lost the others, so their messages wait, or are claimed again, and keep what is stored beside
-- them.  `fields`: what is stored beside messages that had one entry.  Returns those that end, and
-- the results.  All of prepare is read, which holds at most MUCH (consume.lua): this is rare.
local function settle_some(from, upto, removed, fields)
    local used, members, ended, left, results, whole = {}, {}, {}, {}, {}, {}
    for _, entry in ipairs(redis.call('ZRANGE', prepare, '0', '-1')) do
        used[string.sub(entry, (string.find(entry, ':', 1, true) or 0) + 1)] = true
    end
    for i, field in ipairs(fields) do
        members[i] = string.sub(field, 2)
    end
    for i, score in ipairs(#fields > 0 and redis.call('ZMSCORE', store, unpack(members)) or {}) do
        if not score and not used[members[i]] then
            left[#left + 1], ended[members[i]] = fields[i], true
        end
    end
    for i = from, upto do
        local member = string.match(ARGV[i], ':(.*)$')
        if string.find(member or '', '^%z[we]') then
            whole[#whole + 1] = i - from + 1
        elseif ended[member] then
            results[i - from + 1], removed = '1', removed - 1
        else
            results[i - from + 1] = '0'
        end
    end
    for _, at in ipairs(whole) do
        results[at] = removed == #whole and '1' or removed == 0 and '0' or 'u'
    end
    return left, table.concat(results)
end
