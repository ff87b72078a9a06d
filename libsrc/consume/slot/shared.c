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
enum { GROWN = 2 };       /* so many times as many sleep: who knew less has not slept for long */

/* A read of who sleeps, before the slot looks.  Invariant: `slot` outlives it. */
struct shared_probe {
    struct store_call call;
    struct owned_slot *slot;
    struct store_slot target;
    uint32_t era;
    bool by_itself; /* its sleep has ended without a notice: it looks, unless that was too soon */
};

/* If this process was told to look before the slot's sleep ends, let it end then. */
static void shared_shorten_sleep(struct owned_slot *slot)
{
    int64_t at_us = slot->shared.told_us;

    slot->shared.told_us = 0;
    if (at_us == 0 || (slot->due_us != 0 && slot->due_us <= at_us)) {
        return;
    }
    sleep_noticed(slot);
    slot->shared.backup = slot->shared.told_backup;
    slot->due_us = at_us;
    owned_slot_set_alarm(slot);
}

void shared_look(struct owned_slot *slot)
{
    if (slot->set->shared && slot->store == NEXT_CALL_EMPTY) {
        slot->notice = OWNED_OWES_CALL;
    }
    owned_slot_look(slot);
}

/* The clock of Redis now; late by at most what the last call took. */
static int64_t shared_redis_ms(const struct owned_slot *slot)
{
    return slot->push.replied_ms + clock_now_ms() - slot->push.asked_ms;
}

bool shared_take(struct owned_slot *slot, const char *data, size_t len)
{
    struct store_told told;

    if (!store_told_read(&told, data, len)) {
        return false;
    }
    if (slot->state == OWNED_ACTIVE) {
        int64_t at_us = clock_now_us() + (told.in_ms + 1) * 1000, before_us = slot->shared.told_us;

        if (!told.backup) {
            ordinary_rests(&slot->ordinary, shared_redis_ms(slot) + told.in_ms);
        }
        slot->shared.told_us = before_us != 0 && before_us < at_us ? before_us : at_us;
        slot->shared.told_backup = told.backup && (before_us == 0 || slot->shared.told_backup);
        if (slot->consuming == NULL && slot->shared.probing == NULL &&
            slot->store == NEXT_CALL_EMPTY) {
            shared_shorten_sleep(slot);
        }
    }
    return true;
}

void shared_sleeps(struct owned_slot *slot, bool backup)
{
    slot->shared.backup = backup;
    shared_shorten_sleep(slot);
}

void shared_count(struct owned_slot *slot, uint64_t asleep)
{
    slot->shared.asleep = asleep;
    slot->subscription.peers = slot->shared.subscription.peers = asleep;
}

/* If nothing is due, and nobody was woken in vain, let the slot sleep until something may be due,
 * and return true.  So does one that was to look by itself when it knew of fewer that sleep,
 * because it would look too often.  It stays the backup only if another process looks by then: one
 * that was to read as the backup of a wake may be the only one that knows the time. */
static bool shared_may_sleep(struct owned_slot *slot, const struct shared_probe *probe,
                             const struct store_sleepers *sleepers)
{
    int64_t now = shared_redis_ms(slot);
    bool backup = sleepers->due_ms < 0 || sleepers->look_ms > now;
    bool looks = probe->by_itself && sleepers->asleep <= GROWN * slot->shared.asleep;

    shared_count(slot, sleepers->asleep);
    if (looks || sleepers->woken || !sleepers->listed ||
        (sleepers->due_ms >= 0 && sleepers->due_ms <= now)) {
        return false;
    }
    sleep_begin(slot, sleepers->due_ms, sleepers->due_ms - now + (backup ? SECOND_MS : 1));
    shared_sleeps(slot, backup);
    return true;
}

static void shared_on_probe(struct store_call *call, const struct store_result *result)
{
    struct shared_probe *probe = call->user;
    struct owned_slot *slot = probe->slot;
    struct slot_set *set = slot->set;
    struct store_sleepers sleepers = {0};

    slot->shared.probing = NULL;
    if (probe->era == slot->era && slot->state == OWNED_ACTIVE && slot->consuming == NULL &&
        slot->store == NEXT_CALL_EMPTY) {
        bool read =
            result->outcome == STORE_OK && store_sleepers_read(&sleepers, result, set->caller);

        if (!probe->by_itself || sleepers.woken) {
            sleep_noticed(slot); /* another process was, so this is no surprise */
        }
        if (!read || !shared_may_sleep(slot, probe, &sleepers)) {
            shared_look(slot);
        }
    }
    store_call_fini(call);
    free(probe);
    owned_slot_call_end(slot);
    slot_set_turn(set);
}

bool shared_probe(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;
    bool by_itself = slot->sleep == OWNED_ASLEEP;
    struct shared_probe *probe;

    if (!set->shared || slot->store != NEXT_CALL_EMPTY || !(slot->shared.backup || by_itself)) {
        return false;
    }
    sleep_over(slot);
    slot->shared.backup = false;
    probe = memory_new(sizeof(*probe));
    slot->shared.probing = probe;
    probe->slot = slot;
    probe->era = slot->era;
    probe->by_itself = by_itself;
    store_call_init(&probe->call, shared_on_probe, probe);
    store_slot_fill(&probe->target, &set->topic, slot->number);
    owned_slot_call_begin(slot);
    store_sleepers(&probe->call, set->core->redis, &probe->target, set->core->request_timeout_ms);
    return true;
}
