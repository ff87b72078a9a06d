-- GIVES LOST, TIMED_OUT, reason_drop, history_keep, history_of, history_add, stored_of
-- TAKES why
-- USES now

-- Why a message failed last, and how its last tries ended, in the hash why: R and the member -> the
-- reason of its last try, and then its history, if it has one: a NUL and up to five tries, the
-- newest first, with the byte 128 between them.  It is stored while an entry of the member in store
-- or prepare has retries used, and removed with the first of them that ends.  So nothing is stored
-- for a suspect without used retries, and the time at which its claim was lost is not known.
--
-- A try is HOW TIME:TEXT; TIME is empty if it is not known, and the newest try has no :TEXT where
-- that is the reason in front of the history.  Tries are masked: the upper bit of each byte is
-- inverted.  So a version that knows no history finds none of its texts when it looks for a text in
-- the reason.  libsrc/model/tries.h reads it.

local LOST, TIMED_OUT = 'its process died or hung', 'its handler took too long'

-- Cuts a text to this many bytes, without a part of a UTF-8 character.
local function reason_cut(reason, len)
    for back = 0, #reason > len and 3 or -1 do
        local byte = string.byte(reason, len + 1 - back)
        if byte < 128 or byte >= 192 then -- a character begins behind the cut
            return string.sub(reason, 1, len - back)
        end
    end
    return string.sub(reason, 1, len)
end

-- What these fields of a hash hold, by their names.
local function stored_of(key, fields)
    local stored = {}
    for i, text in ipairs(#fields > 0 and redis.call('HMGET', key, unpack(fields)) or {}) do
        stored[fields[i]] = text or nil
    end
    return stored
end

-- An entry with this many attempts has ended.
local function reason_drop(member, attempts)
    if attempts >= 2 then
        redis.call('HDEL', why, 'R' .. member)
    end
end

local function mask(text)
    local bytes = { string.byte(text, 1, #text) }
    for i, byte in ipairs(bytes) do
        bytes[i] = (byte + 128) % 256
    end
    return string.char(unpack(bytes))
end

-- A try in front of others; but five tries.
local function history_put(newest, others)
    local at = 0
    for _ = 2, others ~= '' and 5 or 0 do
        at = at and string.find(others, '\128', at + 1, true)
    end
    return newest .. (others == '' and '' or '\128' .. string.sub(others, 1, (at or 0) - 1))
end

-- The tries of a message with this many attempts, of which this is stored (nil: nothing).  Older
-- versions store the reason of a retry alone, and of a lost claim nothing.
local function history_of(stored, attempts)
    local reason, newest, others = string.match(stored or '', '^([^%z]*)%z([^\128]*)(.*)$')
    local tries = ''
    if newest then
        tries = newest .. mask(':' .. reason_cut(reason, 100)) .. others
    elseif stored then
        tries = mask('t:' .. reason_cut(stored, 100))
    end
    if attempts % 2 == 1 and not string.find(tries, '^[\232\236]') then -- h, l
        return history_put(mask('l:'), tries)
    end
    return tries
end

-- What is stored of a try that ends now: t retry, x reject, h hung, l lost.
local function history_add(stored, attempts, how, reason)
    return reason_cut(reason, 200) .. '\0'
        .. history_put(mask(how .. string.format('%.0f', now)), history_of(stored, attempts))
end

-- `attempts`: before this try has ended.
local function history_keep(member, attempts, how, reason)
    local stored = attempts >= 2 and redis.call('HGET', why, 'R' .. member) or nil
    redis.call('HSET', why, 'R' .. member, history_add(stored, attempts, how, reason))
end
