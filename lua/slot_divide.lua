#!lua flags=allow-oom
-- KEYS slot, body
-- ARGV def, cursor (0: from the begin on), limit
-- RETURN OK, cursor (0: this was the end), how many it has divided | NO_TOPIC | STALE
--
-- Bodies that stand behind their headers (lib/body.lua) get fields of their own, about limit in a
-- call, so that versions before 0.3.0 can read them.  The cursor is one of Redis: what is stored
-- from the first to the last call is met, unless a replica takes over in between.  So the caller,
-- which has told all senders before that they shall store no such body any more, begins again until
-- it has divided nothing from the begin to the end.
--
-- Order of writes: none is needed, as there is one.

local stored = redis.call('HGET', slot, 'def')
-- @include def
local refused = def_refused(stored, def)
if refused then
    return refused
end

local found = redis.call('HSCAN', body, cursor, 'MATCH', 'h*', 'COUNT', limit)
local fields, n = {}, 0
for i = 1, #found[2], 2 do
    local field, text = found[2][i], found[2][i + 1]
    local at = string.find(text, '\0', 1, true)
    if at then
        fields[n + 1], fields[n + 2] = field, string.sub(text, 1, at - 1)
        fields[n + 3], fields[n + 4] = 'b' .. string.sub(field, 2), string.sub(text, at + 1)
        n = n + 4
    end
end
if n > 0 then
    redis.call('HSET', body, unpack(fields))
end
return { 'OK', found[1], n / 4 }
