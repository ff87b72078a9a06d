#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body]
-- ARGV def, token, kind, wake, n, max_bytes, lease_ms, max_retries, last (shared: -), flags: s skip
--      failed, x expired ones die, r the call is repeated; or -,
--      ndone, entry..., (op, entry, delay, reason)... with op d done with retries used, t retry,
--      x reject, b release, h hung
-- RETURN OK, now, next (ms, or empty: never by itself), claims, results: 1 done, 0 gone, u one of
--        the two, a character an answer, again: 1 more can be had at once, 2 paused,
--        (entry, attempts [, header, body])..., [how many had expired, if any]
--        | FENCED, token | NO_TOPIC | STALE
--
-- In this order: settle answers, bring back rests that are over and claims that lapsed, claim up
-- to n.  If claims were made that the caller does not know (above last: their reply was lost), it
-- gets those again, whatever n is, and no others.  attempts: retries * 2 + suspect.
--
-- Kind f: what rests is not brought back but claimed where it is, alone, and nothing that was sent
-- after it comes before; with skip failed others pass it.

local store, prepare, dead, why, slot, body = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local kind, channel = ARGV[3], ARGV[4]
local n, max_bytes = math.min(tonumber(ARGV[5]), 1000), tonumber(ARGV[6])
local lease_ms, last, flags = tonumber(ARGV[7]), tonumber(ARGV[9]), ARGV[10]
local shared, fifo, priority = ARGV[2] == 'shared', kind == 'f', kind == 'p' or kind == 'b'
local repeated = flags ~= '-' and string.find(flags, 'r', 1, true)

local def, token, base, claims, parked, paused, done =
    unpack(redis.call('HMGET', slot, 'def', 'token', 'base', 'claims', 'parked', 'paused', 'done'))
-- @include def
local refused = def_refused(def, ARGV[1])
if refused then
    return refused
end
-- @include token
-- fence: begin
if token ~= ARGV[2] or token == NOBODY then
    return { 'FENCED', token }
end
-- fence: end
def_keep(def, ARGV[1])
base, claims = tonumber(base), tonumber(claims)

-- @include clock
-- @include entry

local lease_end, NEVER = now + lease_ms, 9007199254740992

-- The end of the first lease (nil: nothing in hand), whether a suspect has it, the end of the first
-- rest (nil: none).
local function look()
    local head = redis.call('ZRANGE', prepare, '0', '0', 'WITHSCORES')
    if not head[1] or head[1] == '' then
        return nil, false, nil
    end
    local lease, attempts = split(head[2])
    if lease >= REST then
        return nil, false, lease - REST
    end
    local resting = redis.call('ZRANGE', prepare, REST, '(inf', 'BYSCORE', 'LIMIT', '0', '1',
        'WITHSCORES')
    return lease, attempts % 2 == 1, resting[1] and split(resting[2]) - REST
end

-- What an owner answers is there, unless the call is repeated or a failover lost writes; so it is
-- removed without a look, and if only a part was there nobody knows which.  Answers how many were;
-- nil: one is no entry, and nothing was removed.
local function remove_own(from, to)
    for i = from, to do
        if ARGV[i] == '' then
            return nil
        end
    end
    return redis.call('ZREM', prepare, unpack(ARGV, from, to))
end

local many = tonumber(ARGV[11])
local answers, removed, settled = 12 + many, nil, ''
if many > 0 and not (shared or body or repeated) then
    removed = remove_own(12, answers - 1)
    settled = string.rep(removed == many and '1' or removed == 0 and '0' or 'u', many)
end

-- 0. Most calls are of an owner who claims what was never tried, inline, while nothing is to be
-- brought back.  They end here, before what they do not need is made.

-- The first that wait, up to n, into the reply: as { fresh, entry, fresh, entry, ... }, how many,
-- and the score of the next one (nil: none).  nil: one was tried before.  It reads a few, then
-- more, as many as fit by the sizes seen.  Scores are dear to read: where some have the same one,
-- Redis is asked how many, and for the members alone.
local function meet(reply, fresh, mark)
    local count, bytes, upto, moved = 0, 0, math.min(n, 3), nil
    local ready, width = (priority or fifo) and math.huge or now + 1, 2
    local score, number, prefix, begun, last_alike, part
    while true do
        if width == 1 then
            part = priority and redis.call('ZRANGE', store, count, upto, 'REV')
                or redis.call('ZRANGE', store, count, upto)
        else
            part = priority and redis.call('ZRANGE', store, count, upto, 'REV', 'WITHSCORES')
                or redis.call('ZRANGE', store, count, upto, 'WITHSCORES')
        end
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
                number, prefix = tonumber(score), nil
            end
            bytes = bytes + #member
            if count == n or number >= ready or bytes > max_bytes and count > 0 then
                return moved, count, score
            elseif number % 1 ~= 0 then
                return nil
            end
            local at, entry = 2 * count, prefix and prefix .. member or score .. mark .. member
            moved[at + 1], moved[at + 2] = fresh, entry
            reply[at + 7], reply[at + 8] = entry, 0
            count = count + 1
        end
        local fit = math.floor(math.max(max_bytes - bytes, 0) * count / bytes)
        upto, width = math.min(n, count + fit, 5 * count), 2
        if not last_alike and count - begun > 2 then
            last_alike = begun + redis.call('ZCOUNT', store, score, score) - 1
        end
        if last_alike and last_alike >= count then
            upto, width, prefix = math.min(upto, last_alike), 1, score .. mark
        end
    end
end

local function ordinary()
    local lease, suspect_in_hand, rest_end = look()
    if lease and lease <= now or suspect_in_hand or rest_end and (fifo or rest_end <= now) then
        return nil
    end
    local reply, changed = { 'OK', now, '', claims, settled, 0 }, {}
    local moved, count, head =
        meet(reply, string.format('%d', lease_end), string.format('c%d:', claims + 1))
    if not moved then
        return nil
    end
    if removed and removed > 0 then
        changed[1], changed[2] = 'done', tonumber(done or 0) + removed
    end
    if count > 0 then
        if priority then
            redis.call('ZREMRANGEBYRANK', store, -count, '-1')
        else
            redis.call('ZREMRANGEBYRANK', store, '0', count - 1)
        end
        redis.call('ZADD', prepare, unpack(moved, 1, 2 * count))
        reply[4] = claims + 1
        changed[#changed + 1], changed[#changed + 2] = 'claims', claims + 1
        lease = math.min(lease or lease_end, lease_end)
    end
    local due = math.min(lease or NEVER, rest_end or NEVER)
    local head_due, attempts = split(head or NEVER)
    if not lease or attempts % 2 == 0 then
        due = math.min(due, head and (priority or fifo) and now or head_due)
    end
    if due < NEVER then
        reply[3], reply[6] = due, due <= now and 1 or 0
    end
    if n > 0 and count == 0 and due > now then
        changed[#changed + 1], changed[#changed + 2] = 'parked', due
    elseif count > 0 and parked then
        redis.call('HDEL', slot, 'parked')
    end
    if changed[1] then
        redis.call('HSET', slot, unpack(changed))
    end
    return reply
end

if not (shared or body or paused or repeated) and answers > #ARGV and (removed or many == 0)
    and last == claims then
    local reply = ordinary()
    if reply then
        return reply
    end
end

local max_retries = tonumber(ARGV[8])
local skip_failed = string.find(flags, 's', 1, true)
local expired_to_dead = string.find(flags, 'x', 1, true)

-- @include first
-- @include count
-- @include body
-- @include give_back
-- @include reason
-- @include bury
-- @include lose
-- @include wake

-- 1. Settle.

local results = {}

local function rest(member, before, claim, attempts, delay)
    redis.call('ZADD', prepare, join(REST + now + delay, attempts),
        before .. 'r' .. claim .. ':' .. member)
end

local settle = {}

-- One with retries used may have a reason; those without stand before all others.
function settle.d(member, before, claim, attempts)
    count('done')
    body_refer(member, -1)
    reason_drop(member, attempts)
end

-- The handler answered, so it is no suspect any more.
function settle.t(member, before, claim, attempts, delay, reason)
    attempts = attempts - attempts % 2
    if attempts >= 2 * limit_of(member) then
        count('rejected')
        bury(member, before, attempts, reason)
        return
    end
    count('retried')
    reason_keep(member, reason)
    if fifo or tonumber(delay) > 0 then
        rest(member, before, claim, attempts + 2, delay)
    else
        give_back(member, before, attempts + 2)
    end
end

function settle.x(member, before, claim, attempts, delay, reason)
    count('rejected')
    bury(member, before, attempts - attempts % 2, reason)
end

-- As if it had never been claimed: a suspect remains one.
function settle.b(member, before, claim, attempts, delay)
    count('released')
    if tonumber(delay) > 0 then
        rest(member, before, claim, attempts, delay)
    else
        give_back(member, before, attempts)
    end
end

function settle.h(member, before, claim, attempts)
    lose(member, before, attempts)
end

-- Looks first, then removes in one command: replicas and the log get one instead of hundreds.
local function settle_done(from, to)
    local scores, present = redis.call('ZMSCORE', prepare, unpack(ARGV, from, to)), {}
    for i = from, to do
        local there = scores[i - from + 1] and ARGV[i] ~= ''
        if there then
            present[#present + 1] = ARGV[i]
        end
        results[#results + 1] = there and 1 or 0
    end
    if #present > 0 then
        count('done', redis.call('ZREM', prepare, unpack(present)))
    end
    if body and #present > 0 then
        local members, seen = {}, {}
        for _, entry in ipairs(present) do
            if not seen[entry] then
                seen[entry] = true
                local _, _, _, member = decode(entry)
                members[#members + 1] = member
            end
        end
        body_drop(members)
    end
end

if removed then
    count('done', removed)
    results[1] = settled
elseif many > 0 then
    settle_done(12, answers - 1)
end
for i = answers, #ARGV, 4 do
    local before, letter, claim, member = decode(ARGV[i + 1])
    local score = letter == 'c' and redis.call('ZSCORE', prepare, ARGV[i + 1])
    if score then
        local _, attempts = split(score)
        redis.call('ZREM', prepare, ARGV[i + 1])
        settle[ARGV[i]](member, before, claim, attempts, ARGV[i + 2], ARGV[i + 3])
    end
    results[#results + 1] = score and 1 or 0
end

-- 2. Bring back.  What its own owner meets lapsed stays in hand.

local function renew(entry, score)
    local _, attempts = split(score)
    redis.call('ZADD', prepare, 'XX', join(lease_end, attempts), entry)
end

-- Does so for all entries whose time is over, from a score on.  true: there may be more.
local function sweep(from, act)
    local over, cut = first(prepare, from, before_score(from + now + 1), 1000, max_bytes)
    for i = 1, #over, 2 do
        act(over[i], over[i + 1])
    end
    return cut
end

local function lapsed(entry, score)
    local before, _, claim, member = decode(entry)
    if not shared and tonumber(claim) > base then
        renew(entry, score)
    else
        local _, attempts = split(score)
        redis.call('ZREM', prepare, entry)
        lose(member, before, attempts)
    end
end

local function rested(entry, score)
    local before, _, _, member = decode(entry)
    local _, attempts = split(score)
    redis.call('ZREM', prepare, entry)
    give_back(member, before, attempts)
end

local more = false
local lease, suspect_in_hand, rest_end = look()
local brings_back = rest_end and rest_end <= now and not fifo
if lease and lease <= now then
    more = sweep(0, lapsed)
end
if brings_back then
    more = sweep(REST, rested) or more
end
if lease and lease <= now or brings_back then
    lease, suspect_in_hand, rest_end = look()
end

-- 3. Claim.  A suspect is claimed alone, and nothing while one is in hand.

local reply = { 'OK', now, '', claims, table.concat(results), 0 }
local taken, moved = 0, {}
local met, bytes_met = 0, 0 -- by this claim, with what is not to be handled any more

local function deliver(entry, attempts, header, bytes)
    local at = #reply
    reply[at + 1], reply[at + 2] = entry, attempts
    if body then
        reply[at + 3], reply[at + 4] = header, bytes
    end
end

-- Keyed: what stands beside the member.
local function beside(member)
    return unpack(redis.call('HMGET', body, 'h' .. member, 'b' .. member))
end

local function has_expired(header)
    local _, _, expiry = header_split(header)
    return expiry and expiry <= now
end

-- May it be met as well?  The first always.
local function fits(member)
    bytes_met = bytes_met + #member + (body and redis.call('HSTRLEN', body, 'b' .. member) or 0)
    if met > 0 and bytes_met > max_bytes then
        return false
    end
    met = met + 1
    return true
end

local function expire(member, before, attempts)
    count('expired')
    if expired_to_dead then
        bury(member, before, attempts, 'expired')
    else
        body_refer(member, -1)
        reason_drop(member, attempts)
    end
end

-- Claims a message, unless it must not be handled: its time to live is over, or somebody removed
-- its body.
local function take(mark, member, before, score, attempts)
    local header, bytes
    if body then
        header, bytes = beside(member)
        if not header or not bytes then
            bury(member, before, attempts, 'its body is missing')
            return
        elseif has_expired(header) then
            expire(member, before, attempts)
            return
        end
    end
    local entry = before .. mark .. member
    moved[2 * taken + 1], moved[2 * taken + 2] = score, entry
    taken = taken + 1
    deliver(entry, attempts, header, bytes)
    lease = math.min(lease or lease_end, lease_end)
    suspect_in_hand = attempts % 2 == 1
end

local function by_place(a, b)
    return a.place < b.place
end

-- Among equals, those with the larger bytes first.
local function by_priority(a, b)
    return a.place > b.place or a.place == b.place and a.at > b.at
end

-- Claims above a number, in the order in which they were claimed.
local function above(last)
    local all = redis.call('ZRANGE', prepare, 0, before_score(REST), 'BYSCORE', 'WITHSCORES')
    local found = {}
    for i = 1, #all, 2 do
        local before, _, claim, member = decode(all[i])
        if tonumber(claim) > last then
            found[#found + 1] = {
                entry = all[i], score = all[i + 1], before = before, place = tonumber(before),
                member = member, at = i
            }
        end
    end
    if fifo or priority then
        table.sort(found, fifo and by_place or by_priority)
    end
    return found
end

-- Hands claims over again, whatever has become of them since: one whose time to live is over, and
-- larger bodies of later sends, too.  Nothing may be dropped or given back here, for this call may
-- come late, and what it meets be in hand.
local function deliver_above(last)
    for _, it in ipairs(above(last)) do
        local _, attempts = split(it.score)
        local header, bytes
        if body then
            header, bytes = beside(it.member)
        end
        if body and not (header and bytes) then
            redis.call('ZREM', prepare, it.entry)
            bury(it.member, it.before, attempts, 'its body is missing')
        else
            renew(it.entry, it.score)
            deliver(it.entry, attempts, header, bytes)
        end
    end
end

-- Kind f: what rests, the first sent first; with skip failed only what may come again.
local function resting()
    local to, found = skip_failed and before_score(REST + now + 1) or '(inf', {}
    local all = redis.call('ZRANGE', prepare, REST, to, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES')
    for i = 1, #all, 2 do
        local before, _, _, member = decode(all[i])
        local over, attempts = split(all[i + 1])
        found[#found + 1] = {
            entry = all[i], before = before, place = tonumber(before), member = member,
            over = over - REST, attempts = attempts
        }
    end
    table.sort(found, by_place)
    return found
end

-- Kind f: the place of the first that waits.
local function first_waiting()
    local head = redis.call('ZRANGE', store, 0, 0, 'WITHSCORES')
    return head[1] ~= '' and split(head[2]) or NEVER
end

-- Claims what rests where it is.  Up to which place may what waits be claimed too?
local function claim_rested(mark)
    local waits = first_waiting()
    for _, it in ipairs(resting()) do
        local held_up = it.over > now or it.attempts % 2 == 1 and lease
        if not skip_failed and waits < it.place then
            return it.before
        elseif held_up or taken == n or suspect_in_hand or not fits(it.member) then
            held_up = true
        else
            redis.call('ZREM', prepare, it.entry)
            take(mark, it.member, it.before, join(lease_end, it.attempts), it.attempts)
            held_up = taken > 0
        end
        if held_up and not skip_failed then
            return nil
        end
    end
    return not suspect_in_hand and 'inf' or nil
end

local function waiting(up_to)
    if priority then
        return first(store, '+inf', '(-inf', n, max_bytes, true)
    elseif fifo then
        return first(store, '-inf', '(' .. up_to, n - taken, max_bytes)
    end
    return first(store, '-inf', before_score(now + 1), n, max_bytes)
end

local function claim_waiting(mark, up_to)
    local found, ranks, fresh = waiting(up_to), 0, join(lease_end, 0)
    for i = 1, #found, 2 do
        local member, before, attempts, score = found[i], found[i + 1], 0, fresh
        if string.find(before, '[.e]') then
            before, attempts = split(before)
            before, score = string.format('%.0f', before), join(lease_end, attempts)
        end
        if attempts % 2 == 1 and lease or not fits(member) then
            break
        end
        ranks = ranks + 1
        take(mark, member, before, score, attempts)
        if suspect_in_hand then
            break
        end
    end
    if ranks > 0 and priority then
        redis.call('ZREMRANGEBYRANK', store, -ranks, -1)
    elseif ranks > 0 then
        redis.call('ZREMRANGEBYRANK', store, 0, ranks - 1)
    end
end

local function claim()
    local mark = string.format('c%.0f:', claims + 1)
    local up_to = 'inf'
    if fifo and rest_end then
        up_to = claim_rested(mark)
    end
    if up_to then
        claim_waiting(mark, up_to)
    end
    if taken > 0 then
        claims = claims + 1
        redis.call('HSET', slot, 'claims', claims)
        redis.call('ZADD', prepare, unpack(moved))
    end
end

local lost = not shared and last < claims
if lost then
    deliver_above(math.max(last, base))
elseif n > 0 and not suspect_in_hand and not paused then
    -- After a failover that lost writes Redis may know less than the owner.
    claims = math.max(claims, last or 0)
    claim()
end
count_save()

-- 4. Say when the next claim can succeed, and sleep until then if nothing came.

-- Kind f: the end of a rest after which something could be claimed; must what waits wait for it?
local function next_rested()
    local soonest, waits = NEVER, first_waiting()
    for _, it in ipairs(resting()) do
        local over = (suspect_in_hand or it.attempts % 2 == 1 and lease) and NEVER or it.over
        if not skip_failed then
            return waits < it.place and NEVER or over, waits > it.place
        end
        soonest = math.min(soonest, over)
    end
    local later = redis.call('ZRANGE', prepare, REST + now + 1, '(inf', 'BYSCORE', 'LIMIT', 0, 1,
        'WITHSCORES')
    if later[1] and not suspect_in_hand then
        soonest = math.min(soonest, split(later[2]) - REST)
    end
    return soonest, false
end

local function next_claim()
    local earliest, blocked = math.min(lease or NEVER, rest_end or NEVER), suspect_in_hand
    if fifo and rest_end then
        local soonest, rests = next_rested()
        earliest, blocked = math.min(lease or NEVER, soonest), blocked or rests
    end
    local rank = priority and -1 or 0
    local head = redis.call('ZRANGE', store, rank, rank, 'WITHSCORES')
    if not head[1] or head[1] == '' or blocked then
        return earliest
    end
    local due, attempts = split(head[2])
    if lease and attempts % 2 == 1 then
        return earliest
    end
    return math.min(earliest, (priority or fifo) and now or due)
end

local due = next_claim()
reply[3] = due < NEVER and not paused and due or ''
reply[4] = claims
reply[6] = paused and 2 or (more or lost or due <= now) and 1 or 0
reply[#reply + 1] = counted.expired

if n > 0 and taken == 0 and paused then
    redis.call('HSET', slot, 'parked', 0)
elseif n > 0 and taken == 0 and reply[6] == 0 then
    -- Shared: until the last of the sleepers' times, so that a send wakes them all.
    redis.call('HSET', slot, 'parked', shared and math.max(due, tonumber(parked or 0)) or due)
elseif shared and not paused then
    wake(parked, due)
elseif taken > 0 and parked then
    redis.call('HDEL', slot, 'parked')
end
return reply
