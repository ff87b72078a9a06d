/* stat_table.h - what topics hold and have done, as the table of slotmq stat.  Pure. */
#ifndef CLI_STAT_TABLE_H
#define CLI_STAT_TABLE_H

#include "cli/stat/stat_read.h"
#include "cli/text/table.h"

/* X(counter of smq_stats, title, weight of its column): the order of the table. */
#define COUNTER_FIELDS(X)                                                                          \
    X(sent, "SENT", 29)                                                                            \
    X(merged, "MERGED", 24)                                                                        \
    X(done, "DONE", 30)                                                                            \
    X(retried, "RETRIED", 28)                                                                      \
    X(rejected, "REJECTED", 27)                                                                    \
    X(expired, "EXPIRED", 26)                                                                      \
    X(released, "RELEASED", 23)                                                                    \
    X(lease_lost, "LEASE_LOST", 25)

/* A row for each topic that could be read, or for each of its slots. */
struct table *stat_table(const struct stat_topic *topics, size_t count, bool slots);

#endif
