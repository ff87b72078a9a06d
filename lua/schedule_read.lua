#!lua flags=no-writes
-- KEYS slot, [schedule]
-- ARGV def, verb, operands...
-- RETURN OK, now, cursor (0: there are no more), (id, state, definition)... | NO_TOPIC | STALE
--
-- verb: due (limit, skip), those that are due, the first one first, without as many of the first
-- ones as skip says, and in the place of the cursor when the first of the others is due (2^53: none
-- is); their definitions are the first part alone, and one that is not stored any more has an empty
-- state.  get (id), one with its whole
-- definition, or none.  list (cursor, limit), some, with the first part: a schedule may come twice.
-- What is stored of a schedule: see schedule_put.

local stored = redis.call('HGET', slot, 'def')
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end
-- @include clock
-- @include tick

local reply, op = { 'OK', now, 0 }, {}

local function add(id, state, definition, whole)
    local length, from = string.match(definition or '', '^(%d+):()')
    local n = #reply
    reply[n + 1], reply[n + 2] = id, state or ''
    reply[n + 3] = whole and definition or from and string.sub(definition, from, from + length - 1)
        or ''
end

local function read(id, whole)
    local state, definition = unpack(redis.call('HMGET', slot, 'X' .. id, 'Y' .. id))
    if state or not whole then
        add(id, state, definition, whole)
    end
end

function op.due(limit, skip)
    reply[3] = tick_first('(' .. now)
    local due = redis.call('ZRANGE', schedule, '-inf', now, 'BYSCORE', 'LIMIT', skip or 0, limit)
    for _, id in ipairs(due) do
        read(id)
    end
end

function op.get(id)
    read(id, true)
end

function op.list(cursor, limit)
    local found = redis.call('HSCAN', slot, cursor, 'MATCH', 'X*', 'COUNT', limit)
    reply[3] = found[1]
    for i = 1, #found[2], 2 do
        local id = string.sub(found[2][i], 2)
        add(id, found[2][i + 1], redis.call('HGET', slot, 'Y' .. id))
    end
end

op[verb](unpack(ARGV, OPERANDS))
return reply
