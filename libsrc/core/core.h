/* core.h - what the parts of a client share: loops, Redis, events, definitions, coordination.
 *
 * Each client has one core.  Producers and workers hold references to it, so the order in which
 * handles are freed does not matter: the last reference ends the threads.
 *
 * Thread: as each function says. */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include <stdatomic.h>

#include <slotmq/client.h>
#include <slotmq/hooks.h>

#include "base/event.h"
#include "base/loop.h"
#include "coord/coord.h"
#include "core/definitions.h"
#include "core/disuse.h"
#include "core/health.h"
#include "core/metrics.h"
#include "core/topic_numbers.h"
#include "core/zones.h"
#include "redis/redis.h"

struct coord_link; /* core/coord_link.h */

/* Immutable after core_new(), except `references`, `metrics`, `sources`, `slots_owned`, and what
 * `link` and `topic_numbers` guard themselves. */
struct core {
    atomic_int references;
    unsigned forks; /* by fork_count(), in the process that made it; others get SMQ_FORKED */
    struct loop *io, *call;
    struct redis *redis; /* used on smq:io */
    struct events *events;
    smq_hooks hooks; /* of the application; those that are NULL are not called */
    struct definitions *definitions;
    struct disuse *disuse;
    struct coord_link *link;
    struct metrics metrics;
    struct topic_numbers topic_numbers;
    struct zones zones;            /* smq:io */
    struct health_sources sources; /* smq:io */
    int64_t slots_owned;           /* smq:io: that workers look into, also of shared topics */
    char name[128];                /* of this member */
    /* where the fleet is coordinated: servers of ZooKeeper, or root of a tree in Redis */
    char *zookeeper, *root;
    char *zookeeper_auth;
    char *zookeeper_auth_file;
    int64_t request_timeout_ms, session_timeout_ms;
    smq_coordination_loss on_coordination_loss;
};

/* Start the threads and connect.  The options are complete, and so are their hooks.  `expire`
 * deletes topics that are not used.  Blocks: connect_timeout_ms. */
smq_status core_new(struct core **out, const smq_client_options *options, disuse_expire_fn *expire,
                    smq_error *err);
struct core *core_ref(struct core *core);

/* Where its fleet is, in a sentence for people.  Thread: any. */
static inline const char *core_fleet_text(const struct core *core)
{
    return core->zookeeper != NULL ? "ZooKeeper" : "the tree of the fleet in Redis";
}

/* Drop a reference; the last one ends everything, on a helper thread if this is a thread of the
 * core. */
void core_unref(struct core *core);

/* Returns SMQ_FORKED in a child of fork(), else SMQ_OK.  Every public function calls it first. */
smq_status core_check(const struct core *core, smq_error *err);

#endif
