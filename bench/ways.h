/* ways.h - the ways that messages of an open loop take: the library, Redis Streams, and the two
 * smallest scripts that could work.  Each begins to consume, then sends the flow, and waits until
 * all is handled; `cost` is from before the first message until then.
 *
 * Thread: main.  Failures are printed on standard error. */
#ifndef BENCH_WAYS_H
#define BENCH_WAYS_H

#include <stdbool.h>

#include "flow.h"
#include "lab.h"
#include "meter.h"

/* How the library is used. */
struct form {
    const char *name; /* the beginning of its figures */
    smq_layout layout;
    int threads;    /* of handlers */
    int handler_ms; /* that each handler sleeps */
    bool keys;      /* each message has a key and an id of its own; layout keyed */
    bool retries;   /* the first try of 5 % of the messages fails */
    bool busy;      /* of 1,000 keys 2 % are busy */
};

/* For what a message of the library waits on average, one after the other, from when it is due
 * until its handler begins.  WAIT_SENDER is measured, WAIT_WAKE is what the others leave of the
 * whole, and the library counts all others (smq_metrics). */
enum wait {
    WAIT_SENDER, /* until the sender calls: it is late, or the call before took long */
    WAIT_SEND,   /* in the producer, until the request with it leaves */
    WAIT_WAKE,   /* until its slot is told of it, or it comes as a push; of a slot that is not told,
                    until a part of the time between two of its calls */
    WAIT_SLOT,   /* while its slot has another call in progress, or messages in flight */
    WAIT_PACE,   /* while the call that claims it waits to leave together with others */
    WAIT_ROOM,   /* while a limit leaves no room for it */
    WAIT_CLAIM,  /* from when that call leaves until its reply */
    WAIT_HANDLER, /* until its handler begins */
    WAIT_REQUEST, /* beside them: from when its request leaves until the reply to that */
    WAITS
};

/* What the library says of its messages. */
struct way_found {
    double waits_ms[WAITS];
    double batch; /* messages of a request that sends */
};

bool way_library(struct lab *lab, smq_client *client, const struct form *form, struct flow *flow,
                 struct meter *cost, struct way_found *found);

/* `address`: of the Redis node, or of a relay to it. */
bool way_streams(struct lab *lab, const char *address, struct flow *flow, struct meter *cost);
bool way_two_scripts(struct lab *lab, const char *address, struct flow *flow, struct meter *cost);

#endif
