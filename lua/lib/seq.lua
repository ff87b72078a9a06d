-- USES slot, seq

-- seq as a number.  A plus sign before it is from a version that kept notes of when places were
-- given out.  Nobody reads these any more.
if seq and string.byte(seq) == 43 then
    redis.call('HDEL', slot, 'noted', 'times')
end
seq = tonumber(seq or 0)
