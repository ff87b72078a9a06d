-- USES store, prepare, slot, body, done, channel, kind, parked, token, claims, paused, max_waiting
-- USES leased, dedup_ms, sequence, producer_field, sent, record, timed, seq, MESSAGES, REST, split
-- USES place, now, failed, pushed, SCHEDULE

-- A push: the message of the call is claimed for the owner that sleeps, and published to it.  Where
-- that is not possible, this block is left by a break, and nothing has changed.  It is no function,
-- because creating one that uses all these names costs half a command.  Most pushes end the script
-- here; of the others `pushed` has the fields that the script is to store.

local PUSH_MOST = 4096 -- bytes of the entry, the header and the body

repeat
    local member, when, header, text = ARGV[MESSAGES], ARGV[MESSAGES + 1], '', ''
    local at, seq_after = place(kind, seq, now, when)
    if timed and at > now then
        break
    end
    local sleeps_until, lease_ms = string.match(parked, '^(%d+)/(%d+)$')
    if paused or now >= tonumber(sleeps_until) or leased and now < tonumber(leased) then
        break
    end

    -- Prepare holds nothing but claims with leases that have not ended, none of a suspect, and what
    -- is scheduled and not due.
    if redis.call('ZCARD', prepare) > 1 then
        local lease, attempts = split(redis.call('ZRANGE', prepare, '0', '0', 'WITHSCORES')[2])
        local last = redis.call('ZRANGE', prepare, '-2', '-2', 'WITHSCORES')[2]
        if lease <= now or lease < REST and attempts % 2 == 1
            or tonumber(last) >= REST and redis.call('ZCOUNT', prepare, REST,
                string.format('(%.0f', SCHEDULE + now + 1)) > 0 then
            break
        end
    end

    -- The owner would claim this message first, and it merges with none.
    local waiting = redis.call('ZCARD', store) - 1
    if waiting > 0
        and (not timed or max_waiting > 0 and waiting >= max_waiting
            or redis.call('ZSCORE', store, member)
            or split(redis.call('ZRANGE', store, '0', '0', 'WITHSCORES')[2]) <= now) then
        break
    end

    -- It does not expire at once, nothing is stored beside it already, and it was not done within
    -- the window.
    if body then
        local limit, ttl = ARGV[MESSAGES + 3], tonumber(ARGV[MESSAGES + 4])
        local ended = dedup_ms > 0 and redis.call('ZSCORE', done, member)
        if ttl and ttl <= 0 or redis.call('HEXISTS', body, 'h' .. member) == 1
            or ended and tonumber(ended) > now - dedup_ms then
            break
        end
        header, text = string.format('%d', now), ARGV[MESSAGES + 2]
        if limit ~= '' or ttl then
            header = string.format('%d,%s,%s,1', now, limit,
                ttl and string.format('%d', now + ttl) or '')
        end
    end

    local claim = string.format('%d', claims + 1)
    local entry = string.format('%dc', at) .. claim .. ':' .. member

    -- It is not too long, and it will be heard.  An owner that is still subscribed at the former
    -- master hears what is published here and is not counted.  So nothing is published while no
    -- subscriber is counted.
    local heard = 0
    if #entry + #header + #text <= PUSH_MOST then
        heard = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
        if heard.err then
            failed = { ok = 'PUBSUB ' .. channel .. ' ' .. heard.err }
        end
        heard = heard.err and 0 or heard[2]
    end
    if heard == 0 then
        break
    end

    -- Order of writes: the claim, the body, the slot; published between the last two.  Where that
    -- is not possible, the claim and the body are removed again.
    local lease_end = string.format('%d', now + tonumber(lease_ms))
    local asleep = string.format('-%d', now)
    redis.call('ZADD', prepare, lease_end, entry)
    local kept = body and redis.pcall('HSET', body, 'h' .. member, header, 'b' .. member, text) or 0
    heard = 0
    if type(kept) ~= 'table' and redis.acl_check_cmd('HSET', slot, 'claims', claim) then
        heard = redis.pcall('SPUBLISH', channel, string.format('%s %d %s %d %d\n', token, now,
            lease_ms, #entry, #header) .. entry .. header .. text)
    end
    if not (type(heard) == 'number' and heard > 0) then
        redis.call('ZREM', prepare, entry)
        if body then
            redis.call('HDEL', body, 'h' .. member, 'b' .. member)
        end
        break
    end

    if leased then
        redis.call('HSET', slot, 'leased', string.format('%d', now))
    end
    if not (timed and record) then
        seq = seq_after
        pushed = { 'claims', claim, 'claimed_until', lease_end, 'parked', asleep }
        break
    end
    redis.call('HSET', slot, 'claims', claim, 'claimed_until', lease_end, 'parked', asleep, 'sent',
        string.format('%d', (sent or 0) + 1), producer_field,
        string.format('%d,1,%d,a', sequence, now))
    do
        return { 'OK', 'a' }
    end
until true
