/* core.h - what the parts of one client share: loops, Redis, events, definitions, coordination.
 *
 * The client owns one core; producers and workers hold a reference to it, so the order in which
 * handles are freed does not matter: the last reference ends the threads.
 *
 * Thread: as each function says. */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include <stdatomic.h>
#include <sys/types.h>

#include <slotmq/client.h>

#include "base/event.h"
#include "base/loop.h"
#include "coord/coord.h"
#include "core/definitions.h"
#include "core/metrics.h"
#include "redis/redis.h"

struct coord_link; /* core/coord_link.h */

/* Immutable after core_new(), but for `references`, `metrics` and what `link` guards itself. */
struct core {
    atomic_int references;
    pid_t pid; /* of the process that made it: SMQ_FORKED elsewhere */
    struct loop *io, *call;
    struct redis *redis; /* use on smq:io */
    struct events *events;
    struct definitions *definitions;
    struct coord_link *link;
    struct metrics metrics;
    char name[128];                             /* of this member */
    char *servers, *zookeeper, *zookeeper_auth; /* zookeeper NULL: standalone */
    int64_t request_timeout_ms, session_timeout_ms;
    smq_zk_loss on_zk_loss;
};

/* Start the threads and connect.  The options are complete.  Blocks: connect_timeout_ms. */
smq_status core_new(struct core **out, const smq_client_options *options, smq_error *err);
struct core *core_ref(struct core *core);

/* The last one ends everything; if that happens on a thread of the core, a helper thread does it.
 */
void core_unref(struct core *core);

/* SMQ_FORKED in a child of fork(), else SMQ_OK.  The first line of every public call. */
smq_status core_check(const struct core *core, smq_error *err);

#endif
