/* bench_send.c - sending to the default topic: asynchronous, in batches, blocking; then to one of
 * layout inline, also with polled receipts, and against hand-written loops.
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
    smq_layout layout;
    way_fn *send;
    uint64_t full, quick;
};

enum {
    ASYNC,
    BATCHES,
    ONE_THREAD,
    EIGHT_THREADS,
    ZADD,
    RAW,
    INLINE_ASYNC,
    INLINE_POLLED,
    INLINE_BATCHES,
    WAYS
};

static const struct way over_tls = {"send-tls", SMQ_LAYOUT_INLINE, by_async, 1000000, 200000};

static const struct way ways[WAYS] = {
    [ASYNC] = {"send-async", SMQ_LAYOUT_KEYED, by_async, 1000000, 200000},
    [BATCHES] = {"send-batches", SMQ_LAYOUT_KEYED, by_batches, 1000000, 200000},
    [ONE_THREAD] = {"send-1-thread", SMQ_LAYOUT_KEYED, by_one_thread, 50000, 10000},
    [EIGHT_THREADS] = {"send-8-threads", SMQ_LAYOUT_KEYED, by_eight_threads, 200000, 40000},
    [ZADD] = {"send-zadd", SMQ_LAYOUT_INLINE, by_zadd, 1000000, 200000},
    [RAW] = {"send-raw", SMQ_LAYOUT_INLINE, by_script, 1000000, 200000},
    [INLINE_ASYNC] = {"send-inline-async", SMQ_LAYOUT_INLINE, by_async, 1000000, 200000},
    [INLINE_POLLED] = {"send-inline-polled", SMQ_LAYOUT_INLINE, by_polls, 1000000, 200000},
    [INLINE_BATCHES] = {"send-inline-batches", SMQ_LAYOUT_INLINE, by_batches, 1000000, 200000},
};

static bool measure_way(struct lab *lab, smq_client *client, const struct way *way,
                        struct outcome *out)
{
    struct sending sending = {.count = lab_count(lab, way->full, way->quick)};
    struct tally_counts counts;
    struct meter cost;

    bool good = scene_open_laid_out(&sending.scene, lab, client, SCENE_SLOTS, way->layout) &&
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
    double async = outcomes[INLINE_ASYNC].rate, batches = outcomes[INLINE_BATCHES].rate;
    double best = async > batches ? async : batches;

    report_ratio(report, "send-8-threads/1-thread", outcomes[EIGHT_THREADS].rate,
                 outcomes[ONE_THREAD].rate);
    report_ratio(report, "send-async/inline", outcomes[ASYNC].rate, async);
    report_ratio(report, "send-batches/inline", outcomes[BATCHES].rate, batches);
    report_ratio(report, "send-inline/raw", best, outcomes[RAW].rate);
    report_ratio(report, "send-inline/zadd", best, outcomes[ZADD].rate);
    report_ratio(report, "send-inline-async/raw", async, outcomes[RAW].rate);
    report_ratio(report, "send-inline-batches/raw", batches, outcomes[RAW].rate);
    report_ratio(report, "send-inline-polled/async", outcomes[INLINE_POLLED].rate, async);
    report_value(report, "send-inline-polled-receipts", "1/s", outcomes[INLINE_POLLED].rate);
    report_ratio(report, "send-inline-cpu/raw", outcomes[INLINE_ASYNC].client_us,
                 outcomes[RAW].client_us);
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
    return !lab_options(lab)->tls || measure_tls(lab, &outcomes[INLINE_ASYNC]);
}

bool bench_send(struct lab *lab)
{
    return scene_runs(lab, LAB_SHORT, measure);
}
