/* streams.h - Redis Streams by hand: the peer with the cheapest claim and commit on the same
 * server.
 *
 * Thread: main.  What fails is said on standard error. */
#ifndef BENCH_PEERS_STREAMS_H
#define BENCH_PEERS_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "lab.h"
#include "tally.h"

struct streams;

/* So many streams, each with a consumer group. */
struct streams *streams_open(struct lab *lab, int count);
void streams_close(struct streams *streams);

/* XADD of messages 0 .. count - 1, as many in flight as for `batch` messages of the library. */
bool streams_send(struct streams *streams, uint64_t count);

/* XREADGROUP of `batch`, then XACK and XDEL of them with the next one, until nothing is left. */
bool streams_drain(struct streams *streams, struct tally *tally, int batch);

#endif
