/* bench_raw.c - the limit: hand-written loops by batch size, and Redis Streams.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "peers/streams.h"
#include "scene.h"

enum { BATCHES = 4 };

static const int batches[BATCHES] = {1, 10, 100, 500};

/* Small batches get fewer messages: they take longer. */
static uint64_t messages_for(const struct lab *lab, int batch)
{
    return batch < 10 ? lab_count(lab, 200000, 40000) : lab_count(lab, 500000, 100000);
}

static void tell(struct lab *lab, const char *what, int batch, struct tally_counts counts,
                 const struct meter *cost)
{
    char name[48];

    snprintf(name, sizeof(name), "%s-%d", what, batch);
    report_tally(lab_report(lab), name, counts, cost->seconds);
    report_value(lab_report(lab), name, "messages/s", (double) counts.handled / cost->seconds);
}

typedef bool send_fn(struct raw *raw, uint64_t count, int batch);

static bool measure_send(struct scene *scene, send_fn *send, const char *what, int batch)
{
    uint64_t count = messages_for(scene->lab, batch);
    struct tally_counts counts;
    struct meter cost;

    meter_start_here(&cost);
    bool good = send(scene->raw, count, batch);
    meter_stop_here(&cost);
    good = good && scene_stored(scene, count, &counts);
    if (good) {
        tell(scene->lab, what, batch, counts, &cost);
    }
    return good;
}

static bool measure_drain(struct scene *scene, int batch)
{
    struct tally *tally = tally_new(messages_for(scene->lab, batch), scene->slots);
    struct meter cost;

    meter_start_here(&cost);
    bool good = raw_drain(scene->raw, tally, batch);
    meter_stop_here(&cost);
    if (good) {
        tell(scene->lab, "raw-consume", batch, tally_counts(tally), &cost);
    }
    tally_free(tally);
    return good;
}

static bool measure_scripts(struct lab *lab, smq_client *client, int batch)
{
    struct scene scene;
    bool good = scene_open(&scene, lab, client, SCENE_SLOTS) &&
                measure_send(&scene, raw_send, "raw-send", batch) && raw_own(scene.raw) &&
                measure_drain(&scene, batch) && measure_send(&scene, raw_zadd, "raw-zadd", batch);

    scene_close(&scene);
    return good;
}

static bool measure_streams(struct lab *lab)
{
    uint64_t count = messages_for(lab, SCENE_BATCH);
    struct streams_result result;

    if (!streams_measure(lab, count, &result)) {
        return false;
    }
    report_value(lab_report(lab), "streams-add", "messages/s",
                 (double) count / result.sent.seconds);
    tell(lab, "streams-read", SCENE_BATCH, result.counts, &result.drained);
    return true;
}

static bool measure(struct lab *lab, smq_client *client)
{
    for (int i = 0; i < BATCHES; i++) {
        if (!measure_scripts(lab, client, batches[i])) {
            return false;
        }
    }
    return measure_streams(lab);
}

bool bench_raw(struct lab *lab)
{
    return scene_runs(lab, LAB_SHORT, measure);
}
