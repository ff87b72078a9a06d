#!lua
-- KEYS (none)
-- ARGV reply (OK)
-- RETURN OK
--
-- Would Redis let a send write now?  It writes nothing itself: since it does not have the flag
-- no-writes, a server that refuses writes refuses it before it begins, with the same words.

return { reply }
