-- GIVES def_refused, def_split

-- Definition stamps: nonce.version.
local function def_split(stamp)
    return string.match(stamp, '^(.*)%.(%d+)$')
end

-- The reply to a caller with another stamp than the slot's; nil: the script continues.  A slot that
-- an alteration has not reached yet accepts the newer stamp of its caller; a script that writes
-- then stores it.
local function def_refused(stored, carried)
    if not stored then
        return { 'NO_TOPIC' }
    elseif stored == carried then
        return nil
    end
    local nonce, version = def_split(stored)
    local its_nonce, its_version = def_split(carried)
    if nonce ~= its_nonce or tonumber(version) > tonumber(its_version) then
        return { 'STALE' }
    end
end
