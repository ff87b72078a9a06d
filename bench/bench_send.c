/* bench_send.c - sending: blocking, asynchronous and in batches, against hand-written loops.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "meter.h"
#include "raw.h"

enum { SLOTS = 64, BATCH = 100, LIBRARY_BATCH = SLOTS * BATCH };

/* One way to send.  `topic` and `raw` are new and empty. */
struct scene {
    struct lab *lab;
    smq_producer *producer;
    struct raw *raw;
    char topic[LAB_NAME_SIZE];
    uint64_t count;
};

typedef bool way_fn(const struct scene *scene);

static bool by_zadd(const struct scene *scene)
{
    return raw_zadd(scene->raw, scene->count, BATCH);
}

static bool by_script(const struct scene *scene)
{
    return raw_send(scene->raw, scene->count, BATCH);
}

static bool by_async(const struct scene *scene)
{
    return library_send_async(scene->producer, scene->topic, scene->count);
}

static bool by_batches(const struct scene *scene)
{
    return library_send_batches(scene->producer, scene->topic, scene->count, LIBRARY_BATCH);
}

static bool by_one_thread(const struct scene *scene)
{
    return library_send_blocking(scene->producer, scene->topic, scene->count, 1);
}

static bool by_eight_threads(const struct scene *scene)
{
    return library_send_blocking(scene->producer, scene->topic, scene->count, 8);
}

struct way {
    const char *name;
    way_fn *send;
    uint64_t full, quick;
};

enum { ZADD, RAW, ASYNC, BATCHES, ONE_THREAD, EIGHT_THREADS, WAYS };

static const struct way ways[WAYS] = {
    [ZADD] = {"zadd", by_zadd, 1000000, 200000},
    [RAW] = {"raw", by_script, 1000000, 200000},
    [ASYNC] = {"async", by_async, 1000000, 200000},
    [BATCHES] = {"batches", by_batches, 1000000, 200000},
    [ONE_THREAD] = {"1-thread", by_one_thread, 50000, 10000},
    [EIGHT_THREADS] = {"8-threads", by_eight_threads, 200000, 40000},
};

/* Messages a second and client CPU seconds a message of one way. */
struct outcome {
    double rate, cpu;
};

static bool measure(struct scene *scene, const struct way *way, struct outcome *out)
{
    struct report *report = lab_report(scene->lab);
    uint64_t waiting = 0;
    struct meter cost;
    char name[48];

    scene->count = lab_count(scene->lab, way->full, way->quick);
    if (!meter_start(&cost, scene->lab) || !way->send(scene) || !meter_stop(&cost, scene->lab) ||
        !raw_waiting(scene->raw, &waiting)) {
        return false;
    }
    double count = (double) scene->count;
    report_tally(report, way->name,
                 (struct tally_counts){scene->count, waiting, scene->count - waiting, 0, 0},
                 cost.seconds);
    *out = (struct outcome){count / cost.seconds, cost.client_cpu_s / count};
    snprintf(name, sizeof(name), "send-%s", way->name);
    report_value(report, name, "messages/s", out->rate);
    snprintf(name, sizeof(name), "send-%s-client-cpu", way->name);
    report_value(report, name, "us/message", out->cpu * 1e6);
    snprintf(name, sizeof(name), "send-%s-redis-cpu", way->name);
    report_value(report, name, "us/message", cost.redis_cpu_s * 1e6 / count);
    return true;
}

static bool measure_way(struct lab *lab, smq_client *client, const struct way *way,
                        struct outcome *out)
{
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    struct scene scene = {.lab = lab};
    smq_error err = {.text = ""};

    options.full_timeout_ms = 60000;
    options.send_timeout_ms = 60000;
    bool good = lab_empty(lab) && lab_topic(lab, client, scene.topic, SLOTS) &&
                (scene.raw = raw_open(lab, scene.topic, SLOTS)) != NULL &&
                lab_good(smq_producer_new(&scene.producer, client, &options, &err), &err) &&
                measure(&scene, way, out);
    smq_producer_free(scene.producer);
    raw_close(scene.raw);
    return good;
}

static void compare(struct report *report, const struct outcome *outcomes)
{
    double async = outcomes[ASYNC].rate, batches = outcomes[BATCHES].rate;
    double best = async > batches ? async : batches;

    report_ratio(report, "send/raw", best, outcomes[RAW].rate);
    report_ratio(report, "send/zadd", best, outcomes[ZADD].rate);
    report_ratio(report, "send-async/raw", async, outcomes[RAW].rate);
    report_ratio(report, "send-batches/raw", batches, outcomes[RAW].rate);
    report_ratio(report, "send-cpu/raw", outcomes[ASYNC].cpu, outcomes[RAW].cpu);
    report_ratio(report, "send-8-threads/1-thread", outcomes[EIGHT_THREADS].rate,
                 outcomes[ONE_THREAD].rate);
}

bool bench_send(struct lab *lab)
{
    smq_client *client = lab_servers(lab, 1, false) ? lab_client(lab) : NULL;
    bool good = client != NULL;

    for (int run = 0; run < lab_runs(lab) && good; run++) {
        struct outcome outcomes[WAYS];
        report_run(lab_report(lab));
        for (int i = 0; i < WAYS && good; i++) {
            good = measure_way(lab, client, &ways[i], &outcomes[i]);
        }
        if (good) {
            compare(lab_report(lab), outcomes);
        }
    }
    smq_client_free(client);
    return good;
}
