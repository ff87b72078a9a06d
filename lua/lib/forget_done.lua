-- USES done

-- Forgets which ids are done, at once; Redis frees them in the background.
if done then
    redis.call('ZADD', done, '+inf', '') -- a try: the key is never without its sentinel
    redis.call('UNLINK', done)
    redis.call('ZADD', done, '+inf', '')
end
