/* state.c - the names of the states of a message.
 *
 * Pure. */
#include "model/state.h"

#include <string.h>

static const struct {
    const char *name;
    smq_state state;
} states[] = {{"waiting", SMQ_STATE_WAITING},
              {"claimed", SMQ_STATE_CLAIMED},
              {"resting", SMQ_STATE_RESTING},
              {"dead", SMQ_STATE_DEAD}};
enum { STATES = sizeof(states) / sizeof(states[0]) };

const char *smq_state_name(smq_state state)
{
    for (size_t i = 0; i < STATES; i++) {
        if (states[i].state == state) {
            return states[i].name;
        }
    }
    return "unknown";
}

smq_state state_named(const char *name, size_t len)
{
    for (size_t i = 0; i < STATES; i++) {
        if (strlen(states[i].name) == len && memcmp(states[i].name, name, len) == 0) {
            return states[i].state;
        }
    }
    return 0;
}
