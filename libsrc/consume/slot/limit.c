/* limit.c - see limit.h.
 *
 * Thread: as limit.h says. */
#include "consume/slot/limit.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"

/* How many turns two consumers that wait may differ by: one, and what a claim brings beyond it. */
enum { TURNS_APART = 2 };

static bool limit_has_room(const smq_limit *limit)
{
    return limit->unanswered + limit->reserved < limit->most;
}

/* The first one may have left since the alarm was set. */
static void limit_on_alarm(struct alarm *alarm)
{
    const smq_limit *limit = OWNER_OF(alarm, struct smq_limit, alarm);
    const struct limited *first = TAILQ_FIRST(&limit->queue);

    if (first != NULL && limit_has_room(limit)) {
        first->host.turn(first->host.user);
    }
}

/* Let the first one claim, once the present entry from the loop has ended.  `ended`: its turn has
 * ended without a claim, and it knows when to look again. */
static void limit_serve(smq_limit *limit, const struct limited *ended)
{
    const struct limited *first = TAILQ_FIRST(&limit->queue);

    if (first == NULL || first == ended || !limit_has_room(limit)) {
        alarm_clear(loop_alarms(limit->core->io), &limit->alarm);
    } else if (limit->alarm.at_us == 0) {
        alarm_set(loop_alarms(limit->core->io), &limit->alarm, clock_now_us());
    }
}

smq_limit *limit_new(struct core *core, int32_t most)
{
    smq_limit *limit = memory_new(sizeof(*limit));

    limit->core = core;
    limit->most = most;
    atomic_init(&limit->refs, 1);
    TAILQ_INIT(&limit->consumers);
    TAILQ_INIT(&limit->queue);
    limit->alarm.ring = limit_on_alarm;
    return limit;
}

smq_limit *limit_ref(smq_limit *limit)
{
    if (limit != NULL) {
        atomic_fetch_add(&limit->refs, 1);
    }
    return limit;
}

void limit_unref(smq_limit *limit)
{
    if (limit != NULL && atomic_fetch_sub(&limit->refs, 1) == 1) {
        assert(TAILQ_EMPTY(&limit->consumers) && limit->alarm.at_us == 0);
        core_unref(limit->core);
        free(limit);
    }
}

struct limit_change {
    smq_limit *limit;
    int32_t most;
};

static void limit_on_change(void *user)
{
    const struct limit_change *change = user;
    struct limited *limited, *next;

    change->limit->most = change->most;
    for (limited = TAILQ_FIRST(&change->limit->consumers); limited != NULL; limited = next) {
        next = TAILQ_NEXT(limited, link);
        limited->host.changed(limited->host.user);
    }
}

void limit_set(smq_limit *limit, int32_t most)
{
    struct limit_change change = {.limit = limit, .most = most};

    loop_call(limit->core->io, limit_on_change, &change);
}

void limit_join(struct limited *limited, const struct limit_host *host)
{
    if (limited->limit != NULL) {
        limited->host = *host;
        limited->joined = true;
        TAILQ_INSERT_TAIL(&limited->limit->consumers, limited, link);
    }
}

/* The consumer that has claimed less comes first.  What a consumer claimed while nobody waited, or
 * did not claim while it did not wait itself, counts for no more than TURNS_APART. */
static void limit_queue(struct limited *limited)
{
    smq_limit *limit = limited->limit;
    const int64_t apart = (int64_t) TURNS_APART * limit->most;
    struct limited *next = TAILQ_FIRST(&limit->queue);

    if (limited->served < limit->served - apart) {
        limited->served = limit->served - apart;
    } else if (limited->served > limit->served + apart) {
        limited->served = limit->served + apart;
    }
    while (next != NULL && next->served <= limited->served) {
        next = TAILQ_NEXT(next, queue_link);
    }
    if (next != NULL) {
        TAILQ_INSERT_BEFORE(next, limited, queue_link);
    } else {
        TAILQ_INSERT_TAIL(&limit->queue, limited, queue_link);
    }
    limited->queued = true;
    limited->claimed = false;
}

static void limit_unqueue(struct limited *limited)
{
    TAILQ_REMOVE(&limited->limit->queue, limited, queue_link);
    limited->queued = false;
}

void limit_leave(struct limited *limited)
{
    if (!limited->joined) {
        return;
    }
    limit_turned(limited, false);
    TAILQ_REMOVE(&limited->limit->consumers, limited, link);
    limited->joined = false;
}

int64_t limit_room(const struct limited *limited)
{
    const smq_limit *limit = limited->limit;

    return limit == NULL ? INT64_MAX : limit->most - limit->unanswered - limit->reserved;
}

int32_t limit_most(const struct limited *limited, int32_t own)
{
    return limited->limit != NULL && limited->limit->most < own ? limited->limit->most : own;
}

bool limit_is_over(const struct limited *limited)
{
    return limited->limit != NULL && limited->limit->unanswered > limited->limit->most;
}

/* The first claim out of the queue begins a turn. */
static void limit_use_turn(struct limited *limited, int64_t count)
{
    smq_limit *limit = limited->limit;

    if (limited == TAILQ_FIRST(&limit->queue) && !limited->claimed) {
        limited->left = limit->most;
    }
    limited->claimed = true;
    limited->left -= count;
    limited->served += count;
    limit->served = limited->served;
}

void limit_count(struct limited *limited, int64_t unanswered, int64_t reserved)
{
    smq_limit *limit = limited->limit;

    if (limit == NULL) {
        return;
    }
    limit->unanswered += unanswered;
    limit->reserved += reserved;
    if (reserved > 0) {
        limit_use_turn(limited, reserved);
    }
}

void limit_refund(struct limited *limited, int64_t count)
{
    limited->left += count;
    limited->served -= count;
}

bool limit_is_contended(const struct limited *limited)
{
    const struct limited *first =
        limited->limit == NULL ? NULL : TAILQ_FIRST(&limited->limit->queue);

    return first != NULL && first != limited;
}

bool limit_is_used_up(const struct limited *limited)
{
    return limit_is_contended(limited) && limited->left <= 0;
}

void limit_turned(struct limited *limited, bool waits)
{
    const bool claimed = limited->claimed;

    if (!limited->joined) {
        return;
    }
    if (limited->queued && (!waits || claimed)) {
        limit_unqueue(limited);
    }
    if (waits && !limited->queued) {
        limit_queue(limited);
    }
    limit_serve(limited->limit, claimed ? NULL : limited);
}
