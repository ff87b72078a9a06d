-- GIVES now

-- now: what the test says, in place of lua/lib/clock.lua.  It is in a key of its own, so a test may
-- give each key of the slot another type, and deny each command of the scripts.  NOW/STEP: the
-- clock is moved by STEP once it was read.
local now
do
    local key, step = 'test.now', nil
    now, step = string.match(redis.call('GET', key) or '', '^(%-?%d+)/?(%-?%d*)$')
    now = tonumber(now or '')
    if step and step ~= '' then
        redis.pcall('SET', key, now + step) -- no command of the scripts
    end
end
