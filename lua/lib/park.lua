-- USES n, taken, due, reply, last, passes, parked, NEVER, now, idle_open

-- A call for a shared slot has ended.  If it has found nothing to claim, its caller sleeps from now
-- on.  If more is due, another one is woken: so callers that cannot claim pass on what has woken
-- them, and a burst spreads.  After a claim that passed over keys nobody knows what else is due.
local IDLE_MOST, OVERFLOW_MS = 32768, 10000
local sleepers = idle_open(parked)

if n > 0 or reply[6] == 1 then -- it sleeps no longer, or claims as soon as it has room
    sleepers.idle = string.gsub(sleepers.idle, last .. '@?%d* ', '', 1)
end
sleepers.due = NEVER
if reply[6] == 1 then
    if sleepers.woken == last then
        sleepers.woken_at, sleepers.woken = 0, '-'
    end
    sleepers.wake_one()
elseif passes == '-' then
    sleepers.woken_at, sleepers.woken = 0, '-'
end
if n > 0 and taken == 0 and reply[6] == 0 then
    local second = due + sleepers.SECOND_MS
    local told = due < NEVER and (sleepers.told_by(due) == 0 and due
        or sleepers.told_by(second) < 2 and second) or nil
    if #sleepers.idle < IDLE_MOST then
        sleepers.idle = sleepers.idle .. last .. (told and string.format('@%.0f ', told) or ' ')
    else
        told = math.min(due, now + OVERFLOW_MS)
    end
    local _, asleep = string.gsub(sleepers.idle, ' ', ' ')
    reply[3], reply[4], reply[6] = told or '', asleep, told == second and 3 or 0
end
if due > now and due < NEVER then
    sleepers.due_by(due)
end
sleepers.save()
