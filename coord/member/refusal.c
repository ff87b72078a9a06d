/* refusal.c - NONE -> SEEN -> READING -> READ.
 *
 * Pure. */
#include "coord/member/refusal.h"

enum refusal_state refusal_next(enum refusal_state state, enum refusal_input input)
{
    static const unsigned char table[REFUSAL_STATES][REFUSAL_INPUTS] = {
        [REFUSAL_NONE] = {REFUSAL_SEEN, REFUSAL_SEEN, REFUSAL_NONE, REFUSAL_NONE},
        [REFUSAL_SEEN] = {REFUSAL_SEEN, REFUSAL_SEEN, REFUSAL_READING, REFUSAL_SEEN},
        [REFUSAL_READING] = {REFUSAL_SEEN, REFUSAL_READING, REFUSAL_READING, REFUSAL_READ},
        [REFUSAL_READ] = {REFUSAL_SEEN, REFUSAL_READ, REFUSAL_READ, REFUSAL_READ},
    };

    return (enum refusal_state) table[state][input];
}

bool refusal_shows(enum refusal_state state, enum refusal_input input)
{
    return state == REFUSAL_READ && input == REFUSAL_SAME;
}
