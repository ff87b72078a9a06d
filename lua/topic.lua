#!lua flags=allow-oom
-- KEYS topic, groups... (of alter: the definitions of the groups, those of new groups last)
-- ARGV verb, operands...
-- RETURN create: OK, state, definition, nonce, version, generation (of what is stored now)
--        | ready, undone, keep, removed, forget, repair: OK | delete: OK, deletion: its number
--        | bind: OK, generation, first: 1 no fleet had it before, as far as this server knows,
--        2 and it has forgotten nothing since the creation | rebind: OK, generation
--        | follow: OK | alter: OK, version: now
--        | pause: OK, pauses: now | used: OK, left_ms: until it may be deleted as not used
--        | CHANGED: it is not what the caller has read | OTHER_FLEET, coord
--        | HELD, owner, remaining_ms | NO_TOPIC | DELETING
--
-- operands of create: definition, nonce, seen, generation, deletes, version (without it 1; that of
-- the topic, for the definition of a group), tombstone; of ready: nonce;
-- of undone: nonce, tombstone, keep_ms; of forget: tombstone, keep_ms;
-- of removed: nonce, deletion, tombstone, keep_ms;
-- of delete: nonce, deletes, id; of used: nonce, unused_ms, again_ms, mark 0/1;
-- of keep: nonce, deletion; of bind: nonce, coord, succeeds 0/1;
-- of follow: nonce, from, to; of rebind: nonce, coord, above, force 0/1;
-- of alter: nonce, version, definition, definition of each group, how many groups are new;
-- of pause: nonce, pauses, 0/1;
-- of repair: nonce, definition, version, generation, pauses, 0/1, deletes, seen,
-- coord (empty: unknown)
--
-- state: creating, ready, deleting; none when removed.  A tombstone keeps, for keep_ms, what must
-- not decrease while calls may come late: generation, which each new creation and each rebind
-- raises, and deletes.  Versions that know none kept these in the key of the topic, for ever.  A
-- change names the state that it changes: one that comes late finds another, one that comes twice
-- finds its own result.
--
-- life: which life of which server has made the topic, as far as INFO says it.  A server that lives
-- on has forgotten nothing since; another one, or a later life, may have.
--
-- Order of writes: mostly one.  Where a second one follows, the same call does it: create does not
-- (it raises a number that only shrinks the room for late calls), pause and repair try it first.

local state, nonce, definition, version, generation, coord, pauses, paused, deletes, used, doubted =
    unpack(redis.call('HMGET', topic, 'state', 'nonce', 'definition', 'version', 'generation',
        'coord', 'pauses', 'paused', 'deletes', 'used', 'doubted'))
generation, pauses = tonumber(generation or 0), tonumber(pauses or 0)
deletes = tonumber(deletes or 0)
local op = {}

-- @include clock
-- @include lease_end
-- @include tombstone

local function life()
    if not redis.acl_check_cmd('INFO', 'replication') then
        return ''
    end
    return string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
end

-- `seen` is the generation of the last creation that the caller knows.  The slots may know later
-- ones, and more deletions, than are stored here.
function op.create(new_definition, new_nonce, seen, ...)
    local slots_generation, slots_deletes, new_version, tombstone = ...
    if not state then
        local made_at, gone = tombstone_read(tombstone)
        generation, deletes = math.max(generation, made_at), math.max(deletes, gone)
        if generation ~= tonumber(seen) then
            return { 'CHANGED' }
        end
        state, definition, nonce, version = 'creating', new_definition, new_nonce, new_version or 1
        generation = math.max(generation, tonumber(slots_generation)) + 1
        redis.call('HSET', topic, '', '', 'state', state, 'definition', definition, 'nonce',
            nonce, 'version', version, 'generation', generation, 'life', life())
        deletes = math.max(deletes, tonumber(slots_deletes))
        if deletes > 0 then
            redis.call('HSET', topic, 'deletes', deletes)
        end
    end
    return { 'OK', state, definition, nonce, tonumber(version), generation }
end

function op.ready(of)
    if not state or nonce ~= of then
        return { 'NO_TOPIC' }
    elseif state == 'deleting' then
        return { 'DELETING' }
    end
    redis.call('HSET', topic, 'state', 'ready')
    return { 'OK' }
end

local function forget(tombstone, keep_ms)
    if tombstone then
        tombstone_write(tombstone, generation, deletes, keep_ms)
        redis.call('DEL', topic)
        return
    end
    redis.call('HDEL', topic, 'state', 'definition', 'nonce', 'version', 'coord', 'paused',
        'pauses', 'lease_owner', 'lease_until', 'lease_at', 'used', 'doubted', 'life')
end

-- A creation that could not be finished, once its slots are closed again.
function op.undone(of, tombstone, keep_ms)
    if state == 'creating' and nonce == of then
        if generation == 1 and deletes == 0 then
            redis.call('DEL', topic)
        else
            forget(tombstone, keep_ms)
        end
    end
    return { 'OK' }
end

-- May a topic that was not used be deleted?  Any use since it was doubted has ended the doubt.  A
-- deletion for this reason that was interrupted is completed; that of a user is not.
local function is_disused()
    if state == 'deleting' then
        return string.sub(redis.call('HGET', topic, 'deleter') or '', 1, 1) == 'x'
    end
    return state == 'ready' and doubted
end

-- `seen` deletions were begun before this one.  `id` is the caller's: its call may come twice.  If
-- the topic is deleted because it was not used, it begins with x.
function op.delete(of, seen, id)
    if not state or nonce ~= of then
        return { 'NO_TOPIC' }
    elseif string.sub(id, 1, 1) == 'x' and not is_disused() then
        return { 'CHANGED' }
    end
    local repeated = deletes == tonumber(seen) + 1 and state == 'deleting'
        and redis.call('HGET', topic, 'deleter') == id
    if deletes == tonumber(seen) then
        deletes = deletes + 1
        redis.call('HSET', topic, 'state', 'deleting', 'deletes', deletes, 'deleter', id)
    elseif not repeated then
        return { 'CHANGED' }
    end
    return { 'OK', deletes }
end

-- `mark`: the topic is used now.  Otherwise: for how long is it still to be left?  When it was not
-- used for unused_ms it is first doubted, for again_ms: those who use it mark it within that, also
-- if they could not for a while, or if the clock has jumped.  A topic that was never marked, or
-- was by a clock that went back since, counts from this look.
function op.used(of, unused_ms, again_ms, mark)
    if not state or nonce ~= of then
        return { 'NO_TOPIC' }
    elseif state == 'deleting' then
        return { 'DELETING' }
    elseif mark == '1' or not used or tonumber(used) > now then
        if doubted then
            redis.call('HDEL', topic, 'doubted')
        end
        redis.call('HSET', topic, 'used', now)
        return { 'OK', tonumber(unused_ms) }
    end
    local left = used + unused_ms - now
    if left > 0 then
        return { 'OK', left }
    elseif not doubted then
        redis.call('HSET', topic, 'doubted', now)
        return { 'OK', tonumber(again_ms) }
    end
    return { 'OK', math.min(math.max(doubted + again_ms - now, 0), again_ms) }
end

-- Undoes a deletion that was refused because messages are left.
function op.keep(of, deletion)
    if not state or nonce ~= of then
        return { 'NO_TOPIC' }
    elseif deletes ~= tonumber(deletion) or state == 'creating' then
        return { 'CHANGED' }
    end
    redis.call('HSET', topic, 'state', 'ready')
    return { 'OK' }
end

-- Called once its slots are cleared.  Another nonce: that creation was removed before.
function op.removed(of, deletion, tombstone, keep_ms)
    if nonce == of then
        if state ~= 'deleting' or deletes ~= tonumber(deletion) then
            return { 'CHANGED' }
        end
        redis.call('HDEL', topic, 'deleter')
        forget(tombstone, keep_ms)
    end
    return { 'OK' }
end

-- The key is one that an earlier version has left of a deleted topic.
function op.forget(tombstone, keep_ms)
    if not state and generation > 0 then
        forget(tombstone, keep_ms)
    end
    return { 'OK' }
end

-- Which process of version 0.2 has the lease of the whole topic, and for how long.
local function lease()
    local owner, ends, at =
        unpack(redis.call('HMGET', topic, 'lease_owner', 'lease_until', 'lease_at'))
    return owner, lease_end(ends, at) - now
end

-- Another coordination, and no lease, which its owner cannot renew then.  The generation is larger
-- than any before and than `above`, so that an owner that is left is fenced once a slot has a new
-- one.
local function bind_anew(new_coord, above)
    generation = math.max(generation, above) + 1
    redis.call('HSET', topic, 'coord', new_coord, 'generation', generation, 'lease_owner', '',
        'lease_until', 0)
end

-- The first consumer of a topic names the coordination of its owners; others must name the same.
-- A fleet in Redis that `succeeds` has a standalone topic of 0.2 when its lease has ended.
function op.bind(of, new_coord, succeeds)
    if not state or nonce ~= of then
        return { 'NO_TOPIC' }
    elseif state == 'deleting' then
        return { 'DELETING' }
    elseif coord == 'standalone' and succeeds == '1' and string.find(new_coord, '^redis:') then
        local owner, left = lease()
        if left > 0 then
            return { 'HELD', owner, left }
        end
        bind_anew(new_coord, 0)
        return { 'OK', generation, 1 }
    elseif coord and coord ~= new_coord then
        return { 'OTHER_FLEET', coord }
    end
    local made = not coord and redis.call('HGET', topic, 'life') or ''
    local sure = made ~= '' and made == life()
    redis.call('HSET', topic, 'coord', new_coord)
    return { 'OK', generation, coord and 0 or sure and 2 or 1 }
end

-- The same fleet has another identity now.  The generation of its root is larger than that of all
-- tokens, so the generation of the topic stays, and living members continue.
function op.follow(of, from, to)
    if not state or nonce ~= of then
        return { 'NO_TOPIC' }
    elseif coord ~= from and coord ~= to then
        return { 'OTHER_FLEET', coord or '' }
    end
    redis.call('HSET', topic, 'coord', to)
    return { 'OK' }
end

-- Later consumers belong to another fleet.
function op.rebind(of, new_coord, above, force)
    if not state or nonce ~= of then
        return { 'NO_TOPIC' }
    elseif state == 'deleting' then
        return { 'DELETING' }
    end
    local owner, left = lease()
    if left > 0 and force ~= '1' then
        return { 'HELD', owner, left }
    end
    bind_anew(new_coord, tonumber(above))
    return { 'OK', generation }
end

-- Why a topic that is in use cannot be changed; nil: it can.
local function unusable(of)
    if state == 'deleting' and nonce == of then
        return { 'DELETING' }
    elseif state ~= 'ready' or nonce ~= of then
        return { 'NO_TOPIC' }
    end
end

-- Groups have the nonce and the version of their topic, so that one stamp is that of all.
local function alter_groups(altered)
    for i = GROUPS, #KEYS do
        local key = KEYS[i]
        local its_nonce, its_version = unpack(redis.call('HMGET', key, 'nonce', 'version'))
        if its_nonce == nonce and tonumber(its_version) < tonumber(version) then
            redis.call('HSET', key, 'definition', altered, 'version', version)
        end
    end
end

-- The last `added` groups are new, and must be ready still: another caller may be removing them.
-- None of the others may be in state deleting.
local function are_stable(added)
    for i = GROUPS, #KEYS do
        local key = KEYS[i]
        local its_state, its_nonce = unpack(redis.call('HMGET', key, 'state', 'nonce'))
        local is_new = i > #KEYS - added
        if its_state == 'deleting' or is_new and (its_state ~= 'ready' or its_nonce ~= nonce) then
            return false
        end
    end
    return true
end

-- `from` is the version that the caller altered.  A repeated call finds it done.
function op.alter(of, from, altered, altered_group, added)
    local refused = unusable(of)
    if refused then
        return refused
    end
    if tonumber(version) == tonumber(from) and are_stable(tonumber(added or 0)) then
        version = version + 1
        redis.call('HSET', topic, 'definition', altered, 'version', version)
    elseif tonumber(version) ~= from + 1 or definition ~= altered then
        return { 'CHANGED' }
    end
    alter_groups(altered_group)
    return { 'OK', tonumber(version) }
end

-- `seen` pauses and resumes were before this one.
function op.pause(of, seen, wanted)
    local refused = unusable(of)
    if refused then
        return refused
    end
    local same = (paused and '1' or '0') == wanted
    if pauses == tonumber(seen) and not same then
        pauses = pauses + 1
        if wanted == '1' then
            redis.call('HSET', topic, 'pauses', pauses, 'paused', 1)
        else
            redis.call('HDEL', topic, '-') -- a try
            redis.call('HSET', topic, 'pauses', pauses)
            redis.call('HDEL', topic, 'paused')
        end
    elseif pauses ~= tonumber(seen) and not (pauses == seen + 1 and same) then
        return { 'CHANGED' }
    end
    return { 'OK', pauses }
end

-- Restores what the slots know.  `seen` has the numbers that are replaced: version (0: there is no
-- definition), generation, pauses and deletions.
function op.repair(of, repaired, ...)
    local its_version, its_generation, its_pauses, its_paused, its_deletes, seen, its_coord = ...
    local now = table.concat({ version or 0, generation, pauses, deletes }, '.')
    local made = table.concat({ its_version, its_generation, its_pauses, its_deletes }, '.')
    local usable = not state or state == 'ready' and nonce == of
    if usable and state and now == made then
        return { 'OK' }
    elseif not usable or now ~= seen then
        return { 'CHANGED' }
    end
    redis.call('HDEL', topic, '-') -- a try
    redis.call('HSET', topic, '', '', 'state', 'ready', 'nonce', of, 'definition', repaired,
        'version', its_version, 'generation', its_generation, 'pauses', its_pauses, 'deletes',
        its_deletes)
    if its_paused == '1' then
        redis.call('HSET', topic, 'paused', 1)
    else
        redis.call('HDEL', topic, 'paused')
    end
    if its_coord ~= '' then
        redis.call('HSET', topic, 'coord', its_coord)
    end
    return { 'OK' }
end

return op[verb](unpack(ARGV, OPERANDS))
