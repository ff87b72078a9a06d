/* shared.h - when a slot of a shared topic looks for messages.
 *
 * Many processes sleep in such a slot, and a send wakes one of them.  So that one may die, two
 * others are told when to look; the second first reads whether there is a reason (decision 0044).
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_SHARED_H
#define CONSUME_SLOT_SHARED_H

#include <stdbool.h>
#include <stddef.h>

struct owned_slot;

/* Take a publication on the channel of this process that tells it when to look; false: it is
 * another one. */
bool shared_take(struct owned_slot *slot, const char *data, size_t len);

/* The slot has nothing to claim, and sleeps.  `second`: until a time at which another process has
 * looked. */
void shared_sleeps(struct owned_slot *slot, bool second);

/* Its time has come.  If it must read first whether there is a reason to look, do that, and then
 * look or sleep; false: it must not. */
bool shared_glance(struct owned_slot *slot);

#endif
