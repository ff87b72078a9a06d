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
};

bool way_library(struct lab *lab, smq_client *client, const struct form *form, struct flow *flow,
                 struct meter *cost);

/* `address`: of the Redis node, or of a relay to it. */
bool way_streams(struct lab *lab, const char *address, struct flow *flow, struct meter *cost);
bool way_two_scripts(struct lab *lab, const char *address, struct flow *flow, struct meter *cost);

#endif
