/* sleep.h - how long a slot sleeps that has nothing to claim, and the messages that wake nobody.
 *
 * A send wakes the owner that sleeps by a notice, a publication on the channel of the slot.  A
 * sender that may not publish wakes nobody, and a notice can be lost.  So an owner that sleeps
 * looks by itself from time to time; when such a look finds a message of which no notice has come,
 * the slots of the topic look more often, as long as such messages keep coming (decision 0040).
 *
 * Thread: smq:io, except where a function says that it is pure. */
#ifndef CONSUME_SLOT_SLEEP_H
#define CONSUME_SLOT_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

struct owned_slot;

enum owned_sleep {
    OWNED_AWAKE,    /* also while it sleeps until a message is due */
    OWNED_ASLEEP,   /* until it looks by itself */
    OWNED_LOOKS,    /* that look has begun, and no notice has come */
    OWNED_SURPRISED /* the look has found messages, and no notice has come */
};

/* Milliseconds; tests make them shorter.  The first three hold for all slots, the others for those
 * of a topic whose messages come without a notice. */
struct sleep_times {
    int64_t each;        /* for each slot of the client, so that all of them look no more often */
    int64_t least, most; /* but no shorter and no longer than that */
    int64_t soon_each, soon_least;
};

extern struct sleep_times sleep_times;

/* How long a slot sleeps at most, if the client owns `slots` slots, and if the last message without
 * a notice came to its topic `quiet_ms` ago; -1: none has come.  Pure. */
int64_t sleep_most_ms(const struct sleep_times *times, int64_t slots, int64_t quiet_ms);

/* How long one of `asleep` processes sleeps in a slot of a shared topic, so that all of them
 * together look as often as one that sleeps for `most_ms`.  Pure. */
int64_t sleep_beside_others_ms(int64_t most_ms, uint64_t asleep, uint64_t random);

/* The slot has nothing to claim: let it sleep for `wait_ms`, until what is due at `due_at_ms` by
 * the clock of Redis can be claimed, -1 and -1: nothing is, or until it looks by itself. */
void sleep_begin(struct owned_slot *slot, int64_t due_at_ms, int64_t wait_ms);

/* Its time has come. */
void sleep_over(struct owned_slot *slot);

/* A notice has come. */
void sleep_noticed(struct owned_slot *slot);

/* A consume call was answered at `now_ms` by the clock of Redis, and has brought messages or not. A
 * notice is published before the reply of a call that begins later, so what the call before has
 * found came without one; but nobody tells of a message that becomes due, and a look may have to
 * wait for room until one is. */
void sleep_looked(struct owned_slot *slot, bool found, int64_t now_ms);

#endif
