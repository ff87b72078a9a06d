/* rate.h - what happened to a topic per second, from two readings of its counters.  Pure. */
#ifndef CLI_RATE_H
#define CLI_RATE_H

#include <slotmq/slotmq.h>

/* X(counter of smq_stats, title): the order of JSON and of the table. */
#define RATE_FIELDS(X)                                                                             \
    X(sent, ">SENT/S")                                                                             \
    X(merged, ">MERGED/S")                                                                         \
    X(done, ">DONE/S")                                                                             \
    X(retried, ">RETRIED/S")                                                                       \
    X(rejected, ">REJECTED/S")

struct rates {
#define X(counter, title) double counter;
    RATE_FIELDS(X)
#undef X
};

/* false: the rates are not known, because no time has passed or a counter went back: the topic was
 * created anew. */
bool rates_between(struct rates *out, const smq_stats *before, const smq_stats *after, int64_t us);

#endif
