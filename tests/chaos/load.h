/* load.h - what senders and workers of a chaos run agree on: the topics, and bodies that say what
 * their handler has to do.
 *
 * A body is "KEY:SENDER:NUMBER:KIND", without white space.  Thread: any. */
#ifndef CHAOS_LOAD_H
#define CHAOS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

/* LOAD_PRIORITY: the index of the topic with priorities; LOAD_SHARED: of the last one, which is
 * shared; LOAD_TICKS: of one to which nothing is sent, because it has schedules. */
enum { LOAD_TOPICS = 5, LOAD_PRIORITY = 2, LOAD_SHARED = 4, LOAD_TICKS = LOAD_TOPICS };
enum { LOAD_KEY_MAX = 24, LOAD_BODY_MAX = 128 };
enum { LOAD_SESSION_MS = 3000 };

/* What the handler does with a message. */
enum load_kind {
    LOAD_DONE,       /* it answers done                                        */
    LOAD_FAIL_FIRST, /* it fails the first attempt                             */
    LOAD_FAIL,       /* it fails every attempt, so that the message ends dead  */
    LOAD_REJECT,     /* it rejects the message                                 */
    LOAD_SLOW,       /* it works for a while, then answers done                */
    LOAD_BUSY,       /* it works for a moment, then answers done               */
    LOAD_KINDS
};

extern const char *const load_topics[LOAD_TOPICS + 1];

/* One message of a sender.  Invariant: `body`, `key` and `id` end with NUL. */
struct load_message {
    int topic; /* index in load_topics */
    char body[LOAD_BODY_MAX], key[LOAD_KEY_MAX];
    char id[LOAD_BODY_MAX]; /* empty: the library makes one, or the topic has none */
    int64_t priority, due_at_ms, delay_ms;
};

/* Message number `number` of `sender`: the same for the same arguments, but for times. */
void load_make(struct load_message *out, const char *sender, uint64_t number, int64_t now_ms);

/* The same for a message of the hot key: of the first topic, due at once, LOAD_BUSY. */
void load_make_hot(struct load_message *out, const char *sender, uint64_t number);

/* What the body asks for; LOAD_DONE of a body of another form. */
enum load_kind load_kind_of(const char *body);

#endif
