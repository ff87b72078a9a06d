-- USES slot, stored, def

-- The slot keeps a newer stamp that its caller has.
if stored ~= def then
    redis.call('HSET', slot, 'def', def)
end
