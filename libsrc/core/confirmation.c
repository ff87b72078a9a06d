/* confirmation.c - may a handler begin a claimed message?
 *
 * Thread: any. */
#include "core/confirmation.h"

#include <stdlib.h>

#include "base/memory.h"

struct membership *membership_new(void)
{
    struct membership *membership = memory_new(sizeof(*membership));

    atomic_init(&membership->references, 1);
    atomic_init(&membership->until_ms, INT64_MAX);
    atomic_init(&membership->valid_ms, INT64_MAX);
    atomic_init(&membership->invalidated_ms, 0);
    return membership;
}

struct membership *membership_ref(struct membership *membership)
{
    atomic_fetch_add_explicit(&membership->references, 1, memory_order_relaxed);
    return membership;
}

void membership_unref(struct membership *membership)
{
    if (membership != NULL && atomic_fetch_sub(&membership->references, 1) == 1) {
        free(membership);
    }
}

void membership_invalidate(struct membership *membership, int64_t now_ms)
{
    atomic_store(&membership->invalidated_ms, now_ms);
}

int64_t confirmation_until(int64_t asked_ms, int64_t lease_ms, int64_t valid_ms,
                           int64_t invalidated_ms)
{
    int64_t good_ms = lease_ms < valid_ms ? lease_ms : valid_ms;

    if (asked_ms <= invalidated_ms) {
        return 0;
    }
    return good_ms < INT64_MAX - asked_ms ? asked_ms + good_ms : INT64_MAX;
}

enum confirmation confirmation_at(int64_t now_ms, int64_t until_ms, int64_t member_until_ms)
{
    if (now_ms >= member_until_ms) {
        return CONFIRMATION_OVER;
    }
    return now_ms < until_ms ? CONFIRMATION_GOOD : CONFIRMATION_OLD;
}
