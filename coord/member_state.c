/* member_state.c - OUT -> ENTERING -> READY -> ENTERING -> IN, with WAITING for the name between.
 *
 * Pure. */
#include "coord/member_state.h"

bool member_state_may(enum member_state from, enum member_state to)
{
    switch (from) {
    case MEMBER_OUT:
    case MEMBER_READY:
    case MEMBER_WAITING:
        return to == MEMBER_ENTERING || to == MEMBER_OUT || to == MEMBER_REFUSED;
    case MEMBER_ENTERING:
        return to != MEMBER_ENTERING;
    case MEMBER_IN:
        return to == MEMBER_OUT || to == MEMBER_REFUSED;
    case MEMBER_REFUSED:
        return to == MEMBER_REFUSED;
    }
    return false;
}
