#!lua flags=allow-oom
-- KEYS topic
-- ARGV op, then create: definition, nonce | ready: nonce | delete | removed: nonce
--      | bind: nonce, coord | rebind: nonce, coord, above, force 0/1
--      | alter: nonce, version, definition | pause: nonce, 0/1
-- RETURN create: OK, state, definition, nonce, version, generation (of what is stored now)
--        | ready, removed, pause: OK | delete: OK, nonce, definition | bind, rebind: OK, generation
--        | alter: OK, version: now | CHANGED: it has another version
--        | OTHER_FLEET, coord | HELD, owner, remaining_ms | NO_TOPIC | DELETING
--
-- state: creating, ready, deleting; none when removed.  What must never go back outlives the topic:
-- lease_epoch, and generation, which each new creation and each rebind raises.

local topic = KEYS[1]

local state, nonce, definition, version, generation, coord = unpack(redis.call('HMGET', topic,
    'state', 'nonce', 'definition', 'version', 'generation', 'coord'))
local op = {}

-- @include clock

function op.create(new_definition, new_nonce)
    if not state then
        state, definition, nonce, version = 'creating', new_definition, new_nonce, 1
        generation = tonumber(generation or 0) + 1
        redis.call('HSET', topic, '', '', 'state', state, 'definition', definition, 'nonce',
            nonce, 'version', version, 'generation', generation)
    end
    return { 'OK', state, definition, nonce, tonumber(version), tonumber(generation) }
end

-- Also takes a delete back that was refused because something is left.
function op.ready(of)
    if not state or nonce ~= of then
        return { 'NO_TOPIC' }
    end
    redis.call('HSET', topic, 'state', 'ready')
    return { 'OK' }
end

function op.delete()
    if not state then
        return { 'NO_TOPIC' }
    end
    redis.call('HSET', topic, 'state', 'deleting')
    return { 'OK', nonce, definition }
end

-- Once its slots are cleared.  Another nonce: that creation is long gone.
function op.removed(of)
    if nonce == of then
        if state ~= 'deleting' then
            return { 'NO_TOPIC' }
        end
        redis.call('HDEL', topic, 'state', 'definition', 'nonce', 'version', 'coord', 'paused',
            'lease_owner', 'lease_until')
    end
    return { 'OK' }
end

-- The first consumer of a topic says where its owners are agreed upon; others must say the same.
function op.bind(of, new_coord)
    if not state or nonce ~= of then
        return { 'NO_TOPIC' }
    elseif state == 'deleting' then
        return { 'DELETING' }
    elseif coord and coord ~= new_coord then
        return { 'OTHER_FLEET', coord }
    end
    redis.call('HSET', topic, 'coord', new_coord)
    return { 'OK', tonumber(generation) }
end

-- Later consumers are of another fleet, or of none.  The generation is then larger than any before
-- and than `above`, so that whatever owner is left is fenced once a slot has a new one.
function op.rebind(of, new_coord, above, force)
    if not state or nonce ~= of then
        return { 'NO_TOPIC' }
    elseif state == 'deleting' then
        return { 'DELETING' }
    end
    local owner, ends = unpack(redis.call('HMGET', topic, 'lease_owner', 'lease_until'))
    local left = tonumber(ends or 0) - now
    if left > 0 and force ~= '1' then
        return { 'HELD', owner, left }
    end
    generation = math.max(tonumber(generation), tonumber(above)) + 1
    redis.call('HSET', topic, 'coord', new_coord, 'generation', generation, 'lease_owner', '',
        'lease_until', 0)
    return { 'OK', generation }
end

-- What is wrong with a change of a topic that is in use; nil: nothing.
local function unusable(of)
    if state == 'deleting' and nonce == of then
        return { 'DELETING' }
    elseif state ~= 'ready' or nonce ~= of then
        return { 'NO_TOPIC' }
    end
end

-- `from` is the version that the caller altered.  Repeated, it is done already.
function op.alter(of, from, altered)
    local refused = unusable(of)
    if refused then
        return refused
    end
    if tonumber(version) == tonumber(from) then
        version = version + 1
        redis.call('HSET', topic, 'definition', altered, 'version', version)
    elseif tonumber(version) ~= from + 1 or definition ~= altered then
        return { 'CHANGED' }
    end
    return { 'OK', tonumber(version) }
end

function op.pause(of, paused)
    local refused = unusable(of)
    if refused then
        return refused
    end
    if paused == '1' then
        redis.call('HSET', topic, 'paused', 1)
    else
        redis.call('HDEL', topic, 'paused')
    end
    return { 'OK' }
end

return op[ARGV[1]](ARGV[2], ARGV[3], ARGV[4], ARGV[5])
