#include "report.h"

#include <stddef.h>
#include <string.h>

/* figures.py has their words.  delayed-p99 is of a million messages due evenly within 10 s: within
 * one second no master can follow, as delayed-1s-span/drain shows. */
static const struct goal goals[] = {
    {"send/raw", 0.95, 0.80},          {"send/zadd", 0.8, 0.5},
    {"send-8-threads/1-thread", 5, 3}, {"drain/raw", 0.95, 0.80},
    {"drain/streams", 1.0, 0.7},       {"drain/bullmq", 15, 10},
    {"drain/beanstalkd", 2.5, 1.5},    {"drain/rabbitmq", 2.5, 1.5},
    {"drain-cpu/raw", 1.5, 2.5},       {"raw/streams", 1.0, 0.85},
    {"latency/raw", 1.2, 1.6},         {"latency/blpop", 2.3, 3.0},
    {"memory/zadd", 1.0, 1.05},        {"depth-10M/100k", 0.95, 0.8},
    {"slots-4096/64", 0.95, 0.8},      {"nodes-3/1", 1.05, 1.2},
    {"idle-commands", 5, 20},          {"idle-cpu", 0.1, 1},
    {"delayed-p99", 50, 1000},         {"rebalance-join", 0.3, 1},
    {"rebalance-leave", 0.3, 1},       {"rebalance-pause-p99", 30, 200},
};

const struct goal *goal_of(const char *figure)
{
    for (size_t i = 0; i < sizeof(goals) / sizeof(goals[0]); i++) {
        if (strcmp(goals[i].figure, figure) == 0) {
            return &goals[i];
        }
    }
    return NULL;
}
