/* extension.h - a longer lease for one delivery: asked for on any thread, which waits, and done on
 * smq:io.
 *
 * Thread: as each function says. */
#ifndef CONSUME_RUN_EXTENSION_H
#define CONSUME_RUN_EXTENSION_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include <slotmq/delivery.h>

#include "base/loop.h"
#include "base/waiter.h"

/* One that is asked for; it lives on the stack of the thread that waits. */
struct extension {
    STAILQ_ENTRY(extension) link;
    smq_delivery *delivery;
    int64_t lease_ms;
    struct waiter waiter;
    smq_error result;
};

STAILQ_HEAD(extension_list, extension);

/* The door to smq:io.  Invariant: `list` is empty once it is closed. */
struct extensions {
    pthread_mutex_t lock;
    struct extension_list list;
    bool closed;
    struct loop *io;
    struct loop_task *task; /* posted when there is something in the list */
};

void extensions_init(struct extensions *extensions, struct loop *io, struct loop_task *task);
void extensions_fini(struct extensions *extensions);

/* Let the lease of a delivery last at least `lease_ms` from now.  Blocks: until smq:io has called
 * extension_end(), which is a request time-out.  Fails: CLOSED, and what that says.
 * Thread: any but smq:io. */
smq_status extension_ask(struct extensions *extensions, smq_delivery *delivery, int64_t lease_ms,
                         smq_error *err);

/* Take what was asked for so far; or refuse that, and what is asked for from now on.
 * Thread: smq:io. */
void extensions_take(struct extensions *extensions, struct extension_list *out);
void extensions_close(struct extensions *extensions);

/* Let the one who waits go on; `extension` is gone afterwards.  Thread: smq:io. */
void extension_end(struct extension *extension, smq_status status, const char *text);

#endif
