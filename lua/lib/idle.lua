-- USES slot, channel, now, failed

-- Of a shared topic `parked` says who sleeps: "DUE WOKEN NAME|IDLE".
--   DUE         when something is due next, as far as it is known
--   WOKEN NAME  when the caller NAME was woken, while no call has come since then that has seen
--               that nothing is due any more; or "0 -"
--   IDLE        the callers that sleep, the one that has slept longest first, a space after each:
--               NAME, or NAME@AT of one that was told to look at the time AT
-- Each is subscribed to a channel of its own, CHANNEL:NAME.  What is published there is empty, and
-- wakes it; or "!MS", look in so many milliseconds; or "?MS", look then if `parked` gives cause.
-- A name that nobody hears is removed (decision 44).
local function idle_open(parked)
    local CALL_MS, LOOK_MS, SECOND_MS, SOON_MS = 300, 400, 500, 1000
    local it = { SECOND_MS = SECOND_MS }

    local due, woken_at, woken, idle = string.match(parked or '', '^(%d+) (%d+) (%S+)|(.*)$')
    it.due, it.woken_at = tonumber(due or 9007199254740992), tonumber(woken_at or 0)
    it.woken, it.idle = woken or '-', idle or ''

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
    function it.told_by(at)
        local many = 0
        for told in string.gmatch(it.idle, '@(%d+)') do
            told = tonumber(told)
            many = many + (told > now and told <= at and 1 or 0)
        end
        return many
    end

    -- Has that many of those that sleep look by then: those that have slept longest will claim, and
    -- the others will only read.
    local function look_by(at, many, mark)
        local left, seen, missing = it.idle, '', many - it.told_by(at)
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
    local function longest()
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
    function it.wake_one()
        if it.woken_at > 0 and math.abs(now - it.woken_at) < CALL_MS then
            return look_by(now + LOOK_MS, 1, '?')
        end
        while it.idle ~= '' do
            local name, before, after = longest()
            local heard = name and ring(name, '')
            if heard == nil then
                return
            end
            it.idle = before .. after
            if heard then
                it.woken_at, it.woken = now, name
                return look_by(now + LOOK_MS, 1, '?')
            end
        end
    end

    -- Something is due then.  Two look, because one may die.
    function it.due_by(at)
        it.due = at
        look_by(at, 1, '!')
        look_by(at + SECOND_MS, 2, '?')
    end

    function it.save()
        if it.idle ~= '' then
            redis.call('HSET', slot, 'parked',
                string.format('%.0f %.0f %s|%s', it.due, it.woken_at, it.woken, it.idle))
        elseif parked then
            redis.call('HDEL', slot, 'parked')
        end
    end
    return it
end
