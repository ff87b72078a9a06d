/* bench_send.c - sending: blocking, asynchronous with and without polled receipts, and in batches,
 * against hand-written loops.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

enum { LIBRARY_BATCH = SCENE_SLOTS * SCENE_BATCH };

struct sending {
    struct scene scene;
    smq_producer *producer;
    uint64_t count;
};

typedef bool way_fn(const struct sending *sending);

static bool by_zadd(const struct sending *sending)
{
    return raw_zadd(sending->scene.raw, sending->count, SCENE_BATCH);
}

static bool by_script(const struct sending *sending)
{
    return raw_send(sending->scene.raw, sending->count, SCENE_BATCH);
}

static bool by_async(const struct sending *sending)
{
    return library_send_async(sending->producer, sending->scene.topic, sending->count);
}

static bool by_polls(const struct sending *sending)
{
    return library_send_polled(sending->producer, sending->scene.topic, sending->count);
}

static bool by_batches(const struct sending *sending)
{
    return library_send_batches(sending->producer, sending->scene.topic, sending->count,
                                LIBRARY_BATCH);
}

static bool by_one_thread(const struct sending *sending)
{
    return library_send_blocking(sending->producer, sending->scene.topic, sending->count, 1);
}

static bool by_eight_threads(const struct sending *sending)
{
    return library_send_blocking(sending->producer, sending->scene.topic, sending->count, 8);
}

struct way {
    const char *name;
    way_fn *send;
    uint64_t full, quick;
};

enum { ZADD, RAW, ASYNC, POLLED, BATCHES, ONE_THREAD, EIGHT_THREADS, WAYS };

static const struct way over_tls = {"send-tls", by_async, 1000000, 200000};

static const struct way ways[WAYS] = {
    [ZADD] = {"send-zadd", by_zadd, 1000000, 200000},
    [RAW] = {"send-raw", by_script, 1000000, 200000},
    [ASYNC] = {"send-async", by_async, 1000000, 200000},
    [POLLED] = {"send-polled", by_polls, 1000000, 200000},
    [BATCHES] = {"send-batches", by_batches, 1000000, 200000},
    [ONE_THREAD] = {"send-1-thread", by_one_thread, 50000, 10000},
    [EIGHT_THREADS] = {"send-8-threads", by_eight_threads, 200000, 40000},
};

static bool measure_way(struct lab *lab, smq_client *client, const struct way *way,
                        struct outcome *out)
{
    struct sending sending = {.count = lab_count(lab, way->full, way->quick)};
    struct tally_counts counts;
    struct meter cost;

    bool good = scene_open(&sending.scene, lab, client, SCENE_SLOTS) &&
                (sending.producer = way->send == by_polls ? library_polled_producer(client)
                                                          : library_producer(client)) != NULL &&
                meter_start(&cost, lab) && way->send(&sending) && meter_stop(&cost, lab) &&
                scene_stored(&sending.scene, sending.count, &counts);
    smq_producer_free(sending.producer);
    scene_close(&sending.scene);
    if (good) {
        *out = scene_tell(lab, way->name, counts, &cost);
    }
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
    report_ratio(report, "send-polled/async", outcomes[POLLED].rate, async);
    report_value(report, "send-polled-receipts", "1/s", outcomes[POLLED].rate);
    report_ratio(report, "send-cpu/raw", outcomes[ASYNC].client_us, outcomes[RAW].client_us);
    report_ratio(report, "send-8-threads/1-thread", outcomes[EIGHT_THREADS].rate,
                 outcomes[ONE_THREAD].rate);
}

/* What is sent is encrypted; what is asked about the topic is not. */
static bool measure_tls(struct lab *lab, const struct outcome *plain)
{
    struct outcome tls;
    smq_client *client = lab_tls_client(lab);

    if (client == NULL || !measure_way(lab, client, &over_tls, &tls)) {
        return false;
    }
    scene_compare_tls(lab, "send", &tls, plain);
    return true;
}

static bool measure(struct lab *lab, smq_client *client)
{
    struct outcome outcomes[WAYS];

    for (int i = 0; i < WAYS; i++) {
        if (!measure_way(lab, client, &ways[i], &outcomes[i])) {
            return false;
        }
    }
    compare(lab_report(lab), outcomes);
    return !lab_options(lab)->tls || measure_tls(lab, &outcomes[ASYNC]);
}

bool bench_send(struct lab *lab)
{
    return scene_runs(lab, LAB_SHORT, measure);
}
