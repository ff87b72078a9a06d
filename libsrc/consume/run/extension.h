/* extension.h - extending the lease of one delivery: any thread requests it and waits, smq:io does
 * it.
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

/* One request.  It is on the stack of the thread that waits for it. */
struct extension {
    STAILQ_ENTRY(extension) link;
    smq_delivery *delivery;
    int64_t lease_ms;
    struct waiter waiter;
    smq_error result;
};

STAILQ_HEAD(extension_list, extension);

/* The requests that smq:io has not taken yet.  Invariant: `list` is empty once it is closed. */
struct extensions {
    pthread_mutex_t lock;
    struct extension_list list;
    bool closed;
    struct loop *io;
    struct loop_task *task; /* posted when a request enters the list */
};

void extensions_init(struct extensions *extensions, struct loop *io, struct loop_task *task);
void extensions_fini(struct extensions *extensions);

/* Extend the lease of a delivery so that it lasts at least `lease_ms` from now.  Blocks until
 * smq:io has called extension_end(), which takes a request time-out at most.  Fails: CLOSED, and as
 * extension_end() says.  Thread: any but smq:io. */
smq_status extension_ask(struct extensions *extensions, smq_delivery *delivery, int64_t lease_ms,
                         smq_error *err);

/* Take all requests; or refuse them and all later ones.  Thread: smq:io. */
void extensions_take(struct extensions *extensions, struct extension_list *out);
void extensions_close(struct extensions *extensions);

/* End a request: its thread returns, and `extension` is no longer valid.  Thread: smq:io. */
void extension_end(struct extension *extension, smq_status status, const char *text);

#endif
