/* zookeeper.h - the kind zookeeper: one member of a fleet, put together from its parts.
 *
 * Each part knows only the parts below it.  What it has to say upwards goes through a struct of
 * callbacks, set once in zookeeper.c, which is the only file that knows them all:
 *
 *     assigner       election     ownership
 *         |              \          /  |
 *         |               - member -   |
 *         |                    |       |
 *         +------- root -------+-------+
 *                    |
 *      zk_session > zk_call, zk_probe
 *
 * Below: assigner.h, election.h, ownership.h, member.h, root.h, zk_session.h, coord_internal.h.
 *
 * Thread: smq:coord. */
#ifndef COORD_ZOOKEEPER_H
#define COORD_ZOOKEEPER_H

#include "base/waiter.h"
#include "coord/assigner.h"
#include "coord/coord_internal.h"
#include "coord/election.h"
#include "coord/member.h"
#include "coord/ownership.h"
#include "coord/root.h"
#include "coord/zk_session.h"
#include "coord/zookeeper_env.h"

/* For the handles made after it is changed. */
extern struct zookeeper_timings zookeeper_timings;

struct zookeeper {
    struct coord *coord;
    struct zookeeper_env env;
    char *hosts;
    char root_path[ZK_ROOT_MAX];
    struct zk_session session;
    struct root root;
    struct member member;
    struct ownership_set topics;
    struct election election;
    struct assigner assigner;
    struct loop_task start;
    struct waiter *waiter;   /* of coord_zookeeper_new(), until the first answer */
    smq_status first_status; /* the first answer */
    const char *first_text;
};

#endif
