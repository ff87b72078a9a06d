-- Kind p: how many places there are.  The scores of a priority begin at its multiple of this.
local PLACES = 4294967296
-- Kind p, inline: how long a note of the time holds, see lib/note.lua.
local NOTE_MS = 1000
