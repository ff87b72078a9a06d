/* shared.h - when a slot of a shared topic looks for messages.
 *
 * Many processes sleep in such a slot, and a send wakes one of them.  Two processes know when the
 * next message is due, so that one of them may die.  The backup looks half a second after the other
 * one, and first reads whether the message was claimed (decision 0044).
 *
 * Thread: smq:io. */
#ifndef CONSUME_SLOT_SHARED_H
#define CONSUME_SLOT_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct owned_slot;

/* Take a publication on the channel of this process that tells it when to look; false: it is
 * another one. */
bool shared_take(struct owned_slot *slot, const char *data, size_t len);

/* The slot has nothing to claim, and sleeps.  `backup`: another process looks before it does. */
void shared_sleeps(struct owned_slot *slot, bool backup);

/* So many processes sleep in the slot: how long each of them sleeps, and how often it asks whether
 * its subscriptions live, depends on that. */
void shared_count(struct owned_slot *slot, uint64_t asleep);

/* The sleep of the slot is over.  If this process is the backup, read first whether the message was
 * claimed, and then look or sleep again; false: it is not, so the slot looks at once. */
bool shared_probe(struct owned_slot *slot);

/* Look for messages, in a slot of any topic.  Others count on a process that sleeps in a shared one
 * and was told to look: so it calls even if it has no room for a message, and the call wakes
 * another process. */
void shared_look(struct owned_slot *slot);

#endif
