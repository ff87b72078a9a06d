/* zookeeper_env.h - what every part of a member of a fleet is given, and none of them changes.
 *
 * Below: nothing of this folder.  Thread: smq:coord. */
#ifndef COORD_ZOOKEEPER_ENV_H
#define COORD_ZOOKEEPER_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"
#include "base/loop.h"

/* Milliseconds; tests make them shorter. */
struct zookeeper_timings {
    int64_t join;         /* joins wait this long for more of them */
    int64_t cold;         /* the same when no member owns anything; 3/10 of the session at most */
    int64_t ack;          /* changes of the own node are gathered */
    int64_t leave;        /* a leave waits this long for the assigner */
    int64_t revoke_extra; /* on top of a member's drain_timeout: then its slots move on */
    int64_t retry;        /* after a failed call; also the first back-off of refused slots */
    int64_t idle;         /* the nodes of a topic that no member asks for stay this long */
    int64_t hidden;       /* until the assigner looks again at what ZooKeeper did not show */
    int64_t marks;        /* between two writes of the own node because its marks are others */
    int64_t strangers;    /* members must work on different clusters this long to be named */
    int64_t remind;       /* between two times that such members are named */
};

struct zookeeper_env {
    struct loop *loop; /* of smq:coord */
    struct events *events;
    const char *name;  /* of this member */
    const char *hosts; /* of the servers, as the messages name them */
    const char *root;  /* the path of the fleet's root */
    bool open;         /* nodes are made without credentials: everyone may write them */
    struct zookeeper_timings timings;
};

#endif
