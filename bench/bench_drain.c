/* bench_drain.c - a backlog is consumed with an empty handler: from the default topic and beside it
 * by Redis Streams; then from a topic of layout inline, by the library and by a hand-written loop
 * of the same script.
 *
 * Thread: main. */
#include "benches.h"
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
    compare_with_raw(report, &plain, &raw, raw.rate >= RAW_LEAST * streams.rate);
    report_ratio(report, "drain-inline/streams", plain.rate, streams.rate);
    report_ratio(report, "raw/streams", raw.rate, streams.rate);
    return !lab_options(lab)->tls || measure_tls(lab, &plain);
}

bool bench_drain(struct lab *lab)
{
    return scene_runs(lab, LAB_SHORT, measure);
}
