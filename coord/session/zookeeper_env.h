/* zookeeper_env.h - what all parts of a member of a fleet share; none of them changes it.
 *
 * Below: nothing of this folder.  Thread: smq:coord. */
#ifndef COORD_SESSION_ZOOKEEPER_ENV_H
#define COORD_SESSION_ZOOKEEPER_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"
#include "base/loop.h"

/* Milliseconds; tests make them shorter. */
struct zookeeper_timings {
    int64_t join; /* a join waits this long for further ones */
    /* the same while no member owns anything; at most 3/10 of the session time-out */
    int64_t cold;
    int64_t quiet;        /* it ends earlier when no member has come for this long */
    int64_t ack;          /* changes of the own node are gathered for this long */
    int64_t leave;        /* a leave waits this long for the assigner */
    int64_t revoke_extra; /* revoked slots move after the member's drain_timeout plus this */
    int64_t retry;        /* wait after a failed call; also the first back-off of refused slots */
    int64_t idle;         /* nodes of a topic that no member asks for stay this long */
    int64_t hidden;       /* wait until the assigner reads nodes again that it may not read */
    int64_t fingerprint;  /* time between two writes of the own node for a changed fingerprint */
    int64_t mismatch;     /* members on different clusters are logged after this time */
    int64_t remind;       /* time between two such warnings */
    int64_t missed;       /* slots of a member without Redis move after this time */
    int64_t hold;         /* it gets slots again this long after Redis answers it again */
    int64_t hold_most;    /* each time `hold` doubles, up to this */
    int64_t forget;       /* `hold` begins anew when Redis has answered it for this long */
};

struct zookeeper_env {
    struct loop *loop; /* of smq:coord */
    struct events *events;
    const char *name;  /* of this member */
    const char *store; /* "ZooKeeper at HOSTS" or "Redis": where the nodes are */
    const char *kind;  /* "ZooKeeper" or "Redis" */
    bool in_redis;
    const char *root; /* the path of the fleet's root */
    struct zookeeper_timings timings;
};

#endif
