/* member_state.c - OUT -> ENTERING -> READY -> ENTERING -> IN, with WAITING for the name between.
 *
 * Pure. */
#include "coord/member/member_state.h"

#include "base/steps.h"

bool member_state_may(enum member_state from, enum member_state to)
{
    static const unsigned steps[MEMBER_STATES] = {
        [MEMBER_OUT] = STEP(MEMBER_ENTERING) | STEP(MEMBER_OUT) | STEP(MEMBER_REFUSED),
        [MEMBER_READY] = STEP(MEMBER_ENTERING) | STEP(MEMBER_OUT) | STEP(MEMBER_REFUSED),
        [MEMBER_ENTERING] = STEP(MEMBER_OUT) | STEP(MEMBER_READY) | STEP(MEMBER_WAITING) |
                            STEP(MEMBER_IN) | STEP(MEMBER_REFUSED),
        [MEMBER_WAITING] = STEP(MEMBER_ENTERING) | STEP(MEMBER_OUT) | STEP(MEMBER_REFUSED),
        [MEMBER_IN] = STEP(MEMBER_OUT) | STEP(MEMBER_REFUSED),
        [MEMBER_REFUSED] = STEP(MEMBER_REFUSED),
    };

    return steps_allow(steps, from, to);
}

uint64_t member_phase_ms(uint64_t interval_ms, uint64_t random)
{
    return 1 + random % interval_ms;
}
