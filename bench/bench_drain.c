/* bench_drain.c - a backlog is consumed with an empty handler: from the default topic and beside it
 * by Redis Streams; with ids of the sender, with 5 % of retries, and with 2 % of keys busy; then
 * from a topic of layout inline, by the library and by a hand-written loop of the same script.
 *
 * Thread: main. */
#include "benches.h"
#include "library.h"
#include "peers/streams.h"
#include "scene.h"

#define RAW_LEAST 0.85 /* of the rate of Redis Streams in the same run */

static bool by_hand(struct scene *scene, uint64_t count, struct tally *tally, struct meter *cost)
{
    return scene_fill(scene, count) && raw_own(scene->raw) && meter_start(cost, scene->lab) &&
           raw_drain(scene->raw, tally, SCENE_BATCH) && meter_stop(cost, scene->lab);
}

static bool by_library(struct scene *scene, uint64_t count, struct tally *tally, struct meter *cost)
{
    return scene_fill(scene, count) && scene_drain(scene, count, tally, cost);
}

typedef bool way_fn(struct scene *scene, uint64_t count, struct tally *tally, struct meter *cost);

static bool measure_topic(struct lab *lab, smq_client *client, smq_layout layout, way_fn *way,
                          const char *name, struct outcome *out)
{
    uint64_t count = lab_count(lab, 1000000, 200000);
    struct tally *tally = tally_new(count, SCENE_SLOTS);
    struct scene scene;
    struct meter cost;
    bool good = scene_open_laid_out(&scene, lab, client, SCENE_SLOTS, layout) &&
                way(&scene, count, tally, &cost);

    scene_close(&scene);
    if (good) {
        *out = scene_tell(lab, name, tally_counts(tally), &cost);
    }
    tally_free(tally);
    return good;
}

static bool measure_streams(struct lab *lab, struct outcome *out)
{
    struct streams_result result;

    if (!streams_measure(lab, lab_count(lab, 1000000, 200000), &result)) {
        return false;
    }
    *out = scene_tell(lab, "drain-streams", result.counts, &result.drained);
    return true;
}

/* A raw loop that is too slow is no limit to be held against. */
static void compare_with_raw(struct report *report, const struct outcome *library,
                             const struct outcome *raw, bool counts)
{
    static const char *const figures[] = {"drain-inline/raw", "drain-inline-cpu/raw",
                                          "drain-inline-redis-cpu/raw"};
    const double ratios[] = {library->rate / raw->rate, library->client_us / raw->client_us,
                             library->redis_us / raw->redis_us};

    for (int i = 0; i < 3; i++) {
        if (counts) {
            report_value(report, figures[i], "ratio", ratios[i]);
        } else {
            report_uncounted(report, figures[i], "ratio", "raw loop too slow");
        }
    }
}

/* The same over TLS. */
static bool measure_tls(struct lab *lab, const struct outcome *plain)
{
    struct outcome tls;
    smq_client *client = lab_tls_client(lab);

    if (client == NULL ||
        !measure_topic(lab, client, SMQ_LAYOUT_INLINE, by_library, "drain-tls", &tls)) {
        return false;
    }
    scene_compare_tls(lab, "drain", &tls, plain);
    return true;
}

/* === Mishaps ============================================================ */

static smq_verdict fail_some(const smq_message_info *info, void *user)
{
    (void) user;
    return library_fails(info) ? SMQ_RETRY : SMQ_DONE;
}

static void handle_busy(const smq_message_info *info, void *user)
{
    (void) user;
    library_sleep_if_busy(info);
}

static bool drain_by(struct lab *lab, struct library_consumer *consumer, smq_client *client,
                     const char *topic, struct meter *cost)
{
    if (!meter_start(cost, lab)) {
        return false;
    }
    bool good = library_consumer_start(consumer, client, topic, SCENE_BATCH);
    if (good) {
        library_consumer_await(consumer);
    }
    library_consumer_stop(consumer);
    return good && meter_stop(cost, lab);
}

/* The default topic, whose messages have the keys or ids that `shape` gives them. */
static bool measure_mishaps(struct lab *lab, smq_client *client, library_shape_fn *shape,
                            struct library_consumer consumer, const char *name, struct outcome *out)
{
    uint64_t count = lab_count(lab, 1000000, 200000);
    struct library_key key;
    char topic[LAB_NAME_SIZE];
    struct meter stored, cost;

    consumer.tally = tally_new(count, SCENE_SLOTS);
    consumer.messages = count;
    bool good =
        lab_empty(lab) &&
        lab_topic_with(lab, client, topic,
                       SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = SCENE_SLOTS,
                                         .layout = SMQ_LAYOUT_KEYED, .backoff = "fixed:10")) &&
        library_store_shaped(lab, client, topic, count, shape, &key, &stored) &&
        drain_by(lab, &consumer, client, topic, &cost);

    if (good) {
        *out = scene_tell(lab, name, tally_counts(consumer.tally), &cost);
    }
    tally_free(consumer.tally);
    return good;
}

static bool compare_mishaps(struct lab *lab, smq_client *client, const struct outcome *keyed,
                            const struct outcome *streams)
{
    const struct library_consumer plain = {.threads = 0};
    const struct library_consumer failing = {.answer = fail_some};
    const struct library_consumer busy = {.threads = MISHAPS_THREADS, .seen = handle_busy};
    struct outcome ids, retries, keys;

    if (!measure_mishaps(lab, client, library_give_id, plain, "drain-ids", &ids) ||
        !measure_mishaps(lab, client, NULL, failing, "drain-retries", &retries) ||
        !measure_mishaps(lab, client, library_give_key, busy, "drain-busy", &keys)) {
        return false;
    }
    report_ratio(lab_report(lab), "drain-ids/streams", ids.rate, streams->rate);
    report_ratio(lab_report(lab), "drain-ids-redis-cpu/streams", ids.redis_us, streams->redis_us);
    report_ratio(lab_report(lab), "drain-retries/none", retries.rate, keyed->rate);
    report_ratio(lab_report(lab), "drain-retries-redis-cpu/none", retries.redis_us,
                 keyed->redis_us);
    report_ratio(lab_report(lab), "drain-busy/none", keys.rate, keyed->rate);
    report_ratio(lab_report(lab), "drain-busy-redis-cpu/none", keys.redis_us, keyed->redis_us);
    return true;
}

static bool measure(struct lab *lab, smq_client *client)
{
    struct report *report = lab_report(lab);
    struct outcome keyed, streams, raw, plain;

    if (!measure_topic(lab, client, SMQ_LAYOUT_KEYED, by_library, "drain-slotmq", &keyed) ||
        !measure_streams(lab, &streams) ||
        !measure_topic(lab, client, SMQ_LAYOUT_INLINE, by_hand, "drain-raw", &raw) ||
        !measure_topic(lab, client, SMQ_LAYOUT_INLINE, by_library, "drain-inline", &plain)) {
        return false;
    }
    report_ratio(report, "drain/streams", keyed.rate, streams.rate);
    report_ratio(report, "drain-redis-cpu/streams", keyed.redis_us, streams.redis_us);
    if (!compare_mishaps(lab, client, &keyed, &streams)) {
        return false;
    }
    compare_with_raw(report, &plain, &raw, raw.rate >= RAW_LEAST * streams.rate);
    report_ratio(report, "drain-inline/streams", plain.rate, streams.rate);
    report_ratio(report, "raw/streams", raw.rate, streams.rate);
    return !lab_options(lab)->tls || measure_tls(lab, &plain);
}

bool bench_drain(struct lab *lab)
{
    return scene_runs(lab, LAB_SHORT, measure);
}
