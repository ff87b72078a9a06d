/* shared.c - see shared.h.
 *
 * Thread: smq:io. */
#include "consume/slot/shared.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "consume/slot/owned_slot.h"
#include "consume/slot/sleep.h"

enum { SECOND_MS = 500 }; /* as in lua/lib/idle.lua */

struct glance {
    struct store_call call;
    struct owned_slot *slot;
    struct store_slot target;
    uint32_t era;
    bool by_itself; /* it looks by itself, whatever is read */
};

/* Sleep no longer than it was told. */
static void shared_obey(struct owned_slot *slot)
{
    int64_t now = clock_now_ms(), at = slot->shared.told_at;

    slot->shared.told_at = 0;
    if (at == 0 || (slot->due_at != 0 && slot->due_at <= at)) {
        return;
    }
    sleep_noticed(slot);
    slot->shared.second = slot->shared.told_second;
    owned_slot_arm(slot, at > now ? at - now : 1);
}

bool shared_take(struct owned_slot *slot, const char *data, size_t len)
{
    struct store_told told;

    if (!store_told_read(&told, data, len)) {
        return false;
    }
    if (slot->state == OWNED_ACTIVE) {
        slot->shared.told_at = clock_now_ms() + told.in_ms + 1;
        slot->shared.told_second = told.second;
        if (slot->consuming == NULL && !slot->claimable) {
            shared_obey(slot);
        }
    }
    return true;
}

void shared_sleeps(struct owned_slot *slot, bool second)
{
    slot->shared.second = second;
    shared_obey(slot);
}

/* Redis' time, or a moment later. */
static int64_t shared_redis_ms(const struct owned_slot *slot)
{
    return slot->push.replied_ms + clock_now_ms() - slot->push.asked_ms;
}

/* Is there no reason to look?  Then it sleeps until there may be one. */
static bool shared_may_sleep(struct owned_slot *slot, const struct glance *glance,
                             const struct store_sleepers *sleepers)
{
    int64_t now = shared_redis_ms(slot);

    if (glance->by_itself || sleepers->woken || !sleepers->listed ||
        (sleepers->due_ms >= 0 && sleepers->due_ms <= now)) {
        return false;
    }
    sleep_begin(slot, sleepers->due_ms < 0 ? -1 : sleepers->due_ms - now + SECOND_MS);
    shared_sleeps(slot, true);
    return true;
}

static void shared_on_glance(struct store_call *call, const struct store_result *result)
{
    struct glance *glance = call->user;
    struct owned_slot *slot = glance->slot;
    struct slot_set *set = slot->set;
    struct store_sleepers sleepers = {0};

    if (glance->era == slot->era && slot->state == OWNED_ACTIVE && slot->consuming == NULL &&
        !slot->claimable) {
        bool read =
            result->outcome == STORE_OK && store_sleepers_read(&sleepers, result, set->caller);

        if (!glance->by_itself || sleepers.woken) {
            sleep_noticed(slot); /* another process was, so this is no surprise */
        }
        if (!read || !shared_may_sleep(slot, glance, &sleepers)) {
            owned_slot_look(slot);
        }
    }
    store_call_fini(call);
    free(glance);
    owned_slot_call_end(slot);
    slot_set_turn(set);
}

bool shared_glance(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;
    bool by_itself = slot->sleep == OWNED_ASLEEP;
    struct glance *glance;

    if (!set->shared || slot->claimable || !(slot->shared.second || by_itself)) {
        return false;
    }
    sleep_over(slot);
    slot->shared.second = false;
    glance = memory_new(sizeof(*glance));
    glance->slot = slot;
    glance->era = slot->era;
    glance->by_itself = by_itself;
    store_call_init(&glance->call, shared_on_glance, glance);
    store_slot_fill(&glance->target, &set->topic, slot->number);
    owned_slot_call_begin(slot);
    store_sleepers(&glance->call, set->core->redis, &glance->target, set->core->request_timeout_ms);
    return true;
}
