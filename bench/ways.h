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
};

/* For what a message of the library waits: medians of messages after the warm ones.  A message that
 * is pushed may begin before its sender knows that it is stored, so the last may be negative. */
struct waits {
    double call_ms;   /* from when it is due until the send has returned */
    double stored_ms; /* from then until the receipt: it waits for others, and its request runs */
    double begun_ms;  /* from the receipt until its handler begins */
};

bool way_library(struct lab *lab, smq_client *client, const struct form *form, struct flow *flow,
                 struct meter *cost, struct waits *waits);

/* `address`: of the Redis node, or of a relay to it. */
bool way_streams(struct lab *lab, const char *address, struct flow *flow, struct meter *cost);
bool way_two_scripts(struct lab *lab, const char *address, struct flow *flow, struct meter *cost);

#endif
