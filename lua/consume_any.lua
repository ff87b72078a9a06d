#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body], [done]
-- ARGV def, token, kind, channel, n, max_bytes, lease_ms, max_retries, dedup_ms (0: none), last,
--      oldest, open (0 or 1), pushed (ms; 0: none), passes, flags, ndone, answers...
-- RETURN OK, now, next (ms, or empty: never by itself), claims (of a shared slot, to a caller that
--        sleeps from now on: how many sleep), results (one character per answer: 1 done, 0 gone, u
--        one of the two), again (1 more is claimable now, 2 paused, 3 another one looks before:
--        lib/park.lua),
--        (entry, attempts [, header, body])..., [how many had expired, if any], [failed]
--        | FENCED, token | NO_TOPIC | STALE
--
-- last: the number of the newest claim that the caller knows.  When it knows a part of the next,
-- too, up to a message: last,attempts,entry.  Shared: the name of the caller, w and hex digits
-- oldest: the number of the oldest claim of which the caller has a message in flight, or behind all
-- that it knows.  Shared: -
-- open: while this call leaves its caller parked, a send may claim for it: a push (lib/push.lua).
-- Any other call that leaves it parked ends that, so a call with n = 0 knows of the last push.
-- pushed: the time in the newest push that the caller has got.  Shared: 0
-- passes: the keys whose messages are not to be claimed, each as LEN:KEY; or -
-- flags: s skip failed, x expired ones die, r the call is repeated, w what the former owner has
--        claimed keeps its keys (strict takeover); or -
-- answers: ndone entries that are done and have no retries used, then (op, entry, delay, reason)...
-- with op d done with retries used, t retry, x reject, b release, h hung
--
-- In this order it settles answers, brings back rests that have ended and claims that have expired,
-- and claims up to n.  If the caller does not know the newest claim, because its reply was lost, it
-- gets that one again, whatever n is, and no other.  When not all of it fits into one reply, claims
-- is last as before, and the caller names the last message of the reply in its next call.
-- attempts: retries * 2 + suspect.
--
-- Kind f: a message that rests is not brought back but claimed where it is, alone of its key, and
-- nothing of its key that was sent after it is claimed before it, also while a message that failed
-- before is claimed, unless the topic skips failed messages.  Only a push comes beside such a
-- message, and the owner, which has both, keeps their order.
--
-- Order of writes: answers, what is brought back, the claim, each in an order of its own (see the
-- parts), then the counters and who sleeps.  After an error the call is repeated: it finds what was
-- settled gone, and a claim that was made is handed over.
--
-- With w, no message is claimed while the former owner's claim of one of its key lasts.  Nor is
-- anything pushed then.

-- How many messages a call moves in each of its steps: those with bodies cost more.
local MOST = body and 200 or 1000
n, max_bytes = math.min(tonumber(n), MOST), tonumber(max_bytes)
-- May the next call pass over a suspect and claim what is behind that?  A call without room passes
-- over nothing itself.
local may_pass = passes ~= '-'
passes = n > 0 and passes or '-'
local shared, fifo, priority = token == 'shared', kind == 'f', kind == 'p' or kind == 'b'

local stored, current, base, claims, parked, paused =
    unpack(redis.call('HMGET', slot, 'def', 'token', 'base', 'claims', 'parked', 'paused'))
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
-- @include def_keep
claims = tonumber(claims)
-- The end of the last lease of the former owner.  And where others wait for the leases of claims:
-- what the clock showed when one was given last (lib/step_back.lua).
local former, leased
if shared or flags ~= '-' and string.find(flags, 'w', 1, true) then
    former, leased = unpack(redis.call('HMGET', slot, 'former', 'leased'))
    leased = tonumber(leased or 0)
end
open = open == '1'
-- The time of a push since the owner has called.
local push_at = parked and string.byte(parked) == 45 and string.match(parked, '%d+')

-- @include clock
-- @include score

local lease_end, NEVER = now + tonumber(lease_ms), 9007199254740992
base, oldest = tonumber(base), tonumber(oldest)
max_retries, dedup_ms = tonumber(max_retries), tonumber(dedup_ms)
local skip_failed = string.find(flags, 's', 1, true)
local holding = fifo and not skip_failed -- a failed message holds its key
local expired_to_dead = string.find(flags, 'x', 1, true)

-- @include entry
-- @include first
-- @include count
-- @include body
-- @include failed

-- What moves messages, and ends them.  Few calls do that, so few make these functions.
local try_moves, give_back, history_keep, reason_drop, bury_all, bury, limit_of, lose
local LOST, TIMED_OUT
local function need_moves()
    if lose then
        return
    end
    local function make()
-- @include try
-- @include look_again
-- @include give_back
-- @include reason
-- @include bury
-- @include lose
        return try_moves, give_back, history_keep, reason_drop, bury_all, bury, limit_of, lose,
            LOST, TIMED_OUT
    end
    try_moves, give_back, history_keep, reason_drop, bury_all, bury, limit_of, lose, LOST,
        TIMED_OUT = make()
end

-- Of prepare: the end of the first lease (nil: nothing is in flight), whether it is that of a
-- suspect, when the first rests or is scheduled no longer (nil: none does), whether the owner has
-- answered the claim with the first lease, but a failover has lost the answer.
local function look()
    local function first_end()
        local function first(from)
            local found = redis.call('ZRANGE', prepare, from, '(inf', 'BYSCORE', 'LIMIT', '0', '1',
                'WITHSCORES')
            return found[1] and split(found[2])
        end
        local score = first(REST)
        if not score then
            return nil
        elseif score >= SCHEDULE then -- none rests
            return score - SCHEDULE
        end
        local scheduled = priority and first(SCHEDULE)
        return math.min(score - REST, scheduled and scheduled - SCHEDULE or math.huge)
    end

    local head = redis.call('ZRANGE', prepare, '0', '0', 'WITHSCORES')
    if not head[1] or head[1] == '' then
        return nil, false, nil, false
    end
    local lease, attempts = split(head[2])
    if lease >= REST then
        return nil, false, first_end(), false
    end
    local claim = not shared and tonumber(string.match(head[1], '^%-?%d+c(%d+):'))
    return lease, attempts % 2 == 1, first_end(), claim and claim > base and claim < oldest
end

-- 1. Settle.
--
-- What few calls need is a function that is made where it is called: its names are its own, and
-- other calls do not make it.

local results = {}
if ANSWERS <= #ARGV then
    local function settle_answers()
        local many, remember = tonumber(ndone), nil -- without a window nothing is remembered
        local others = ANSWERS + many
        if dedup_ms > 0 then
-- @include remember
        end
        -- The entries that an owner answers exist, unless the call is repeated or a failover lost
        -- writes.  So they are removed without reading them, and if only some existed it is unknown
        -- which.  But not if the name of one is empty.
        local unread = many > 0 and not (shared or body or string.find(flags, 'r', 1, true))
        for i = ANSWERS, unread and others - 1 or 0 do
            unread = unread and ARGV[i] ~= ''
        end
        if unread then
            local removed = redis.call('ZREM', prepare, unpack(ARGV, ANSWERS, others - 1))
            if removed > 0 then
                count('done', removed)
            end
            results[1] = string.rep(removed == many and '1' or removed == 0 and '0' or 'u', many)
        elseif many > 0 then
-- @include settle_done
            local scores, dropped = settle_done(ANSWERS, others - 1)
            if type(dropped) == 'table' then
-- @include unsettle
            end
        end
        if others <= #ARGV then
            need_moves()
-- @include settle
            settle_others(others)
        end
    end
    settle_answers()
end

local reply = { 'OK', now, '', claims, table.concat(results), 0 }

local function deliver(entry, attempts, header, bytes)
    local at = #reply
    reply[at + 1], reply[at + 2] = entry, attempts
    if body then
        reply[at + 3], reply[at + 4] = header, bytes
    end
end

-- Keyed: the fields that are stored for the member.
local function beside(member)
    return unpack(redis.call('HMGET', body, 'h' .. member, 'b' .. member))
end

local function body_size(member)
    return body and redis.call('HSTRLEN', body, 'b' .. member) or 0
end

-- 2. Bring back.

local known, position = tonumber(last), nil
if not shared and not known then
    local attempts, entry
    known, attempts, entry = string.match(last, '^(%d+),(%d+),(.*)$')
    known, position = tonumber(known), { attempts = tonumber(attempts), entry = entry }
end
local lost = not shared and known < claims
-- The owner knows the number of the push, but not the push.
local strange = not lost and push_at and push_at ~= pushed

if leased and leased > now then
-- @include step_back
    step_back(leased)
elseif leased and leased < now then
    redis.call('HSET', slot, 'leased', string.format('%.0f', now))
end
local claimed_until = (lost or strange)
    and tonumber(redis.call('HGET', slot, 'claimed_until') or '')

-- After a failover that lost writes Redis may know fewer claims than the owner.
local disputed = false
if strange then
    need_moves()
-- @include disown
    disputed = not disown()
end
if known and known > claims then
    claims = known
    redis.call('HSET', slot, 'claims', claims)
end

local more = false
local lease, has_suspect, rest_end, forgotten = look()

local lapses = lease and lease <= now
local ended = rest_end and rest_end <= now and not fifo
if lapses or forgotten or ended then
    need_moves()
    local function bring_back()
-- @include hint
-- @include bring_back
        if lapses or forgotten then
            more = sweep(0, forgotten and REST or now + 1, lapsed)
        end
        if ended then
            more = sweep(REST, REST + now + 1, rested) or more
            if priority then
                more = sweep(SCHEDULE, SCHEDULE + now + 1, rested) or more
            end
        end
    end
    bring_back()
    lease, has_suspect, rest_end, forgotten = look()
    more = more or forgotten -- it was not the first before
end

-- 3. Claim.

local function by_place(a, b)
    return a.place < b.place
end

-- What holds back others of their key.
local keys, holds, rests, passed = {}, {}, {}, holding and redis.call('HGET', slot, 'passed')
local formers, kept = {}, false -- the keys that the former owner keeps; does it keep the slot?
if fifo or passes ~= '-' or former then
    local function know_holds()
        if holding or passes ~= '-' or former then
-- @include keys
        end
        if former then
-- @include former
        end
        if holding then
-- @include holds
            holds.read()
            holds.load()
        elseif fifo and rest_end then
-- @include rests
        end
    end
    know_holds()
    may_pass = may_pass or next(formers) ~= nil
end

local taken, stopped, save_passed = 0, nil, nil -- the last two of a claim that passes over keys

local part = false
if lost then
    need_moves()
    local function claim_again()
-- @include bytes
-- @include hand_over
        part = hand_over(position)
    end
    claim_again()
elseif n > 0 and not (has_suspect or paused or disputed or kept) then
    -- Order of writes: that the owner sleeps no longer, the number of the claim, what is set aside,
    -- the claim, what it was before.  If a call ended with a claim while the owner still slept, a
    -- send could push a message beside that claim, which the owner does not know.  A number without
    -- a claim is found by the next call, as that of a claim that was answered.
    local function claim_messages()
        local mark, up_to, ranks, gone = string.format('c%.0f:', claims + 1), 'inf', 0, {}
-- @include claim
        if holding then
-- @include claim_by_key
            stopped, up_to = claim_by_key(mark), nil
        elseif fifo and rest_end then
-- @include claim_rested
            up_to = claim_rested(mark)
        end
        if up_to and passes == '-' and not next(formers) then
            ranks = claim_waiting(mark, up_to)
        elseif up_to then
-- @include looked
-- @include pass
            stopped, save_passed = claim_passing(mark, up_to), save_looked
        end
        read_bodies()
        if #rested_entries > 0 then
            redis.call('ZREM', prepare, '-') -- tries: they come last
        end
        if #gone > 0 then
            redis.call('ZREM', store, '\0')
        end
        if taken > 0 then
            claims = claims + 1
            if parked and not shared then
                redis.call('HDEL', slot, 'parked')
            end
            redis.call('HSET', slot, 'claims', claims, 'claimed_until',
                string.format('%.0f', lease_end))
        end
        if #dying > 0 or #dropped > 0 then
            need_moves()
-- @include set_aside
            end_set_aside()
        end
        if taken > 0 then
            redis.call('ZADD', prepare, unpack(moved))
        end
        if #gone > 0 then
            redis.call('ZREM', store, unpack(gone))
        elseif ranks > 0 then
            local gone = priority and redis.pcall('ZREMRANGEBYRANK', store, -ranks, -1)
                or redis.pcall('ZREMRANGEBYRANK', store, 0, ranks - 1)
            if type(gone) == 'table' then
                local claimed = taken
-- @include unclaim
            end
        end
        if #rested_entries > 0 then
            redis.call('ZREM', prepare, unpack(rested_entries))
        end
    end
    claim_messages()
end
count_save()

-- 4. Report when the next claim can succeed; the caller sleeps until then if nothing was claimed.

local function next_claim()
    if kept then
        return lease
    elseif holding then
        return holds.next(stopped)
    end
    local earliest, blocked = math.min(lease or NEVER, rest_end or NEVER), has_suspect
    if fifo and rest_end then
        earliest = math.min(lease or NEVER, rests.next())
    end
    local rank, head = priority and -1 or 0, nil
    if stopped == 'full' then
        return math.min(earliest, now)
    elseif not stopped then
        head = redis.call('ZRANGE', store, rank, rank, 'WITHSCORES')
    elseif stopped == 'end' and not (priority or fifo) then
        head = redis.call('ZRANGE', store, now + 1, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    end
    if blocked or not head or not head[1] or head[1] == '' then
        return earliest
    end
    local due, attempts = split(head[2])
    if lease and attempts % 2 == 1 and not may_pass then
        return earliest
    end
    return math.min(earliest, (priority or fifo) and now or due)
end

local due = disputed and now + 1000 or next_claim()
if holding then
    holds.save()
elseif save_passed then
    save_passed()
end
reply[3] = due < NEVER and not paused and due or ''
reply[4] = part and claims - 1 or claims
reply[6] = paused and 2 or (more or lost or due <= now) and 1 or 0
reply[#reply + 1] = counted.expired

if n > 0 and taken == 0 and paused then
    redis.call('HSET', slot, 'parked', 0)
elseif shared and not paused then
    local function park_shared()
-- @include idle
-- @include park
    end
    park_shared()
elseif n > 0 and taken == 0 and reply[6] == 0 and not disputed then
    redis.call('HSET', slot, 'parked', open and string.format('%d/%s', due, lease_ms) or due)
elseif parked and taken == 0 and push_at and (lost or strange and not disputed) then
    redis.call('HDEL', slot, 'parked')
elseif parked and taken == 0 and not (open and n > 0) and string.find(parked, '/', 1, true) then
    redis.call('HSET', slot, 'parked', string.match(parked, '^%d+'))
end
reply[#reply + 1] = failed
return reply
