/* zookeeper.h - what the ZooKeeper server of a benchmark says of itself, and has stored.
 *
 * Thread: main.  Failures are printed on standard error. */
#ifndef BENCH_ZOOKEEPER_H
#define BENCH_ZOOKEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "lab.h"

/* `zxid` counts all that was ever written: nodes, and the begin and end of sessions. */
struct zookeeper_facts {
    int64_t zxid;
    int64_t connections; /* now; that of the question is one of them */
    int64_t watches, data_bytes;
};

/* false: it does not answer. */
bool zookeeper_look(struct zookeeper_facts *out, const struct lab *lab);

/* The size of its snapshots together; it writes one when it starts. */
int64_t zookeeper_snapshot_bytes(const struct lab *lab);

#endif
