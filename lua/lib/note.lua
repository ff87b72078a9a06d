-- USES store, prepare, slot, seq, now, NOTE_MS

-- Kind p, inline: when places were given out.  `times` has notes "PLACE:FROM:SPAN" in the order of
-- the places.  A note is for the places above its own, up to that of the next note: they were given
-- out at FROM, or up to SPAN ms later.  Nothing is known of places up to that of the first note.
-- `noted` is FROM of the last note, and `seq` has a plus sign while every script that has given out
-- places since the first note keeps notes.
local NOTES_BYTES, NOTES_KEPT = 2500, 60

-- Joins the two notes by which an age is made wrong by the smallest part of it.
local function notes_join(notes)
    local best, least = 1, math.huge
    for i = 1, #notes - 1 do
        local from = notes[i].from
        local wrong = (notes[i + 1].to - from) / math.max(now - from, 1)
        if wrong < least then
            best, least = i, wrong
        end
    end
    local a, b = notes[best], table.remove(notes, best + 1)
    a.from, a.to = math.min(a.from, b.from), math.max(a.to, b.to)
end

-- The same notes, joined to that many.
local function notes_joined(text, many)
    local notes, texts = {}, {}
    for place, from, span in string.gmatch(text, '(%d+):(%d+):(%d+)') do
        notes[#notes + 1] = { place = place, from = tonumber(from), to = from + span }
    end
    while #notes > many do
        notes_join(notes)
    end
    for i, it in ipairs(notes) do
        texts[i] = string.format('%s:%.0f:%.0f', it.place, it.from, it.to - it.from)
    end
    return table.concat(texts, ' ')
end

-- Before places are given out: a note for those above seq.  `chained`: those up to seq have notes.
-- What is no longer there needs no times.
local function note(chained)
    local text = string.format('%.0f:%.0f:%d', seq, now, NOTE_MS - 1)
    local before = chained and redis.call('HGET', slot, 'times')
    if before then
        if redis.call('ZCARD', store) + redis.call('ZCARD', prepare) == 2 then
            before = notes_joined(before, 1)
        elseif #before > NOTES_BYTES then
            before = notes_joined(before, NOTES_KEPT)
        end
        text = before .. ' ' .. text
    end
    redis.call('HSET', slot, 'seq', string.format('+%.0f', seq), 'noted',
        string.format('%.0f', now), 'times', text)
end
