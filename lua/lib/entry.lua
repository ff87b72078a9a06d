-- GIVES join, decode, claim_of, before_score, merge_attempts, by_place

-- Entries, and scores that are written.  libsrc/model/entry.c has the same encoding; both are
-- tested on the vectors of tests/vectors/.

-- A score as text that loses nothing.
local function join(integer, attempts)
    return string.format('%.17g', integer + attempts / 128)
end

-- The bound of a range: up to this score, itself excluded.
local function before_score(integer)
    return string.format('(%.0f', integer)
end

-- Before-image (as text), letter and member; nothing: not an entry.
local function decode(entry)
    local before, letter, member = string.match(entry, '^(%-?%d+)([crsd])%d*:()')
    if before then
        return before, letter, string.sub(entry, member)
    end
end

-- The number of its claim, as text.
local function claim_of(entry)
    return string.match(entry, '^%-?%d+[crsd](%d*):')
end

-- For table.sort: the message that was sent first comes first.
local function by_place(a, b)
    return a.place < b.place
end

-- Two messages become one: the larger number of retries, suspect if either is.
local function merge_attempts(a, b)
    local suspect = math.max(a % 2, b % 2)
    return math.max(a - a % 2, b - b % 2) + suspect
end
