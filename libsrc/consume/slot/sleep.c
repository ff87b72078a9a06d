/* sleep.c - see sleep.h.
 *
 * Thread: smq:io. */
#include "consume/slot/sleep.h"

#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "consume/slot/owned_slot.h"
#include "model/slot.h"

/* A look costs Redis about 0.1 ms of its processor: so a client costs it a thousandth at most, and
 * a hundredth while messages come without a notice. */
struct sleep_times sleep_times = {
    .each = 100, .least = 30000, .most = 300000, .soon_each = 10, .soon_least = 1000};

enum { QUIET_PART = 16, SHARED_PARTS = 2, ASLEEP_MOST = 1000 };

static int64_t sleep_larger(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

int64_t sleep_most_ms(const struct sleep_times *times, int64_t slots, int64_t quiet_ms)
{
    int64_t most = sleep_larger(times->each * slots, times->least), soon;

    most = most < times->most ? most : times->most;
    if (quiet_ms < 0) {
        return most;
    }
    soon = sleep_larger(times->soon_each * slots, times->soon_least);
    soon = sleep_larger(soon, quiet_ms / QUIET_PART);
    return soon < most ? soon : most;
}

static int64_t sleep_set_most_ms(const struct slot_set *set)
{
    int64_t quiet_ms = set->unnoticed_ms == 0 ? -1 : clock_now_ms() - set->unnoticed_ms;

    return sleep_most_ms(&sleep_times, set->core->slots_owned, quiet_ms);
}

int64_t sleep_beside_others_ms(int64_t most_ms, uint64_t asleep, uint64_t random)
{
    int64_t spread =
        SHARED_PARTS * most_ms * (int64_t) (asleep < ASLEEP_MOST ? asleep : ASLEEP_MOST);

    return most_ms + (int64_t) (random % (uint64_t) (spread + 1));
}

void sleep_begin(struct owned_slot *slot, int64_t due_at_ms, int64_t wait_ms)
{
    int64_t most = sleep_set_most_ms(slot->set);
    int64_t wait = most - (int64_t) (random_u64() % (uint64_t) (most / 5 + 1));

    if (slot->shared.asleep > 1) {
        wait = sleep_beside_others_ms(most, slot->shared.asleep, random_u64());
    }
    slot->sleep = OWNED_ASLEEP;
    slot->known_due_ms = due_at_ms;
    if (due_at_ms >= 0 && wait_ms < wait) {
        wait = wait_ms > 0 ? wait_ms : 1;
        slot->sleep = OWNED_AWAKE;
    }
    owned_slot_arm(slot, wait);
}

void sleep_over(struct owned_slot *slot)
{
    if (slot->sleep == OWNED_ASLEEP) {
        slot->sleep = OWNED_LOOKS;
    }
}

void sleep_noticed(struct owned_slot *slot)
{
    slot->sleep = OWNED_AWAKE;
}

/* Those that sleep for longer than is due now look earlier, at different times. */
static void sleep_shorten(struct slot_set *set)
{
    int64_t most = sleep_set_most_ms(set), last_us = clock_now_us() + most * 1000;

    for (int32_t i = 0; i < set->topic.slots; i++) {
        struct owned_slot *slot = set->slots[i];

        if (slot != NULL && slot->sleep == OWNED_ASLEEP && slot->due_us > last_us) {
            owned_slot_arm(slot, 1 + (int64_t) (random_u64() % (uint64_t) most));
        }
    }
}

static void sleep_surprise(const struct owned_slot *slot)
{
    struct slot_set *set = slot->set;
    int64_t before = sleep_set_most_ms(set);
    char right[SLOT_KEY_MAX + 2];

    if (set->unnoticed_ms == 0) {
        slot_channels_right(right, slot->channel, strlen(slot->channel));
        events_log(
            set->core->events, SMQ_LEVEL_WARN,
            "topic %s: a message came without a notice, and was found late: give its senders "
            "the rights +spublish and %s; until then idle slots are looked into more often",
            set->name, right);
    }
    set->unnoticed_ms = clock_now_ms();
    if (before > 2 * sleep_set_most_ms(set)) {
        sleep_shorten(set);
    }
}

void sleep_looked(struct owned_slot *slot, bool found, int64_t now_ms)
{
    bool due = slot->known_due_ms >= 0 && slot->known_due_ms <= now_ms;

    if (slot->sleep == OWNED_SURPRISED) {
        sleep_surprise(slot);
    }
    slot->sleep = slot->sleep == OWNED_LOOKS && found && !due ? OWNED_SURPRISED : OWNED_AWAKE;
}
