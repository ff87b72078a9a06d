-- GIVES retried_read
-- TAKES prepare, why, slot, body, max_retries
-- USES now, REST, SCHEDULE, split, join, history_add, stored_of

-- Settling the answers of an ordinary call that are not simply done: done after a retry, and
-- retries that rest.  All is read before the call writes anything.
--
-- Order of writes: what is kept of the tries, and the rests (write); the caller's answers that are
-- done; these claims (remove); the caller's bodies; the reasons and the counter (finish).  What
-- comes after the first of these is tried before.

-- Those of the answers from a place in ARGV on whose claims exist, with their scores and attempts,
-- and a result for each.  nil: there are others, or two of one message.
local function read_claims(from, seen)
    local entries, found = {}, { results = {} }
    for i = from, #ARGV, 4 do
        local entry = ARGV[i + 1]
        local member = string.match(entry, '^%-?%d+c%d+:(.*)$')
        if not member or seen[entry] or seen[member]
            or ARGV[i] ~= 'd' and (ARGV[i] ~= 't' or tonumber(ARGV[i + 2]) <= 0) then
            return nil
        end
        seen[entry], seen[member] = true, true
        entries[#entries + 1] = entry
    end
    for i, score in ipairs(redis.call('ZMSCORE', prepare, unpack(entries))) do
        local at = from + 4 * i - 4
        found.results[i] = score and '1' or '0'
        if score then
            local _, attempts = split(score)
            found[#found + 1] = {
                is_done = ARGV[at] == 'd', entry = entries[i], score = score, attempts = attempts,
                member = string.match(entries[i], ':(.*)$'), delay = ARGV[at + 2],
                reason = ARGV[at + 3]
            }
        end
    end
    return found
end

local function write(its)
    redis.call('ZREM', prepare, '-')
    if #its.reasons > 0 then
        redis.call('HDEL', why, '-')
    end
    if its.retried > 0 then
        redis.call('ZADD', prepare, 'XX', 0, '-')
        redis.call('HSET', why, unpack(its.tries))
        redis.call('ZADD', prepare, unpack(its.rests))
    end
end

-- Returns how many of them were done.
local function remove(its)
    if #its.entries > 0 then
        redis.call('ZREM', prepare, unpack(its.entries))
    end
    return #its.claims / 2
end

local function finish(its)
    if #its.reasons > 0 then
        redis.call('HDEL', why, unpack(its.reasons))
    end
    if its.retried > 0 then
        redis.call('HINCRBY', slot, 'retried', its.retried)
    end
end

local function take_retry(its, it, tried)
    local attempts, rests = it.attempts - it.attempts % 2, its.rests
    local before, claim_member = string.match(it.entry, '^(%-?%d+)c(.*)$')
    its.tries[#its.tries + 1] = 'R' .. it.member
    its.tries[#its.tries + 1] = history_add(tried, it.attempts, 't', it.reason)
    rests[#rests + 1] = join(math.min(REST + now + it.delay, SCHEDULE - 1), attempts + 2)
    rests[#rests + 1] = before .. 'r' .. claim_member
    its.retried = its.retried + 1
end

local function take_done(its, it, header, ended)
    its.claims[#its.claims + 1], its.claims[#its.claims + 2] = it.score, it.entry
    if it.attempts >= 2 then
        its.reasons[#its.reasons + 1] = 'R' .. it.member
    end
    if header then
        ended[#ended + 1] = 'h' .. it.member
        ended[#ended + 1] = not string.find(header, '\0', 1, true) and 'b' .. it.member or nil
    end
end

-- What the answers from a place in ARGV on will write; `ended` gets the bodies that end.  nil: the
-- call is not ordinary.  Dead letters are rare.
local function retried_read(from, seen, ended)
    local found, headers, reasons = read_claims(from, seen), {}, {}
    for _, it in ipairs(found or {}) do
        headers[#headers + 1] = body and not string.find(it.member, '^%z[we]') and 'h' .. it.member
            or nil
        reasons[#reasons + 1] = it.attempts >= 2 and not it.is_done and 'R' .. it.member or nil
    end
    local headers_by, tried_by = stored_of(body, headers), stored_of(why, reasons)
    local its = {
        results = found and table.concat(found.results), entries = {}, claims = {}, rests = {},
        tries = {}, reasons = {}, retried = 0, write = write, remove = remove, finish = finish
    }
    for i, it in ipairs(found or {}) do
        local header = headers_by['h' .. it.member]
        local limit = header and string.match(header, '^%d+,(%d+)')
            or body and string.match(it.member, '^%z[we](%d+)') or max_retries
        its.entries[i] = it.entry
        if not it.is_done and it.attempts - it.attempts % 2 < 2 * tonumber(limit) then
            take_retry(its, it, tried_by['R' .. it.member])
        elseif it.is_done and (not header
            or (string.match(header, '^%d+,[%d/]*,%d*,(%d+)') or '1') == '1') then
            take_done(its, it, header, ended)
        else
            return nil
        end
    end
    return found and its
end
