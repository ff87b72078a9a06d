/* bench_cost.c - what a message costs Redis: CPU, commands, traffic; and memory while it waits.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

static void tell(struct lab *lab, const char *what, const struct meter *cost, uint64_t count)
{
    static const char *const names[] = {"cpu", "calls", "commands", "bytes-in", "bytes-out"};
    static const char *const units[] = {"us", "calls", "commands", "bytes", "bytes"};
    const double values[] = {cost->redis_cpu_s * 1e6, (double) cost->calls, (double) cost->commands,
                             (double) cost->bytes_in, (double) cost->bytes_out};
    char figure[48];

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(figure, sizeof(figure), "redis-%s-%s", what, names[i]);
        report_value(lab_report(lab), figure, units[i], values[i] / (double) count);
    }
}

static bool measure_cost(struct lab *lab, smq_client *client)
{
    uint64_t count = lab_count(lab, 1000000, 200000);
    struct tally *tally = tally_new(count, SCENE_SLOTS);
    struct scene scene;
    struct meter sent, drained;
    bool good = scene_open(&scene, lab, client, SCENE_SLOTS) &&
                library_store(lab, client, scene.topic, count, &sent) &&
                scene_drain(&scene, count, tally, &drained);

    if (good) {
        report_tally(lab_report(lab), "slotmq", tally_counts(tally), drained.seconds);
        tell(lab, "send", &sent, count);
        tell(lab, "drain", &drained, count);
    }
    scene_close(&scene);
    tally_free(tally);
    return good;
}

bool bench_redis_cost(struct lab *lab)
{
    return scene_runs(lab, 1, measure_cost);
}

/* === Memory ============================================================= */

typedef bool store_fn(struct scene *scene, uint64_t count);

static bool by_zadd(struct scene *scene, uint64_t count)
{
    return raw_zadd(scene->raw, count, SCENE_BATCH);
}

static bool by_library(struct scene *scene, uint64_t count)
{
    struct meter cost;

    return library_store(scene->lab, scene->client, scene->topic, count, &cost);
}

/* Bytes a message; what the empty topic needs is not counted. */
static bool weigh(struct lab *lab, smq_client *client, store_fn *store, uint64_t count, double *out)
{
    struct scene scene;
    uint64_t before = 0, after = 0;
    bool good = scene_open(&scene, lab, client, SCENE_SLOTS) && meter_used_memory(&before, lab) &&
                store(&scene, count) && meter_used_memory(&after, lab);

    scene_close(&scene);
    *out = (double) (after - before) / (double) count;
    return good;
}

static bool measure_memory(struct lab *lab, smq_client *client)
{
    uint64_t count = lab_count(lab, 1000000, 200000);
    double zadd, library;

    if (!weigh(lab, client, by_zadd, count, &zadd) ||
        !weigh(lab, client, by_library, count, &library)) {
        return false;
    }
    report_value(lab_report(lab), "memory-zadd", "bytes", zadd);
    report_value(lab_report(lab), "memory-slotmq", "bytes", library);
    report_ratio(lab_report(lab), "memory/zadd", library, zadd);
    return true;
}

bool bench_memory(struct lab *lab)
{
    return scene_runs(lab, 1, measure_memory);
}
