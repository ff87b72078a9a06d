#!lua flags=allow-oom
-- KEYS expiring
-- ARGV verb, operands...
-- RETURN due: OK, topics... | note: OK
--
-- operands of due: again_ms, limit; of note: topic, in_ms
--
-- The list of the topics that expire has, by the clock of its server, when somebody is to look
-- whether each is still used.  Who asks for those that are due gets them alone: others get them
-- again_ms later, if they are still there.  Nobody gets any who could not remove their keys.
--
-- Order of writes: none is needed, as there is one.

-- @include clock

local op = {}

function op.due(again_ms, limit)
    local found, later = {}, {}
    if redis.acl_check_cmd('UNLINK', expiring) then
        found = redis.call('ZRANGE', expiring, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
    end
    for i, name in ipairs(found) do
        later[2 * i - 1], later[2 * i] = now + again_ms, name
    end
    if #found > 0 then
        redis.call('ZADD', expiring, unpack(later))
    end
    return { 'OK', unpack(found) }
end

function op.note(name, in_ms)
    redis.call('ZADD', expiring, now + in_ms, name)
    return { 'OK' }
end

return op[verb](unpack(ARGV, OPERANDS))
