-- GIVES SECOND_MS, idle_open, idle_told_by, idle_wake_one, idle_due_by, idle_save, idle_wake
-- TAKES slot, channel
-- USES now, NEVER, failed

-- Of a shared topic `parked` says who sleeps: "DUE WOKEN NAME|IDLE".
--   DUE         when something is due next, as far as it is known
--   WOKEN NAME  when the caller NAME was woken, while no call has come since then that has seen
--               that nothing is due any more; or "0 -"
--   IDLE        the callers that sleep, the one that has slept longest first, a space after each:
--               NAME, or NAME@AT of one that was told to look at the time AT
-- Each is subscribed to a channel of its own, CHANNEL:NAME.  What is published there is empty, and
-- wakes it; or "!MS", look in so many milliseconds; or "?MS", look then if `parked` gives cause.
-- A name that nobody hears is removed (decision 44).
local CALL_MS, LOOK_MS, SOON_MS, LATE_MS = 300, 400, 1000, 1000
local SECOND_MS = 500

-- Who sleeps, as `parked` says; idle_save() stores it.
local function idle_open(parked)
    local due, woken_at, woken, idle = string.match(parked or '', '^(%d+) (%d+) (%S+)|(.*)$')
    return {
        parked = parked, due = tonumber(due or NEVER), woken_at = tonumber(woken_at or 0),
        woken = woken or '-', idle = idle or ''
    }
end

-- Does a caller hear it?  nil: it could not be published.
local function ring(name, text)
    local heard = redis.pcall('SPUBLISH', channel .. ':' .. name, text)
    if type(heard) == 'table' then
        failed = { ok = 'SPUBLISH ' .. channel .. ' ' .. heard.err }
        return nil
    end
    return heard > 0
end

-- How many that sleep were told to look by then.
local function idle_told_by(it, at)
    local many = 0
    for told in string.gmatch(it.idle, '@(%d+)') do
        told = tonumber(told)
        many = many + (told > now and told <= at and 1 or 0)
    end
    return many
end

-- Has that many of those that sleep look by then: those that have slept longest will claim, and
-- the others will only read.
local function look_by(it, at, many, mark)
    local left, seen, missing = it.idle, '', many - idle_told_by(it, at)
    local pattern = mark == '!' and '^()(w%x+)@?(%d*) (.*)$' or '^(.*)(w%x+)@?(%d*) ()$'
    while missing > 0 do
        local before, name, told, after = string.match(left, pattern)
        if not before then
            break
        end
        told = tonumber(told) or 0
        local entry = told > now and told <= at and string.format('%s@%.0f ', name, told)
        if not entry then
            local heard = ring(name, string.format('%s%.0f', mark, at - now))
            if heard == nil then
                break
            end
            entry = heard and string.format('%s@%.0f ', name, at) or ''
            missing = missing - (heard and 1 or 0)
        end
        left = mark == '!' and after or before
        seen = mark == '!' and seen .. entry or entry .. seen
    end
    it.idle = mark == '!' and seen .. left or left .. seen
end

-- The one that has slept longest, and those before and behind it.  Those that will look in a
-- moment are left to that, unless there is no other: then it is the last of them.
local function longest(it)
    local last_at, last, from, to = 0, nil, nil, nil
    for before, name, told, after in string.gmatch(it.idle, '()(w%x+)@?(%d*) ()') do
        told = tonumber(told) or 0
        if told <= now or told > now + SOON_MS then
            told = math.huge
        end
        if told > last_at then
            last_at, last, from, to = told, name, before, after
        end
        if told == math.huge then
            break
        end
    end
    return last, string.sub(it.idle, 1, (from or 1) - 1), string.sub(it.idle, to or 1)
end

-- Something is due: wakes the one that has slept longest, unless one that was woken is on its
-- way.  It may die before it calls, so another one looks a moment later.  Who was to do that
-- may have looked already, and have no room.
local function idle_wake_one(it)
    if it.woken_at > 0 and math.abs(now - it.woken_at) < CALL_MS then
        return look_by(it, now + LOOK_MS, 1, '?')
    end
    while it.idle ~= '' do
        local name, before, after = longest(it)
        local heard = name and ring(name, '')
        if heard == nil then
            return
        end
        it.idle = before .. after
        if heard then
            it.woken_at, it.woken = now, name
            return look_by(it, now + LOOK_MS, 1, '?')
        end
    end
end

-- Something is due then.  Two look, because one may die.
local function idle_due_by(it, at)
    it.due = at
    look_by(it, at, 1, '!')
    look_by(it, at + SECOND_MS, 2, '?')
end

local function idle_save(it)
    if it.idle ~= '' then
        redis.call('HSET', slot, 'parked',
            string.format('%.0f %.0f %s|%s', it.due, it.woken_at, it.woken, it.idle))
    elseif it.parked then
        redis.call('HDEL', slot, 'parked')
    end
end

-- A message is due then: wakes one that sleeps, or has two look, unless they know of an earlier
-- time and have not died.
local function idle_wake(parked, due)
    local it = idle_open(parked)
    if due <= now or it.due < now - LATE_MS then
        idle_wake_one(it)
    elseif due < it.due then
        idle_due_by(it, due)
    else
        return
    end
    idle_save(it)
end
