#!lua flags=allow-oom
-- KEYS store, prepare, dead, why, slot, [body], [done]
-- ARGV def, token, kind, channel, n, max_bytes, lease_ms, max_retries, dedup_ms (0: none), last,
--      oldest, open (0 or 1), pushed (ms; 0: none), passes, flags, ndone, answers...
-- RETURN OK, now, next (ms, or empty: never by itself), claims (of a shared slot, to a caller that
--        sleeps from now on: how many sleep), results (one character per answer: 1 done, 0 gone, u
--        one of the two), again (1 more is claimable now, 2 paused, 3 another one looks before:
--        lib/park.lua; behind a blank, if the slot has schedules and is not paused, when the first
--        of them is due),
--        (entry, attempts [, header, body])..., [how many had expired, if any], [failed]
--        | FENCED, token | NO_TOPIC | STALE
--
-- last: the number of the newest claim that the caller knows.  When it knows a part of the next,
-- too, up to a message: last,attempts,entry.  Shared: the name of the caller, w and hex digits
-- oldest: the number of the oldest claim of which the caller has a message in flight, or behind all
-- that it knows.  Shared: -
-- open: while this call leaves its caller parked, a send may claim for it: a push (send).
-- Any other call that leaves it parked ends that, so a call with n = 0 knows of the last push.
-- pushed: the time in the newest push that the caller has got.  Shared: 0
-- passes: the keys whose messages are not to be claimed, each as LEN:KEY; or -
-- flags: s skip failed, x expired ones die, r the call is repeated, w what the former owner has
--        claimed keeps its keys (strict takeover), e the answers that are done are all of whole
--        messages (lib/whole.lua), t the caller knows that rests may have ended; or -
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
max_retries, dedup_ms = tonumber(max_retries), tonumber(dedup_ms)

-- What the caller wants.  may_pass: may the next call pass over a suspect and claim what is behind
-- that?  A call without room passes over nothing itself.
local call = {
    n = n, max_bytes = max_bytes, most = MOST, open = open == '1',
    passes = n > 0 and passes or '-', may_pass = passes ~= '-', shared = token == 'shared',
    fifo = kind == 'f', priority = kind == 'p' or kind == 'b',
    expired_to_dead = string.find(flags, 'x', 1, true)
}
passes = call.passes

local stored, current, base, claims, parked, paused, tick =
    unpack(redis.call('HMGET', slot, 'def', 'token', 'base', 'claims', 'parked', 'paused', 'tick'))
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
if stored ~= def then -- newer than what the slot has: it keeps it
    redis.call('HSET', slot, 'def', def)
end

-- What is known of the slot; in `lease` to `is_forgotten` what prepare shows (look()).
--   former         when the last lease of the former owner ends, and `formers` the keys that it
--                  keeps until then; is_kept: it keeps all of the slot
--   lost           the owner does not know the newest claim
--   claimed_until  when the leases of that end, if it is lost or a push that the owner did not get
local state = {
    base = tonumber(base), oldest = tonumber(oldest), claims = tonumber(claims),
    formers = {}, is_kept = false
}
-- Where others wait for the leases of claims: what the clock showed when one was given last
-- (lib/step_back.lua).
local leased
if call.shared or flags ~= '-' and string.find(flags, 'w', 1, true) then
    state.former, leased = unpack(redis.call('HMGET', slot, 'former', 'leased'))
    leased = tonumber(leased or 0)
end
-- The time of a push since the owner has called.
local push_at = parked and string.byte(parked) == 45 and string.match(parked, '%d+')

-- @include clock
-- @include score
-- @include entry
-- @include first
-- @include count
-- @include whole
-- @include body
-- @include failed
call.lease_end = now + tonumber(lease_ms)
call.holding = call.fifo and not string.find(flags, 's', 1, true) -- a failed message holds its key

-- What moves messages, and ends them.  Few calls do that, so few make these functions.
local moves
local function need_moves()
    if moves then
        return
    end
-- @include try
-- @include look_again
-- @include give_back
-- @include reason
-- @include bury
-- @include lose
    moves = {
        try = try_moves, give_back = give_back, history_keep = history_keep,
        reason_drop = reason_drop, bury_all = bury_all, bury = bury, limit_of = limit_of,
        lose = lose
    }
end

-- Reads what prepare shows:
--   lease         when the first lease ends (nil: nothing is in flight)
--   has_suspect   is that the claim of a suspect?
--   rest_end      when the first rests or is scheduled no longer (nil: none does)
--   is_forgotten  the owner has answered that claim, but a failover has lost the answer
local function look()
    local function first_score(from)
        local found = redis.call('ZRANGE', prepare, from, '(inf', 'BYSCORE', 'LIMIT', '0', '1',
            'WITHSCORES')
        return found[1] and split(found[2])
    end
    local function first_end()
        local score = first_score(REST)
        if not score then
            return nil
        elseif score >= SCHEDULE then -- none rests
            return score - SCHEDULE
        end
        local scheduled = call.priority and first_score(SCHEDULE)
        return math.min(score - REST, scheduled and scheduled - SCHEDULE or math.huge)
    end

    state.lease, state.has_suspect, state.rest_end, state.is_forgotten = nil, false, nil, false
    local head = redis.call('ZRANGE', prepare, '0', '0', 'WITHSCORES')
    if not head[1] or head[1] == '' then
        return
    end
    local lease, attempts = split(head[2])
    state.rest_end = first_end()
    if lease >= REST then
        return
    end
    local claim = not call.shared and tonumber(string.match(head[1], '^%-?%d+c(%d+):'))
    state.lease, state.has_suspect = lease, attempts % 2 == 1
    state.is_forgotten = claim and claim > state.base and claim < state.oldest
end

-- 1. Settle.
--
-- What few calls need is a function that is made where it is called: its names are its own, and
-- other calls do not make it.

-- @include remember
local results = {}

-- Answers that are done.  The entries that an owner answers exist, unless the call is repeated or a
-- failover lost writes.  So they are removed without reading them, and if only some existed it is
-- unknown which.  But not if the name of one is empty.
local function settle_first(many)
    local others = ANSWERS + many
    local unread = not (call.shared or string.find(flags, 'r', 1, true))
        and (not body or dedup_ms == 0)
    unread = unread and (not body or string.find(flags, 'e', 1, true))
    for i = ANSWERS, unread and others - 1 or 0 do
        unread = unread and ARGV[i] ~= ''
    end
    if unread then
        local removed = redis.call('ZREM', prepare, unpack(ARGV, ANSWERS, others - 1))
        if removed > 0 then
            count('done', removed)
        end
        results[1] = string.rep(removed == many and '1' or removed == 0 and '0' or 'u', many)
    else
-- @include settle_done
        local scores, dropped = settle_done(ANSWERS, others - 1, results)
        if type(dropped) == 'table' then
-- @include unsettle
            unsettle(scores, ANSWERS, dropped)
        end
    end
end

local function settle_answers(many)
    if many > 0 then
        settle_first(many)
    end
    if ANSWERS + many <= #ARGV then
        need_moves()
-- @include settle
        settle_others(ANSWERS + many, results)
    end
end

if ANSWERS <= #ARGV then
    settle_answers(tonumber(ndone))
end
local reply = { 'OK', now, '', state.claims, table.concat(results), 0 }

-- 2. Bring back.

local known, position = tonumber(last), nil
if not call.shared and not known then
    local attempts, entry
    known, attempts, entry = string.match(last, '^(%d+),(%d+),(.*)$')
    known, position = tonumber(known), { attempts = tonumber(attempts), entry = entry }
end
state.lost = not call.shared and known < state.claims
-- The owner knows the number of the push, but not the push.
local strange = not state.lost and push_at and push_at ~= pushed
if leased and leased > now then
-- @include step_back
    step_back(leased)
elseif leased and leased < now then
    redis.call('HSET', slot, 'leased', string.format('%.0f', now))
end
if state.lost or strange then
    state.claimed_until = tonumber(redis.call('HGET', slot, 'claimed_until') or '')
end

-- After a failover that lost writes Redis may know fewer claims than the owner.
local disputed = false
if strange then
    need_moves()
-- @include disown
    disputed = not disown()
end
if known and known > state.claims then
    state.claims = known
    redis.call('HSET', slot, 'claims', known)
end

local more = false
look()
local lapses = state.lease and state.lease <= now
local ended = state.rest_end and state.rest_end <= now and not call.fifo
if lapses or state.is_forgotten or ended then
    local function move_back()
-- @include hint
-- @include bring_back
        return bring_back(lapses, state.is_forgotten, ended)
    end
    need_moves()
    more = move_back()
    look()
    more = more or state.is_forgotten -- it was not the first before
end

-- 3. Claim.

-- @include deliver

-- What holds back others of their key.
if call.fifo or call.passes ~= '-' or state.former then
    local function know_holds()
-- @include keys
        state.keys = keys_open()
        if state.former then
-- @include former
            former_read()
        end
        if call.holding then
-- @include holds
            state.holds = holds
            holds.read()
            holds.load()
        elseif call.fifo and state.rest_end then
-- @include rests
            state.rests = rests
        end
    end
    know_holds()
    call.may_pass = call.may_pass or next(state.formers) ~= nil
end

-- Writes a claim, of which `ranks` messages are to be removed from the head of the store.
--
-- Order of writes: that the owner sleeps no longer, the number of the claim, what is set aside,
-- the claim, what it was before.  If a call ended with a claim while the owner still slept, a send
-- could push a message beside that claim, which the owner does not know.  A number without a claim
-- is found by the next call, as that of a claim that was answered.
local function claim_write(claimed, ranks)
    if #claimed.rested > 0 then
        redis.call('ZREM', prepare, '-') -- tries: they come last
    end
    if #claimed.gone > 0 then
        redis.call('ZREM', store, '\0')
    end
    if claimed.count > 0 then
        state.claims = state.claims + 1
        if parked and not call.shared then
            redis.call('HDEL', slot, 'parked')
        end
        redis.call('HSET', slot, 'claims', state.claims, 'claimed_until',
            string.format('%.0f', call.lease_end))
    end
    if #claimed.dying > 0 or #claimed.dropped > 0 then
        need_moves()
-- @include set_aside
        end_set_aside(claimed.dying, claimed.dropped)
    end
    if claimed.count > 0 then
        redis.call('ZADD', prepare, unpack(claimed.moved))
    end
    if #claimed.gone > 0 then
        redis.call('ZREM', store, unpack(claimed.gone))
    elseif ranks > 0 then
        local gone = call.priority and redis.pcall('ZREMRANGEBYRANK', store, -ranks, -1)
            or redis.pcall('ZREMRANGEBYRANK', store, 0, ranks - 1)
        if type(gone) == 'table' then
-- @include unclaim
            unclaim(claimed.moved, claimed.count, gone)
        end
    end
    if #claimed.rested > 0 then
        redis.call('ZREM', prepare, unpack(claimed.rested))
    end
end

-- Claims what may be claimed, and returns how many messages; and of a claim that passes over keys
-- what stopped it, and what saves which messages it has looked at.
local function claim_messages()
    local mark, up_to, ranks = string.format('c%.0f:', state.claims + 1), 'inf', 0
    local stopped, save
-- @include claim
    if call.holding then
-- @include claim_by_key
        stopped, up_to = claim_by_key(mark), nil
    elseif state.rests then
-- @include claim_rested
        up_to = claim_rested(mark)
    end
    if up_to and call.passes == '-' and not next(state.formers) then
        ranks = claim_waiting(mark, up_to)
    elseif up_to then
-- @include looked
-- @include pass
        stopped, save = claim_passing(mark, up_to), save_looked
    end
    read_bodies()
    claim_write(claimed, ranks)
    return claimed.count, stopped, save
end

local taken, stopped, save_passed = 0, nil, nil
local part = false
if state.lost then
    local function claim_again()
-- @include bytes
-- @include hand_over
        return hand_over(position)
    end
    need_moves()
    part = claim_again()
elseif n > 0 and not (state.has_suspect or paused or disputed or state.is_kept) then
    taken, stopped, save_passed = claim_messages()
end
count_save()

-- 4. Report when the next claim can succeed; the caller sleeps until then if nothing was claimed.

-- The first message that waits, as far as this claim has not met it; nil: it holds back the others.
local function head_waiting()
    if not stopped then
        local rank = call.priority and '-1' or '0'
        return redis.call('ZRANGE', store, rank, rank, 'WITHSCORES')
    elseif stopped == 'end' and not (call.priority or call.fifo) then
        return redis.call('ZRANGE', store, now + 1, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    end
end

local function next_claim()
    if state.is_kept then
        return state.lease
    elseif call.holding then
        return state.holds.next(stopped)
    end
    local lease, rest_end = state.lease or NEVER, state.rest_end or NEVER
    local earliest = math.min(lease, state.rests and state.rests.next() or rest_end)
    if stopped == 'full' then
        return math.min(earliest, now)
    end
    local head = head_waiting()
    if state.has_suspect or not head or not head[1] or head[1] == '' then
        return earliest
    end
    local due, attempts = split(head[2])
    if state.lease and attempts % 2 == 1 and not call.may_pass then
        return earliest
    end
    return math.min(earliest, (call.priority or call.fifo) and now or due)
end

local due = disputed and now + 1000 or next_claim()
if tick and call.shared and not paused then -- of one that has come, another looks a second later
    due = math.min(due, tonumber(tick) > now and tonumber(tick) or now + 1000)
end
if call.holding then
    state.holds.save()
elseif save_passed then
    save_passed()
end
reply[3] = due < NEVER and not paused and due or ''
reply[4] = part and state.claims - 1 or state.claims
reply[6] = paused and 2 or (more or state.lost or due <= now) and 1 or 0
reply[#reply + 1] = counted.expired

if n > 0 and taken == 0 and paused then
    redis.call('HSET', slot, 'parked', 0)
elseif call.shared and not paused then
    local function park_caller()
-- @include idle
-- @include park
        park(reply, parked, due, taken)
    end
    park_caller()
elseif n > 0 and taken == 0 and reply[6] == 0 and not disputed then
    redis.call('HSET', slot, 'parked', call.open and string.format('%d/%s', due, lease_ms) or due)
elseif parked and taken == 0 and push_at and (state.lost or strange and not disputed) then
    redis.call('HDEL', slot, 'parked')
elseif parked and taken == 0 and not (call.open and n > 0)
    and string.find(parked, '/', 1, true) then
    redis.call('HSET', slot, 'parked', string.match(parked, '^%d+'))
end
if tick and not paused then
    reply[6] = reply[6] .. ' ' .. tick
end
reply[#reply + 1] = failed
return reply
