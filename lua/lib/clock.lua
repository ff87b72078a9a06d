-- GIVES now

-- now: the server's time in ms, read once per script because Redis 7.0 does not stop it in between.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
