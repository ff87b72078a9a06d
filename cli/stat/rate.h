/* rate.h - what happened to a topic per second, from two readings of its counters.  Pure. */
#ifndef CLI_RATE_H
#define CLI_RATE_H

#include <slotmq/slotmq.h>

/* X(counter of smq_stats, title, weight of its column): the order of JSON and of the table. */
#define RATE_FIELDS(X)                                                                             \
    X(sent, "SENT/S", 49)                                                                          \
    X(merged, "MERGED/S", 10)                                                                      \
    X(done, "DONE/S", 50)                                                                          \
    X(retried, "RETRIED/S", 30)                                                                    \
    X(rejected, "REJECTED/S", 20)

struct rates {
#define X(counter, title, weight) double counter;
    RATE_FIELDS(X)
#undef X
};

/* false: the rates are not known, because no time has passed or a counter went back: the topic was
 * created anew. */
bool rates_between(struct rates *out, const smq_stats *before, const smq_stats *after, int64_t us);

#endif
