/* benches.h - all benchmarks.
 *
 * Thread: main. */
#ifndef BENCH_BENCHES_H
#define BENCH_BENCHES_H

#include <stdbool.h>

#include "lab.h"

/* `run` measures lab_runs() times and reports.  false: it failed, and has printed why. */
struct bench {
    const char *name;
    const char *about;
    bool (*run)(struct lab *lab);
    bool with_steady; /* who asks for "steady" wants its figures, too */
};

bool bench_raw(struct lab *lab);
bool bench_send(struct lab *lab);
bool bench_groups(struct lab *lab);
bool bench_ids(struct lab *lab);
bool bench_drain(struct lab *lab);
bool bench_latency(struct lab *lab);
bool bench_steady(struct lab *lab);
bool bench_steady_far(struct lab *lab);
bool bench_steady_replica(struct lab *lab);
bool bench_steady_forms(struct lab *lab);
bool bench_busy(struct lab *lab);
bool bench_stall(struct lab *lab);
bool bench_shared(struct lab *lab);
bool bench_lanes(struct lab *lab);
bool bench_hot(struct lab *lab);
bool bench_delayed(struct lab *lab);
bool bench_peers(struct lab *lab);
bool bench_keyed(struct lab *lab);
bool bench_rebalance(struct lab *lab);
bool bench_fleet(struct lab *lab);
bool bench_tree(struct lab *lab);
bool bench_redis_cost(struct lab *lab);
bool bench_memory(struct lab *lab);
bool bench_idle(struct lab *lab);
bool bench_depth(struct lab *lab);
bool bench_slots(struct lab *lab);
bool bench_nodes(struct lab *lab);
bool bench_formats(struct lab *lab);

#endif
