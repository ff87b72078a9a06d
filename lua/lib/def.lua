-- Definition stamps: nonce.version.  What a script answers to a caller with another stamp than the
-- slot's; nil: go on.  A slot that an alteration has not reached yet goes on with the newer stamp
-- of its caller; a script that writes stores it then (def_keep).
local function def_refused(stored, carried)
    if not stored then
        return { 'NO_TOPIC' }
    elseif stored == carried then
        return nil
    end
    local nonce, version = string.match(stored, '^(.*)%.(%d+)$')
    local its_nonce, its_version = string.match(carried, '^(.*)%.(%d+)$')
    if nonce ~= its_nonce or tonumber(version) > tonumber(its_version) then
        return { 'STALE' }
    end
end

local function def_keep(stored, carried)
    if stored ~= carried then
        redis.call('HSET', slot, 'def', carried)
    end
end
