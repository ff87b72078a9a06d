#!lua flags=allow-oom
-- KEYS tree
-- ARGV verb (open, resume, read, write, close or look), session, reign, seen, salt, timeout_ms,
--      operands...
-- RETURN OK, verdict, reign, last, grace_ms, young 0/1, and of the verdict OK what the verb says;
--        verdicts: REIGN: another reign than the caller's, resume first | GONE: the tree does not
--        know the session | REFUSED, a status for each operation | HIDDEN: INFO does not say which
--        life of which server this is | LATER: a later version wrote the tree | FULL: no larger era
--        is left
--
-- The store of a fleet that has Redis alone: a tree of nodes in one hash, so that a hash slot that
-- moves has all of it or nothing.  Fields: `meta`; `n:PATH` for each node; `s:SESSION` for each
-- session; `c:CHANNEL` with the last change that was published there.  Numbers of changes are 16
-- hex digits, which compare as text: the era (8), the salt of the reign (3), a count (5).
--
-- A reign is what one life of one master remembers.  When the server started anew or another one
-- took over, the last writes may be lost: then a new reign begins, also when a caller has seen a
-- later change than the last one.  For as long as the longest time-out its sessions have grace:
-- none ends, each may resume with its nodes and their incarnations, and no node of a session that
-- is not the caller's is deleted.  The reign is young if the server had answered for no longer than
-- that when it began, or was ever promoted: it may have forgotten a topic's first owner, too.
--
-- The clock of the tree is not that of the server: a call advances it by what has passed since time
-- was stored, a third of the shortest time-out at most, and never back.  In grace no session ends,
-- so a third of the longest one may pass of it.
--
-- open: begins the session, or fails if a command of this script is denied.  resume: operands are
-- path, czxid, data of nodes of the session. read: operands are `gPATH` (returned: the node, or
-- ''), `lPATH` (`.` and the names of children, a space before each, or '') and `wCHANNEL` (its last
-- change, and its name).  write: operands are kind, path, version and data of each operation, which
-- are done together; returned is the head of each node, or ''.  The data of a raise is a number:
-- those of changes go above it, and the node is written as it is.  close: ends the session, and its
-- nodes with it; a tree that has no node and no session any more is removed.  look: reads as `read`
-- does, without a session, and writes nothing.
--
-- Order of writes: nodes and the channels' last changes, then sessions, then `meta`.

local FORMAT, NO_CHANGE, ENDED_MOST, LOOKS = 1, '0000000000000000', 16, 12
local EPOCH_S, ERA_MOST = 1577836800, 2147483647 -- 2020-01-01

-- @include clock
local meta = redis.call('HGET', tree, 'meta')
local format, rest = string.match(meta or '', '^(%d+) (.*)$')
if format and tonumber(format) > FORMAT then
    return { 'OK', 'LATER', '', '', '0', '0' }
end
local of, current, last, clock, was, grace, longest, shortest, due, looked, young =
    string.match(rest or '',
        '^(%x+) (%x+) (%x+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ([01])$')
timeout_ms = math.min(math.max(tonumber(timeout_ms), 1000), 60000)
clock, was, grace, due = tonumber(clock or 0), tonumber(was or now), tonumber(grace or 0),
    tonumber(due or 0)
longest, shortest = tonumber(longest or timeout_ms), tonumber(shortest or timeout_ms)
last = last or NO_CHANGE
local passed, third = now - was, math.floor(shortest / 3)
clock = clock + math.max(0, math.min(passed, third))
if grace ~= 0 then
    grace = grace - math.max(0, math.min(passed, math.floor(longest / 3)) - third)
end

local till, owned = string.match(redis.call('HGET', tree, 's:' .. session) or '',
    '^(%d+) %d+(.*)$')

-- INFO costs as much as all the rest of a call that only keeps a session, or also reads a node of
-- its own.  Of these, one in a part of the shortest time-out asks; each other call does, and each
-- that may end a session.
local function owns(path)
    for own in string.gmatch(owned, '%S+') do
        if own == path then
            return true
        end
    end
    return false
end
local reads = ARGV[OPERANDS]
local keeps = till and verb == 'read' and not ARGV[OPERANDS + 1]
    and (not reads or string.sub(reads, 1, 1) == 'g' and owns(string.sub(reads, 2)))
looked = tonumber(looked or 0)
local lineage, promoted = of, false
if not keeps or reign ~= current or seen > last or grace ~= 0 or clock >= due or now < looked
    or now - looked >= shortest / LOOKS then
    local info = redis.call('INFO', 'replication')
    lineage, looked = string.match(info, 'master_replid:(%x+)'), now
    promoted = not string.find(info, 'master_replid2:0+%s')
    if not lineage then
        return { 'OK', 'HIDDEN', '', '', '0', '0' }
    end
end

local function era_of(change)
    return tonumber(string.sub(change, 1, 8), 16)
end

-- The next change.  When the count is used up the era is larger, and the reign the same.
local function tick()
    local count = tonumber(string.sub(last, 12), 16)
    if count < 1048575 then
        last = string.sub(last, 1, 11) .. string.format('%05x', count + 1)
    else
        last = string.format('%08x', era_of(last) + 1) .. string.sub(last, 9, 11) .. '00000'
    end
    return last
end

local began = of ~= lineage or seen > last
if began then
    local era, seconds = math.max(era_of(last), era_of(seen)) + 1, math.floor(now / 1000)
    if seconds - EPOCH_S <= ERA_MOST then
        era = math.max(era, seconds - EPOCH_S)
    end
    if era >= ERA_MOST then
        return { 'OK', 'FULL', '', '', '0', '0' }
    end
    longest = math.max(longest, timeout_ms)
    local up = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')
    young = (promoted or tonumber(up or 0) * 1000 <= longest) and '1' or '0'
    current = string.format('%08x', era) .. salt .. '00000'
    last, grace, due = current, clock + longest, clock + longest
elseif grace ~= 0 and clock >= grace then
    grace, due = 0, clock
end

-- A node is `CZXID MZXID OWNER CTIME MTIME WRITES` and, behind a new line, its data.
local function node_of(path)
    return redis.call('HGET', tree, 'n:' .. path)
end

local function owner_of(node)
    return string.sub(node, 35, 50)
end

-- The channel on which changes of a node are published: of its topic, of what all members watch,
-- or of what the assigner alone watches.
local function channel_of(path)
    if path == '' or path == 'leader' then
        return ''
    end
    return string.match(path, '^topics/[^/]+') or 'members'
end

-- A lost publication is no harm: a member finds the change by the channel's last one.
local function publish(channel, path, sign)
    local before = redis.call('HGET', tree, 'c:' .. channel)
    redis.call('HSET', tree, 'c:' .. channel, last)
    redis.pcall('SPUBLISH', tree .. ':' .. channel, (before or NO_CHANGE) .. ' ' .. last .. ' '
        .. sign .. path)
end

-- `sign`: + the node is new or gone, = it was written.
local function tell(path, sign)
    publish(channel_of(path), path, sign)
    if sign == '+' and string.find(path, '^topics/[^/]+$') then
        publish('members', path, sign)
    end
end

local function remove(path)
    redis.call('HDEL', tree, 'n:' .. path)
    tell(path, '+')
    if string.find(path, '^topics/[^/]+$') then
        redis.call('HDEL', tree, 'c:' .. path)
    end
end

-- The node with `data`; `before` is the node as it was, or false.
local function made(before, data, owner, czxid)
    local created, writes = string.match(before or '', '^%x+ %x+ %x+ (%d+) %d+ (%d+)')
    czxid = czxid or before and string.sub(before, 1, 16) or last
    owner = owner or before and owner_of(before) or NO_CHANGE
    return string.format('%s %s %s %d %d %d\n', czxid, last, owner, created or now, now,
        (writes or -1) + 1) .. data
end

local function end_session(id, paths)
    tick()
    for path in string.gmatch(paths, '%S+') do
        local node = node_of(path)
        if node and owner_of(node) == id then
            remove(path)
        end
    end
    redis.call('HDEL', tree, 's:' .. id)
end

-- End sessions whose time has passed, some in each call, and see when the next one may end.
local function end_late()
    local ended = 0
    due, longest, shortest = clock + timeout_ms, timeout_ms, timeout_ms
    for _, field in ipairs(redis.call('HKEYS', tree)) do
        local id = string.match(field, '^s:(%x+)$')
        if id then
            local till, span, paths =
                string.match(redis.call('HGET', tree, field), '^(%d+) (%d+)(.*)$')
            till, span = tonumber(till), tonumber(span)
            if till <= clock and ended < ENDED_MOST then
                end_session(id, paths)
                ended = ended + 1
            else
                due, longest = math.min(due, till), math.max(longest, span)
                shortest = math.min(shortest, span)
            end
        end
    end
end

-- Time that has passed is kept before it is more than a call may advance the clock by, and what the
-- server's clock says is kept when it steps back.
local verdict, out = 'OK', {}
local dirty = began or passed < 0 or passed >= shortest / LOOKS

local function answer()
    if dirty then
        redis.call('HSET', tree, 'meta', string.format('%d %s %s %s %d %d %d %d %d %d %d %s',
            FORMAT, lineage, current, last, clock, now, grace, longest, shortest, due, looked,
            young))
    end
    return { 'OK', verdict, current, last, string.format('%d', math.max(grace - clock, 0)), young,
        unpack(out) }
end

-- Keep the session for another time-out.
local function renew()
    if not till or tonumber(till) < clock + timeout_ms * 11 / 12 or verb == 'resume' then
        till, dirty = clock + timeout_ms, true
    end
    if dirty then
        redis.call('HSET', tree, 's:' .. session,
            string.format('%d %d%s', till, timeout_ms, owned))
    end
    due = math.min(due, till)
    longest, shortest = math.max(longest, timeout_ms), math.min(shortest, timeout_ms)
end

if verb == 'close' then
    dirty, due = true, grace == 0 and clock or due -- the next call sees which time-outs are left
    if till then
        end_session(session, owned)
    end
    if #redis.call('HKEYS', tree) <= (meta and 1 or 0) then -- nobody has begun a fleet
        redis.call('HDEL', tree, 'meta')
        dirty = false
    end
    return answer()
elseif verb == 'open' then
    owned = owned or ''
    -- Who may not run what only a later call needs is refused now.
    redis.call('HKEYS', tree)
    redis.call('HEXISTS', tree, 'meta')
    redis.call('HDEL', tree, '')
elseif verb ~= 'look' and verb ~= 'resume' and reign ~= current then
    verdict = 'REIGN'
    return answer()
elseif verb ~= 'look' and not till and (verb ~= 'resume' or grace == 0) then
    verdict = 'GONE'
    return answer()
end

if verb == 'resume' then
    owned = owned or ''
    local most = grace ~= 0 and #ARGV or 0
    for i = OPERANDS, most, 3 do
        local node = node_of(ARGV[i])
        if node and owner_of(node) ~= session and string.sub(node, 1, 16) > ARGV[i + 1] then
            verdict = 'GONE' -- a later process has the name
            return answer()
        end
    end
    for i = OPERANDS, most, 3 do
        local path, czxid, data = ARGV[i], ARGV[i + 1], ARGV[i + 2]
        local node = node_of(path)
        if not node or owner_of(node) ~= session then
            tick()
            redis.call('HSET', tree, 'n:' .. path, made(false, data, session, czxid))
            tell(path, '+')
        end
        owned = owns(path) and owned or owned .. ' ' .. path
    end
end

-- What each operation would make of the nodes: false, or the node.
local after = {}

local function seen_node(path)
    if after[path] == nil then
        return node_of(path)
    end
    return after[path]
end

local function has_children(path)
    local start = 'n:' .. path .. '/'
    for _, field in ipairs(redis.call('HKEYS', tree)) do
        if string.sub(field, 1, #start) == start and after[string.sub(field, 3)] ~= false then
            return true
        end
    end
    return false
end

-- Why the operation cannot be done, or OK.
local function status_of(kind, path, version, data, node)
    if kind == 'create' or kind == 'ephemeral' then
        local above = string.match(path, '^(.*)/[^/]*$') or ''
        return node and 'EXISTS' or path ~= '' and not seen_node(above) and 'NO_NODE' or 'OK'
    elseif not node then
        return 'NO_NODE'
    elseif string.sub(node, 18, 33) ~= version then
        return 'CHANGED'
    elseif kind == 'delete' then
        local owner = owner_of(node)
        if owner ~= NO_CHANGE then
            return grace ~= 0 and owner ~= session and 'GRACE' or 'OK'
        end
        return has_children(path) and 'NOT_EMPTY' or 'OK'
    elseif kind == 'raise' then
        return grace ~= 0 and 'GRACE' or era_of(data) >= ERA_MOST and 'FULL' or 'OK'
    end
    return 'OK'
end

-- Redis has a token with this number: numbers go above it, and the node is written again.
local function raised(node, above)
    if above >= last then
        last = string.format('%08x', era_of(above) + 1) .. string.sub(last, 9, 11) .. '00000'
    end
    return made(node, string.match(node, '\n(.*)$'))
end

local function write()
    local before = last
    tick()
    for i = OPERANDS, #ARGV, 4 do
        local kind, path, version, data = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
        local node = seen_node(path)
        local status = status_of(kind, path, version, data, node)
        out[#out + 1] = status
        if status ~= 'OK' then
            verdict, last = 'REFUSED', before
            return
        elseif kind == 'delete' then
            after[path] = false
        elseif kind == 'raise' then
            after[path] = raised(node, data)
        elseif kind ~= 'check' then
            after[path] = made(node, data, kind == 'ephemeral' and session)
        end
        if kind == 'ephemeral' and not owns(path) then
            owned = owned .. ' ' .. path
        end
    end
    dirty, out = true, {}
    for i = OPERANDS, #ARGV, 4 do
        local kind, path = ARGV[i], ARGV[i + 1]
        local node = after[path]
        out[#out + 1] = kind ~= 'check' and node and string.match(node, '^[^\n]*') or ''
        if kind == 'delete' then
            remove(path)
        elseif kind ~= 'check' then
            redis.call('HSET', tree, 'n:' .. path, node)
            tell(path, (kind == 'set' or kind == 'raise') and '=' or '+')
        end
    end
end

local function children(fields, path)
    local start, names = 'n:' .. path .. '/', { '.' }
    for _, field in ipairs(fields) do
        local name = string.sub(field, 1, #start) == start and string.sub(field, #start + 1)
        if name and not string.find(name, '/', 1, true) then
            names[#names + 1] = name
        end
    end
    return table.concat(names, ' ')
end

local function read()
    local fields
    for i = OPERANDS, #ARGV do
        local what, path = string.match(ARGV[i], '^(.)(.*)$')
        if what == 'w' then
            out[#out + 1] = (redis.call('HGET', tree, 'c:' .. path) or NO_CHANGE) .. path
        elseif what == 'g' then
            out[#out + 1] = node_of(path) or ''
        elseif redis.call('HEXISTS', tree, 'n:' .. path) == 1 then
            fields = fields or redis.call('HKEYS', tree)
            out[#out + 1] = children(fields, path)
        else
            out[#out + 1] = ''
        end
    end
end

if verb == 'write' then
    write()
elseif verb == 'read' then
    read()
elseif verb == 'look' then
    read()
    dirty = false
    return answer()
end
renew()
if grace == 0 and clock >= due then
    dirty = true
    end_late()
end
return answer()
