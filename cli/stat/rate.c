/* rate.c - what happened to a topic per second.  Pure. */
#include "cli/stat/rate.h"

bool rates_between(struct rates *out, const smq_stats *before, const smq_stats *after, int64_t us)
{
    if (us <= 0) {
        return false;
    }
#define X(counter, title, weight)                                                                  \
    if (after->counter < before->counter) {                                                        \
        return false;                                                                              \
    }                                                                                              \
    out->counter = (double) (after->counter - before->counter) * 1e6 / (double) us;
    RATE_FIELDS(X)
#undef X
    return true;
}
