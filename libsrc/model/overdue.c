/* overdue.c - see overdue.h.
 *
 * Pure. */
#include "model/overdue.h"

#include "model/statistic.h"

/* A clock that was set back makes no negative age. */
static int64_t overdue_age(const struct overdue_look *look, int64_t since_ms)
{
    return look->now_ms > since_ms ? look->now_ms - since_ms : 0;
}

/* A lease that was never renewed began with its claim.  That of an older claim was renewed since,
 * so without a note the claim is at least as old. */
static int64_t overdue_claim_age(const struct overdue_look *look)
{
    int64_t leased, noted;

    if (look->claimed == 0) {
        return 0;
    }
    leased = overdue_age(look, look->first_end_ms - look->lease_ms);
    noted = look->noted_ms < 0 ? 0 : overdue_age(look, look->noted_ms);
    return leased > noted ? leased : noted;
}

void overdue_count(smq_stats *out, const struct overdue_look *look)
{
    int64_t waiting = 0, stalled = 0;

    out->due = look->waiting_due + look->stalled;
    out->stalled = look->stalled;
    out->oldest_claim_age_ms = overdue_claim_age(look);
    if (look->waiting_due > 0) {
        waiting = look->waiting_since_ms < 0 ? SMQ_AGE_UNKNOWN
                                             : overdue_age(look, look->waiting_since_ms);
    }
    if (look->stalled > 0) {
        out->stalled_age_ms = overdue_age(look, look->first_end_ms);
        stalled = look->stalled_since_ms < 0 ? out->oldest_claim_age_ms
                                             : overdue_age(look, look->stalled_since_ms);
    }
    out->oldest_due_age_ms = statistic_longest(waiting, stalled);
}

smq_overdue overdue_of(int64_t *age_ms, const smq_stats *stats, bool owner_gone,
                       int64_t max_work_ms)
{
    *age_ms = stats->oldest_claim_age_ms;
    if (stats->stalled > 0) {
        *age_ms = stats->stalled_age_ms;
        return SMQ_OVERDUE_STALLED;
    } else if (owner_gone && stats->claimed > 0) {
        return SMQ_OVERDUE_ORPHANED;
    } else if (max_work_ms > 0 && stats->oldest_claim_age_ms > max_work_ms) {
        return SMQ_OVERDUE_IN_WORK;
    }
    *age_ms = stats->oldest_due_age_ms;
    return stats->due > 0 ? SMQ_OVERDUE_DUE : SMQ_OVERDUE_NOT;
}
