/* tries.h - how the last tries of a message ended: read from what lua/lib/reason.lua stores behind
 * the reason.
 *
 * Pure. */
#ifndef MODEL_TRIES_H
#define MODEL_TRIES_H

#include <stddef.h>

#include <slotmq/message.h>

/* The first `count` of `item`; their reasons point to `text`. */
struct tries {
    size_t count;
    smq_try item[SMQ_TRIES_MAX];
    char text[SMQ_TRIES_MAX][SMQ_REASON_MAX + 1];
};

/* Read a reason with its history, the newest try first.  A reason alone has none.  Of what cannot
 * be read, and of what comes behind it, nothing is known. */
void tries_decode(struct tries *out, const char *stored, size_t len);

#endif
