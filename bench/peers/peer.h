/* peer.h - another queue that is given the same messages.
 *
 * Thread: main.  What fails is said on standard error. */
#ifndef BENCH_PEERS_PEER_H
#define BENCH_PEERS_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "lab.h"
#include "tally.h"

struct peer_result {
    double sent_s, drained_s;
    struct tally_counts counts;
};

struct peer {
    const char *name;
    const char *how; /* in a few words, for the table of figures */

    /* What is not installed here; NULL: it can be measured. */
    const char *(*missing)(const struct lab *lab);

    /* Send messages 0 .. count - 1, then consume and acknowledge them.  Redis is empty before. */
    bool (*measure)(struct lab *lab, uint64_t count, struct peer_result *out);
};

extern const struct peer peer_streams, peer_node, peer_bullmq;

/* Is there such a program in PATH? */
bool peer_has_program(const char *name);

#endif
