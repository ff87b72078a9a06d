/* streams.h - Redis Streams by hand: the peer with the cheapest claim and commit on the same
 * server.
 *
 * Thread: main.  What fails is said on standard error. */
#ifndef BENCH_PEERS_STREAMS_H
#define BENCH_PEERS_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "lab.h"
#include "meter.h"
#include "tally.h"

struct streams_result {
    struct meter sent, drained;
    struct tally_counts counts;
};

/* On an empty lab: XADD of messages 0 .. count - 1 to 64 streams, each with a consumer group; then
 * XREADGROUP of 100 from each in turn, with XACK and XDEL of the last 100, until nothing is left.
 */
bool streams_measure(struct lab *lab, uint64_t count, struct streams_result *out);

#endif
