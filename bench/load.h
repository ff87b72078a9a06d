/* load.h - messages sent at a given rate whatever becomes of them, consumed meanwhile; times are
 * from when a message should have been sent, so that a stall counts for all it held up.
 *
 * Thread: main sends; the handler runs on one thread of the worker. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

#include "lab.h"

/* Send so many at `rate` a second and report a run: the figures "NAME-p50", "-p99", "-p99.9",
 * "-client-cpu" and "-redis-cpu". */
bool load_at(struct lab *lab, smq_client *client, double rate, uint64_t messages, const char *name);

/* Send them as fast as they are taken: the figure "NAME", messages a second, also in `rate`. */
bool load_most(struct lab *lab, smq_client *client, uint64_t messages, const char *name,
               double *rate);

#endif
