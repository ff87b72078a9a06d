-- GIVES limit_of, lose
-- TAKES max_retries
-- USES is_whole, whole_read, header_of, header_split, count, give_back, LOST, TIMED_OUT
-- USES history_keep, bury

-- The retry limit of a message.
local function limit_of(member)
    local text, limit, _ = header_of(member), nil, nil
    if text then
        _, limit = header_split(text)
    elseif is_whole(member) then
        limit = whole_read(member).limit
    end
    return limit and tonumber(string.match(limit, '^%d+')) or max_retries
end

-- Ends a claim whose process died, or whose handler took too long.  The first loss in a row makes
-- the message a suspect and uses no retry; each further one uses one, and without any left the
-- message becomes a dead letter with that cause and reason.
local function lose(member, before, attempts, cause)
    local suspect = attempts % 2 == 1
    count('lease_lost')
    if suspect and attempts >= 2 * limit_of(member) then
        bury(member, before, attempts, cause, cause == 'crashed' and LOST or TIMED_OUT)
        return
    elseif attempts > 0 then
        history_keep(member, attempts, cause == 'timed_out' and 'h' or 'l', '')
    end
    give_back(member, before, attempts + (suspect and 2 or 1))
end
