-- USES store, prepare, slot, body, done, channel, parked, max_waiting, dedup_ms, timed, seq
-- USES MESSAGES, REST, split, place, now, answer, failed

-- A push: the message of the call is claimed for the owner that sleeps, and published to it.

local PUSH_MOST = 4096 -- bytes of the entry, the header and the body

-- Would the owner claim this message first, and does it merge with none?
local function goes_first(member, due)
    local waiting = redis.call('ZCARD', store) - 1
    if waiting == 0 then
        return true
    elseif not timed or max_waiting > 0 and waiting >= max_waiting
        or redis.call('ZSCORE', store, member) then
        return false
    end
    return split(redis.call('ZRANGE', store, '0', '0', 'WITHSCORES')[2]) > due
end

-- Does prepare hold nothing but claims with leases that have not ended, none of a suspect?
local function is_calm()
    if redis.call('ZCARD', prepare) == 1 then
        return true
    end
    local lease, attempts = split(redis.call('ZRANGE', prepare, '0', '0', 'WITHSCORES')[2])
    local last = redis.call('ZRANGE', prepare, '-2', '-2', 'WITHSCORES')[2]
    return lease > now and attempts % 2 == 0 and tonumber(last) < REST
end

-- What is stored beside a new message; nil: it expires at once, something is stored already, or it
-- was done within the window.
local function new_header(member)
    local limit, ttl = ARGV[MESSAGES + 3], tonumber(ARGV[MESSAGES + 4])
    local ended = dedup_ms > 0 and redis.call('ZSCORE', done, member)
    if ttl and ttl <= 0 or redis.call('HEXISTS', body, 'h' .. member) == 1
        or ended and tonumber(ended) > now - dedup_ms then
        return nil
    elseif limit == '' and not ttl then
        return string.format('%d', now)
    end
    return string.format('%d,%s,%s,1', now, limit, ttl and string.format('%d', now + ttl) or '')
end

-- Is it heard?  An owner that is still subscribed at the former master hears what is published here
-- and is not counted.  So nothing is published while no subscriber is counted.
local function publish(text)
    local counted = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
    if counted.err then
        failed = { ok = 'PUBSUB ' .. channel .. ' ' .. counted.err }
        return false
    end
    local heard = counted[2] > 0 and redis.pcall('SPUBLISH', channel, text)
    return type(heard) == 'number' and heard > 0
end

-- Returns the reply if the message was pushed; nil: nothing has changed.
local function push()
    local member, when, text = ARGV[MESSAGES], ARGV[MESSAGES + 1], body and ARGV[MESSAGES + 2] or ''
    if timed and place(when) > now then
        return nil
    end
    local sleeps_until, lease_ms = string.match(parked, '^(%d+)/(%d+)$')
    local token, claims, paused = unpack(redis.call('HMGET', slot, 'token', 'claims', 'paused'))
    local header = body and new_header(member) or ''
    if paused or now >= tonumber(sleeps_until) or not is_calm() or not goes_first(member, now)
        or body and header == '' then
        return nil
    end
    local seq_before, claim = seq, tonumber(claims) + 1
    local entry = string.format('%dc%d:', place(when), claim) .. member
    if #entry + #header + #text > PUSH_MOST
        or not publish(string.format('%s %d %s %d %d\n', token, now, lease_ms, #entry, #header)
            .. entry .. header .. text) then
        seq = seq_before
        return nil
    end
    local lease_end = string.format('%d', now + tonumber(lease_ms))
    redis.call('ZADD', prepare, lease_end, entry)
    if body then
        redis.call('HSET', body, 'h' .. member, header, 'b' .. member, text)
    end
    return answer({
        'claims', claim, 'claimed_until', lease_end, 'parked', string.format('-%d', now)
    }, 'a', 1, 0, 0)
end
