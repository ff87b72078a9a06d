-- now: the server's time in ms.  Read once a script: Redis 7.0 lets it run on meanwhile.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
