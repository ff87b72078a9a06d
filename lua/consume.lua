#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body], [done]
-- ARGV def, token, kind, channel, n, max_bytes, lease_ms, max_retries, dedup_ms, last, oldest,
--      open, pushed, passes, flags, ndone, answers...
-- RETURN OK, now, next (ms, or empty: never by itself), claims (of a shared slot, to a caller that
--        sleeps from now on: how many sleep), results (one character per answer),
--        again (1: more is claimable now, 3: another one looks before: lib/park.lua; if the slot
--        has schedules, behind a blank when the first of them is due),
--        (entry, attempts [, header, body])..., [failed]
--        | ANY: this call is not an ordinary one; nothing was written
--        | FENCED, token | NO_TOPIC | STALE
--
-- The ordinary call: its answers are done, or retries that rest, its caller knows the newest claim
-- if it is an owner, nothing is to be brought back but rests of which its caller knows (flag t),
-- and it claims messages that are no suspects.  Every other call is for consume_any, which takes
-- the same arguments and says what they are.
--
-- First it reads what decides whether it is ordinary, then it writes.  Only what comes behind
-- several answers in prepare is read after these were removed.  If that is to be brought back, or
-- is a suspect, which is rare, nothing is claimed and again is 1: the next call is not ordinary.
--
-- Order of writes: what has rested waits again, which is undone if the call is not ordinary; the
-- answers (of retries first what is kept, lib/settle_retried.lua), of layout keyed their bodies;
-- before a claim, that its owner sleeps no longer; the number of the claim, with the counter
-- `done`; the claim; what waits; who sleeps.  That bodies can be removed is tried before, or the
-- answers are put back (lib/unsettle.lua); if what waits cannot be removed, the claim is
-- (lib/unclaim.lua), and the next call finds a number without a claim, as that of a claim that was
-- answered.

-- 1. Read.

-- How many messages a call moves: those with bodies cost more.
n, max_bytes = math.min(tonumber(n), body and 200 or 1000), tonumber(max_bytes)
local priority, many = kind == 'p' or kind == 'b', tonumber(ndone)
local shared = token == 'shared'

local stored, current, base, claims, parked, paused, done_so_far, tick =
    unpack(redis.call('HMGET', slot, 'def', 'token', 'base', 'claims', 'parked', 'paused', 'done',
        'tick'))
if stored ~= def then
-- @include def
    local refused = def_refused(stored, def)
    if refused then
        return refused
    end
end
-- @include token
-- fence: begin
if current ~= token or current == NOBODY then
    return { 'FENCED', current }
end
-- fence: end
-- The end of the last lease of a former owner, and what the clock showed at the last lease, where
-- others wait for the leases of claims (lib/step_back.lua).
local former, leased
if shared or flags ~= '-' and string.find(flags, '[wW]') then
    former, leased = unpack(redis.call('HMGET', slot, 'former', 'leased'))
    leased = tonumber(leased or 0)
end
-- The time of a push since the owner has called.
local push_at = parked and string.byte(parked) == 45 and string.match(parked, '%d+')
claims = tonumber(claims)

-- @include clock
-- @include score

if kind == 'f' or paused or former or leased and leased > now
    or flags ~= '-' and string.find(flags, 'r', 1, true)
    or not shared and tonumber(last) ~= claims or push_at and push_at ~= pushed
    or passes ~= '-' or body and ANSWERS <= #ARGV and dedup_ms ~= '0' then
    return { 'ANY' }
end
-- The last answer that is simply done; are there others?
local upto = ANSWERS + many - 1
local is_mixed = upto < #ARGV

-- Of a header, behind which a body may stand (lib/body.lua): the place of the NUL between them,
-- when the message expires, and whether other entries share it.
local function read_header(text)
    local cut, comma = string.find(text, '\0', 1, true), string.find(text, ',', 1, true)
    if comma and (not cut or comma < cut) then
        local expiry, refs = string.match(text, '^%d+,[%d/]*,(%d*),(%d+)')
        return cut, tonumber(expiry), refs ~= '1'
    end
    return cut, nil, false
end

-- 2. One message, as they come one by one: at most one answer, beside which nothing is in flight or
-- rests, and at most one message that is due.  An owner.  Of priorities the next one is mostly due,
-- so to look is worth it only for answers of whole messages.

if many < 2 and n > 0 and stored == def and not (leased or tick or is_mixed)
    and not (body and priority and many == 1 and not string.find(flags, 'e', 1, true)) then
    local beside = redis.call('ZRANGE', prepare, '0', many)
    local answered = many == 1 and beside[1] == ARGV[ANSWERS] and ARGV[ANSWERS]
    local is_alone = beside[answered and 2 or 1] == ''
    local head
    if is_alone and priority then
        head = redis.call('ZRANGE', store, '0', '1', 'REV', 'WITHSCORES')
    elseif is_alone then
        head = redis.call('ZRANGE', store, '0', '1', 'WITHSCORES')
    end
    local score, after = head and head[2], head and head[3] ~= '' and head[4]
    local ready = priority and math.huge or now + 1
    local is_due = head and head[1] ~= '' and tonumber(score) < ready
    local is_one = head and not (is_due and (tonumber(score) % 1 ~= 0
        or (n > 1 or priority) and after and tonumber(after) < ready))
    -- Keyed: what ends with the answer, and what the message that is due has beside it.
    local ended, ended_body, header, text = nil, nil, '', ''
    if is_one and body then
        local nul, letter = string.byte(head[1], 1, 2)
        local is_whole, fields = nul == 0 and (letter == 119 or letter == 101), nil
        ended = answered and not string.find(flags, 'e', 1, true)
            and 'h' .. string.sub(answered, (string.find(answered, ':', 1, true) or 0) + 1)
        if ended or is_due and not is_whole then
            fields = redis.call('HMGET', body, ended or '', is_due and 'h' .. head[1] or '')
        end
        ended = ended and fields[1] and ended
        if ended then
            local cut, _, is_shared = read_header(fields[1])
            is_one, ended_body = not is_shared, not cut and 'b' .. string.sub(ended, 2)
        end
        if is_due and is_whole then
            is_one = is_one and letter == 119
        elseif is_due and is_one and fields[2] then
            local cut, expiry, _ = read_header(fields[2])
            header, text = fields[2], cut and string.sub(fields[2], cut + 1)
            header = cut and string.sub(header, 1, cut - 1) or header
            text = text or redis.call('HGET', body, 'b' .. head[1])
            is_one = text and not (expiry and expiry <= now)
        elseif is_due then
            is_one = false
        end
    end
    if is_one then
        if ended then
            redis.call('HDEL', body, '-') -- a try
        end
        local removed = many == 1 and redis.call('ZREM', prepare, ARGV[ANSWERS])
        if ended then
            redis.call('HDEL', body, ended, ended_body or '-')
        end
        local done = removed == 1 and string.format('%d', (done_so_far or 0) + 1)
        removed = removed and (done and '1' or '0') or ''
        if is_due then
            local lease_end = string.format('%d', now + tonumber(lease_ms))
            local entry = score .. string.format('c%d:', claims + 1) .. head[1]
            if parked then
                redis.call('HDEL', slot, 'parked')
            end
            if done then
                redis.call('HSET', slot, 'claims', claims + 1, 'claimed_until', lease_end, 'done',
                    done)
            else
                redis.call('HSET', slot, 'claims', claims + 1, 'claimed_until', lease_end)
            end
            redis.call('ZADD', prepare, lease_end, entry)
            local gone = priority and redis.pcall('ZREMRANGEBYRANK', store, '-1', '-1')
                or redis.pcall('ZREMRANGEBYRANK', store, '0', '0')
            if type(gone) == 'table' then
-- @include unclaim
                unclaim({ lease_end, entry }, 1, gone)
            end
            local due, attempts = split(after or NEVER)
            due = math.min(tonumber(lease_end), attempts % 2 == 0 and due or NEVER)
            if body then
                return {
                    'OK', now, due, claims + 1, removed, due <= now and 1 or 0, entry, 0, header,
                    text
                }
            end
            return { 'OK', now, due, claims + 1, removed, due <= now and 1 or 0, entry, 0 }
        end
        local due = head[1] ~= '' and split(score) or NEVER
        local asleep = open == '1' and string.format('%d/%s', due, lease_ms) or due
        if done then
            redis.call('HSET', slot, 'done', done, 'parked', asleep)
        else
            redis.call('HSET', slot, 'parked', asleep)
        end
        return { 'OK', now, due < NEVER and due or '', claims, removed, 0 }
    end
end

-- 3. Read more.

-- What comes first in prepare, but for one answer: when its lease ends (nil: nothing is claimed),
-- when the first rests or is scheduled no longer (nil: none does), and whether something is to be
-- brought back, or a suspect is in flight.
base, oldest = tonumber(base), shared and 0 or tonumber(oldest)
local function look(prepare, answer, now, base, oldest, priority)
    local head = redis.call('ZRANGE', prepare, '0', answer and '1' or '0', 'WITHSCORES')
    local at = answer and head[1] == answer and 3 or 1
    if not head[at] or head[at] == '' then
        return nil, nil, false
    end
    local ends, attempts = split(head[at + 1])
    local rest_end = ends >= REST and ends
    if not rest_end then
        local resting = redis.call('ZRANGE', prepare, REST, '(inf', 'BYSCORE', 'LIMIT', '0', '1',
            'WITHSCORES')
        rest_end = resting[1] and split(resting[2])
    end
    if rest_end and rest_end >= SCHEDULE then -- none rests, but one is scheduled
        rest_end = rest_end - SCHEDULE
    elseif rest_end then
        local scheduled = priority and redis.call('ZRANGE', prepare, SCHEDULE, '(inf', 'BYSCORE',
            'LIMIT', '0', '1', 'WITHSCORES') or {}
        rest_end = math.min(rest_end - REST,
            scheduled[1] and split(scheduled[2]) - SCHEDULE or math.huge)
    end
    if ends >= REST then
        return nil, rest_end, rest_end <= now
    end
    local claim = tonumber(string.match(head[at], '^%-?%d+c(%d+):') or base)
    return ends, rest_end, ends <= now or attempts % 2 == 1 or rest_end and rest_end <= now
        or claim > base and claim < oldest
end

local lease, rest_end, is_unfit
local has_rested = flags ~= '-' and string.find(flags, 't', 1, true)
local looks_later = many > 1 or is_mixed or has_rested
if not looks_later then
    lease, rest_end, is_unfit = look(prepare, many == 1 and ARGV[ANSWERS], now, base, oldest,
        priority)
    if is_unfit then
        return { 'ANY' }
    end
end

-- Of the answers: their results; keyed, what is to be removed of body.  Some of a shared slot may
-- be gone, because their leases have ended, so their scores are read.  Those of an owner exist,
-- unless a failover has lost claims, which the number that ZREM returns shows.  To find out which,
-- all of prepare is read (lib/settle_some.lua), so their scores are read if it holds very much.
local MUCH = 10000
local results, present, ended, scores = '', nil, nil, nil
local has_bodies = body and many > 0 and not string.find(flags, 'e', 1, true)
if shared and (has_bodies or many > 1)
    or has_bodies and redis.call('ZCARD', prepare) > MUCH then
    present, scores = {}, redis.call('ZMSCORE', prepare, unpack(ARGV, ANSWERS, upto))
end
if has_bodies or present then
    local fields, seen, found = {}, {}, {}
    ended = {}
    for i = ANSWERS, upto do
        local entry, is_there = ARGV[i], not scores or scores[i - ANSWERS + 1]
        local it = entry
        if has_bodies then
            local at = (string.find(entry, ':', 1, true) or 0) + 1
            local nul, letter = string.byte(entry, at, at + 1)
            if nul ~= 0 or letter ~= 119 and letter ~= 101 then
                it = 'h' .. string.sub(entry, at)
                fields[#fields + 1] = is_there and it or nil
            end
        end
        if seen[it] or entry == '' then
            return { 'ANY' } -- two answers of one message, or none
        end
        seen[it], found[i - ANSWERS + 1] = true, is_there and '1' or '0'
        if is_there and present then
            present[#present + 1] = entry
        end
    end
    for i, header in ipairs(#fields > 0 and redis.call('HMGET', body, unpack(fields)) or {}) do
        local cut, _, is_shared
        if header then
            cut, _, is_shared = read_header(header)
        end
        if is_shared then
            return { 'ANY' }
        elseif cut then
            ended[#ended + 1] = fields[i]
        elseif header then
            ended[#ended + 1], ended[#ended + 2] = fields[i], 'b' .. string.sub(fields[i], 2)
        end
    end
    results = present and table.concat(found) or ''
end
for i = ANSWERS, has_bodies and 0 or upto do
    if ARGV[i] == '' then
        return { 'ANY' }
    end
end

-- Answers of other kinds, and what has rested.  Few calls have these, so few make these functions.
-- If a call turns out not to be ordinary after what has rested waits again, give_up() undoes that.
local others, give_up
if is_mixed or has_rested then
    local function know_retries()
-- @include entry
-- @include first
-- @include look_again
-- @include reason
-- @include settle_retried
-- @include rested
        local seen, rested = {}, nil
        for i = ANSWERS, is_mixed and upto or 0 do
            seen[ARGV[i]] = true
        end
        if is_mixed then
            ended = ended or {}
            others = retried_read(upto + 1, seen, ended)
        end
        if (others or not is_mixed) and has_rested then
            rested = rested_return(max_bytes)
        end
        return (others or not is_mixed) and (rested or not has_rested) and function()
            if rested then
                rested_undo(rested)
            end
            return { 'ANY' }
        end
    end
    give_up = know_retries()
    if not give_up then
        return { 'ANY' }
    end
end

-- Has a whole message expired?  Its ttl counts from its place.
local function has_expired(place, member)
    return place + string.match(member, '^%ze[%d/]*,(%d+)') <= now
end

-- Those that wait, by their ranks: with their scores, or (width 1) without.
local function ranked(from, to, width)
    if width == 1 then
        return priority and redis.call('ZRANGE', store, from, to, 'REV')
            or redis.call('ZRANGE', store, from, to)
    end
    return priority and redis.call('ZRANGE', store, from, to, 'REV', 'WITHSCORES')
        or redis.call('ZRANGE', store, from, to, 'WITHSCORES')
end

-- The first that wait, up to n, as { fresh, entry, fresh, entry, ... }, how many, and the score of
-- the next one (nil: none).  nil: one was tried before.  Puts them into the reply, or keyed their
-- fields into `headers` (false: whole), with the first one that does not fit, because that may have
-- expired.  It reads a few, then more, as many as fit by the sizes seen.  Scores are expensive to
-- read: where some have the same one, it counts them and reads the members alone.
local function meet(ready, reply, headers, fresh, mark)
    local count, bytes, upto, moved, width = 0, 0, math.min(n, 3), nil, 2
    local least, score, number, attempts, lease, prefix, begun, last_alike = headers and 1 or 0, nil
    while true do
        local part = ranked(count, upto, width)
        moved = moved or part
        if #part == 0 then
            return moved, count, nil
        end
        for i = 1, #part, width do
            local member = part[i]
            if member == '' then
                return moved, count, nil
            elseif width == 2 and part[i + 1] ~= score then
                score, begun, last_alike = part[i + 1], count, nil
                number, prefix, attempts, lease = tonumber(score), nil, 0, fresh
                if number % 1 ~= 0 then
                    attempts, number = number % 1 * 128, math.floor(number)
                    prefix = string.format('%.0f', number) .. mark
                    lease = string.format('%.17g', fresh + attempts / 128)
                end
            end
            bytes = bytes + #member
            if count == n or number >= ready
                or bytes - least * #member > max_bytes and count > least then
                return moved, count, score
            elseif attempts % 2 == 1 then
                return nil
            end
            local at, entry = 2 * count, prefix and prefix .. member or score .. mark .. member
            moved[at + 1], moved[at + 2] = lease, entry
            count = count + 1
            if headers then
                local nul, letter = string.byte(member, 1, 2)
                if nul ~= 0 or letter ~= 119 and letter ~= 101 then
                    headers[count], headers.beside = 'h' .. member, true
                    headers[-count] = attempts > 0 and attempts or nil
                elseif letter == 101 and has_expired(number, member) then
                    return nil
                elseif bytes > max_bytes and count > 1 then
                    return moved, count - 1, score
                else
                    at, headers[count] = 2 * at, false
                    reply[at + 7], reply[at + 8] = entry, attempts
                    reply[at + 9], reply[at + 10] = '', ''
                end
            else
                reply[at + 7], reply[at + 8] = entry, attempts
            end
        end
        local fit = math.floor(math.max(max_bytes - bytes, 0) * count / bytes)
        upto, width = math.min(n, count + fit, 5 * count), 2
        if not last_alike and count - begun > 2 then
            last_alike = begun + redis.call('ZCOUNT', store, score, score) - 1
        end
        if last_alike and last_alike >= count then
            upto, width, prefix = math.min(upto, last_alike), 1, prefix or score .. mark
        end
    end
end

local reply = { 'OK', now, '', claims, '', 0 }
local headers = body and {} or nil
local fresh = string.format('%d', now + tonumber(lease_ms))
local moved, count, head = meet(priority and math.huge or now + 1, reply, headers, fresh,
    string.format('c%d:', claims + 1))
if not moved then
    return give_up and give_up() or { 'ANY' }
end

-- Keyed: their headers, and as many bodies as fit, if they are not all whole.  A body that stands
-- behind its header (lib/body.lua) is read with it.
if body and headers.beside then
    local fields, bodies, places, bytes, from, had = {}, {}, {}, 0, 0, 0
    for i = 1, count do
        fields[#fields + 1] = headers[i] or nil
    end
    fields = fields[1] and redis.call('HMGET', body, unpack(fields)) or fields
    for i = 1, count do
        local at, entry = 4 * i, moved[2 * i]
        local size = #entry - string.find(entry, ':', 1, true)
        had = #bodies
        if headers[i] then
            from = from + 1
            local header, text, cut, expiry, _ = fields[from], '', nil, nil, nil
            if header then
                cut, expiry, _ = read_header(header)
            end
            if not header or expiry and expiry <= now then
                return give_up and give_up() or { 'ANY' }
            elseif cut then
                header, text = string.sub(header, 1, cut - 1), string.sub(header, cut + 1)
                size = size + #text
            else
                local field = 'b' .. string.sub(headers[i], 2)
                size = size + redis.call('HSTRLEN', body, field)
                bodies[had + 1], places[had + 1] = field, at + 6
            end
            reply[at + 3], reply[at + 4] = entry, headers[-i] or 0
            reply[at + 5], reply[at + 6] = header, text
        end
        bytes = bytes + size
        if i > 1 and bytes > max_bytes then
            for left = #reply, at + 3, -1 do
                reply[left] = nil
            end
            bodies[had + 1] = nil
            count, head = i - 1, string.match(entry, '^%-?%d+')
            break
        end
    end
    for i, text in ipairs(bodies[1] and redis.call('HMGET', body, unpack(bodies)) or bodies) do
        if not text then
            return give_up and give_up() or { 'ANY' }
        end
        reply[places[i]] = text
    end
end

-- 4. Write: the answers.

if stored ~= def then -- newer than what the slot has: it keeps it
    redis.call('HSET', slot, 'def', def)
end
local done_now
if many > 0 or others then
    local removed, gone = 0, 0
    if not scores and ended and #ended > 0 then
        redis.call('HDEL', body, '-') -- a try: the scores of the answers are not known
    end
    if others then
        others:write()
    end
    if many > 0 and not present then
        removed = redis.call('ZREM', prepare, unpack(ARGV, ANSWERS, upto))
        gone = many - removed
        results = string.rep(removed == many and '1' or removed == 0 and '0' or 'u', many)
    elseif many > 0 and #present > 0 then
        removed = redis.call('ZREM', prepare, unpack(present))
    end
    local removed_others = others and others:remove() or 0
    if gone > 0 and has_bodies then
        local function settle_known()
-- @include settle_some
            return settle_some(ANSWERS, upto, removed, ended)
        end
        ended, results = settle_known()
    end
    if others then
        removed, results = removed + removed_others, results .. others.results
    end
    local dropped = ended and #ended > 0 and redis.pcall('HDEL', body, unpack(ended))
    if type(dropped) == 'table' then
-- @include unsettle
        unsettle(scores or {}, ANSWERS, dropped, others and others.claims)
    end
    if others then
        others:finish()
    end
    if removed > 0 then
        done_now = string.format('%d', (done_so_far or 0) + removed)
    end
    reply[5] = results
end
if looks_later then
    lease, rest_end, is_unfit = look(prepare, nil, now, base, oldest, priority)
    if is_unfit then
        reply, count, head = { 'OK', now, '', claims, results, 0 }, 0, nil
    end
end

-- 5. Write: the claim.  Before it, that the owner sleeps no longer: if a call ended with a claim
-- while its owner still slept, a send could push a message beside a claim that the owner does not
-- know.

if count > 0 then
    if parked and not shared then
        redis.call('HDEL', slot, 'parked')
    end
    if done_now then
        redis.call('HSET', slot, 'claims', claims + 1, 'claimed_until', fresh, 'done', done_now)
        done_now = nil
    else
        redis.call('HSET', slot, 'claims', claims + 1, 'claimed_until', fresh)
    end
    redis.call('ZADD', prepare, unpack(moved, 1, 2 * count))
    local gone = priority and redis.pcall('ZREMRANGEBYRANK', store, -count, '-1')
        or redis.pcall('ZREMRANGEBYRANK', store, '0', count - 1)
    if type(gone) == 'table' then
-- @include unclaim
        unclaim(moved, count, gone)
    end
    reply[4] = claims + 1
    lease = math.min(lease or NEVER, tonumber(fresh))
end
if leased and leased < now then
    redis.call('HSET', slot, 'leased', string.format('%d', now))
end

-- 6. When the next claim can succeed; the caller sleeps until then if nothing was claimed.

local due = is_unfit and now or math.min(lease or NEVER, rest_end or NEVER)
local head_due, attempts = split(head or NEVER)
if not lease or attempts % 2 == 0 then
    due = math.min(due, head and priority and now or head_due)
end
if tick and shared then -- of one that has come, another caller looks a second later
    due = math.min(due, tonumber(tick) > now and tonumber(tick) or now + 1000)
end
if due < NEVER then
    reply[3], reply[6] = due, due <= now and 1 or 0
end
local asleep
if not shared and n > 0 and count == 0 and due > now then
    asleep = open == '1' and string.format('%d/%s', due, lease_ms) or due
elseif parked and count == 0 and not (open == '1' and n > 0)
    and string.find(parked, '/', 1, true) then
    asleep = string.match(parked, '^%d+')
end
if done_now and asleep then
    redis.call('HSET', slot, 'done', done_now, 'parked', asleep)
elseif done_now then
    redis.call('HSET', slot, 'done', done_now)
elseif asleep then
    redis.call('HSET', slot, 'parked', asleep)
end
if shared and (parked or n > 0 and count == 0) then
    local function park_caller()
-- @include failed
-- @include idle
-- @include park
        park(reply, parked, due, count)
        reply[#reply + 1] = failed
    end
    park_caller()
end
if tick then
    reply[6] = reply[6] .. ' ' .. tick
end
return reply
