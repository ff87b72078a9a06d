-- Kind p: how many places there are.  The scores of a priority begin at its multiple of this.
local PLACES = 4294967296
