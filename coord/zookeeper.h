/* zookeeper.h - the kind zookeeper: one member of a fleet, assembled from its parts.
 *
 * Each part knows only the parts below it, and reports upwards through a struct of callbacks.
 * These are set in zookeeper.c, the only file that knows all parts:
 *
 *     assigner       election     ownership
 *         |              \          /  |
 *         |               - member -   |
 *         |                    |       |
 *         +------- root -------+-------+
 *                    |
 *                 session > zk_session > zk_call, zk_probe > zk_log
 *
 * Below: assigner.h, election.h, ownership.h, member.h, root.h, session.h, coord_internal.h.
 *
 * Thread: smq:coord. */
#ifndef COORD_ZOOKEEPER_H
#define COORD_ZOOKEEPER_H

#include "base/waiter.h"
#include "coord/assigner/assigner.h"
#include "coord/assigner/election.h"
#include "coord/coord_internal.h"
#include "coord/member/member.h"
#include "coord/member/ownership.h"
#include "coord/session/root.h"
#include "coord/session/session.h"
#include "coord/session/zookeeper_env.h"
#include "coord/store.h"

/* Used by members that are made after it was changed. */
extern struct zookeeper_timings zookeeper_timings;

struct zookeeper {
    struct coord *coord;
    struct zookeeper_env env;
    struct coord_store store;
    struct session *session; /* the store's */
    struct root root;
    struct member member;
    struct ownership_set topics;
    struct election election;
    struct assigner assigner;
    struct loop_task start;
    struct waiter *waiter;   /* of coord_fleet_new(), until the first reply */
    smq_status first_status; /* the first reply */
    const char *first_text;
};

#endif
