/* load.h - sends messages at a given rate, however fast they are handled, and consumes them at the
 * same time.  Times count from when a message should have been sent, so a stall counts for every
 * message that it delays.
 *
 * Thread: main sends; the handler runs on one thread of the worker. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

#include "lab.h"

/* Send this many messages at `rate` per second and report a run: the figures "NAME-p50", "-p99",
 * "-p99.9",
 * "-client-cpu" and "-redis-cpu". */
bool load_at(struct lab *lab, smq_client *client, double rate, uint64_t messages, const char *name);

/* Send them as fast as possible: the figure "NAME", messages per second, also in `rate`. */
bool load_most(struct lab *lab, smq_client *client, uint64_t messages, const char *name,
               double *rate);

#endif
