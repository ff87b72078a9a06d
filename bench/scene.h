/* scene.h - what most benchmarks do: make a topic, fill it, drain it, report the cost.
 *
 * Thread: main.  Failures are printed on standard error. */
#ifndef BENCH_SCENE_H
#define BENCH_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

#include "lab.h"
#include "meter.h"
#include "raw.h"
#include "tally.h"

enum { SCENE_SLOTS = 64, SCENE_BATCH = 100 };

/* A topic, and hand-written loops over it. */
struct scene {
    struct lab *lab;
    smq_client *client;
    struct raw *raw;
    int slots;
    smq_layout layout;
    char topic[LAB_NAME_SIZE];
};

/* Empty the lab and make a topic of layout inline, or of the given one; or make another topic.
 * scene_close() may be called whatever they returned.  Hand-written loops know layout inline. */
bool scene_open(struct scene *scene, struct lab *lab, smq_client *client, int slots);
bool scene_open_laid_out(struct scene *scene, struct lab *lab, smq_client *client, int slots,
                         smq_layout layout);
bool scene_add(struct scene *scene, struct lab *lab, smq_client *client, int slots);
void scene_close(struct scene *scene);

/* Store messages 0 .. count - 1: alike in all slots by the send script, on one master; of layout
 * keyed by the library, with ids that it makes. */
bool scene_fill(struct scene *scene, uint64_t count);

/* Consume `count` messages by one worker thread with an empty handler. */
bool scene_drain(struct scene *scene, uint64_t count, struct tally *tally, struct meter *cost);

/* Count messages that were sent but are not waiting as lost. */
bool scene_stored(struct scene *scene, uint64_t sent, struct tally_counts *out);

/* The cost of one message. */
struct outcome {
    double rate;                /* messages per second */
    double client_us, redis_us; /* CPU */
};

/* What encryption costs: the figures "NAME-tls/plain", "NAME-tls-client-cpu/plain" and
 * "NAME-tls-redis-cpu/plain". */
void scene_compare_tls(struct lab *lab, const char *name, const struct outcome *tls,
                       const struct outcome *plain);

/* Report a run: the figures "NAME", "NAME-client-cpu" and "NAME-redis-cpu"; or only the last two.
 */
struct outcome scene_tell(struct lab *lab, const char *name, struct tally_counts counts,
                          const struct meter *cost);
struct outcome scene_tell_cpu(struct lab *lab, const char *name, const struct meter *cost,
                              double count);

/* Run a benchmark on one master: a client, and `measure` for each run. */
typedef bool scene_measure_fn(struct lab *lab, smq_client *client);
bool scene_runs(struct lab *lab, enum lab_pace pace, scene_measure_fn *measure);

#endif
