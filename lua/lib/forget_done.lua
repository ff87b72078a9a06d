-- GIVES forget_done
-- TAKES done

-- Forgets which ids are done, at once; Redis frees them in the background.
local function forget_done()
    if done then
        redis.call('ZADD', done, '+inf', '') -- a try: the key is never without its sentinel
        redis.call('UNLINK', done)
        redis.call('ZADD', done, '+inf', '')
    end
end
