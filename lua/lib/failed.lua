-- GIVES failed

-- What failed, for the end of the reply: a status, COMMAND CHANNEL ERROR.  nil: nothing did.
local failed
