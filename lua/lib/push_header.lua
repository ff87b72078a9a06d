-- GIVES push_header
-- TAKES body, done, dedup_ms, MESSAGES
-- USES now

-- Keyed: the header of the first message, if it does not expire at once, nothing is stored beside
-- it already, and it was not done within the window; otherwise nil, and it cannot be pushed.
local function push_header()
    local member, limit = ARGV[MESSAGES], ARGV[MESSAGES + 3]
    local ttl = tonumber(ARGV[MESSAGES + 4])
    local ended = dedup_ms > 0 and redis.call('ZSCORE', done, member)
    if ttl and ttl <= 0 or redis.call('HEXISTS', body, 'h' .. member) == 1
        or ended and tonumber(ended) > now - dedup_ms then
        return nil
    elseif limit == '' and not ttl then
        return string.format('%d', now)
    end
    return string.format('%d,%s,%s,1', now, limit, ttl and string.format('%d', now + ttl) or '')
end
