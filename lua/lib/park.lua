-- GIVES park
-- TAKES n, last, passes
-- USES now, NEVER, SECOND_MS, idle_open, idle_told_by, idle_wake_one, idle_due_by, idle_save

-- A call for a shared slot has ended.  If it has found nothing to claim, its caller sleeps from now
-- on.  If more is due, another one is woken: so callers that cannot claim pass on what has woken
-- them, and a burst spreads.  After a claim that passed over keys nobody knows what else is due.
local IDLE_MOST, OVERFLOW_MS = 32768, 10000

local function park(reply, parked, due, claimed)
    local sleepers = idle_open(parked)

    if n > 0 or reply[6] == 1 then -- it sleeps no longer, or claims as soon as it has room
        sleepers.idle = string.gsub(sleepers.idle, last .. '@?%d* ', '', 1)
    end
    sleepers.due = NEVER
    if reply[6] == 1 then
        if sleepers.woken == last then
            sleepers.woken_at, sleepers.woken = 0, '-'
        end
        idle_wake_one(sleepers)
    elseif passes == '-' then
        sleepers.woken_at, sleepers.woken = 0, '-'
    end
    if n > 0 and claimed == 0 and reply[6] == 0 then
        local second = due + SECOND_MS
        local told = due < NEVER and (idle_told_by(sleepers, due) == 0 and due
            or idle_told_by(sleepers, second) < 2 and second) or nil
        if #sleepers.idle < IDLE_MOST then
            sleepers.idle = sleepers.idle .. last .. (told and string.format('@%.0f ', told) or ' ')
        else
            told = math.min(due, now + OVERFLOW_MS)
        end
        local _, asleep = string.gsub(sleepers.idle, ' ', ' ')
        reply[3], reply[4], reply[6] = told or '', asleep, told == second and 3 or 0
    end
    if due > now and due < NEVER then
        idle_due_by(sleepers, due)
    end
    idle_save(sleepers)
end
