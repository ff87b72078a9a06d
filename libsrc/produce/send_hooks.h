/* send_hooks.h - the hooks of the application around one send.
 *
 * Thread: as slotmq/hooks.h says. */
#ifndef PRODUCE_SEND_HOOKS_H
#define PRODUCE_SEND_HOOKS_H

#include <slotmq/hooks.h>

#include "base/arena.h"
#include "model/send.h"

/* What hooks have of a send.  Zeroed: no hook has begun it. */
struct send_hooks {
    const smq_hooks *hooks; /* NULL: not begun */
    void *span;
    struct arena added; /* the headers of the message, if some were added */
};

/* Show a message that has passed send_check(), and let it have the headers that are added, which
 * live until send_hooks_fini(). */
void send_hooks_begin(struct send_hooks *out, const smq_hooks *hooks, const char *topic,
                      struct message *message);

/* The send has this receipt.  Does nothing if it was not begun. */
void send_hooks_end(const struct send_hooks *send, const char *topic, const struct message *message,
                    const smq_receipt *receipt);

/* As smq_hook_headers_add(). */
smq_status send_hooks_add(smq_hook_headers *headers, const char *name, smq_bytes value,
                          smq_error *err);

void send_hooks_fini(struct send_hooks *send);

#endif
