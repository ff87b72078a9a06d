/* bench_acks.c - what it costs to wait for a replica: sends that are done when their master has
 * them, and when its replica has them, too.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "samples.h"
#include "scene.h"

enum { PATIENCE_MS = 120000 };

struct way {
    const char *name;
    int32_t replicas;
};

enum { NONE, WAIT_1, WAYS };

static const struct way ways[WAYS] = {[NONE] = {"acks-none", 0}, [WAIT_1] = {"acks-wait-1", 1}};

static smq_producer *producer_of(smq_client *client, const struct way *way)
{
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    options.replicas = way->replicas;
    options.full_timeout_ms = options.send_timeout_ms = PATIENCE_MS;
    lab_good(smq_producer_new(&producer, client, &options, &err), &err);
    return producer;
}

/* All at once, without waiting for one. */
static bool send_many(struct scene *scene, const struct way *way, smq_producer *producer,
                      double *rate)
{
    uint64_t count = lab_count(scene->lab, 1000000, 200000);
    struct tally_counts counts;
    struct meter cost;

    bool good = meter_start(&cost, scene->lab) &&
                library_send_async(producer, scene->topic, count) &&
                meter_stop(&cost, scene->lab) && scene_stored(scene, count, &counts);
    if (good) {
        *rate = scene_tell(scene->lab, way->name, counts, &cost).rate;
    }
    return good;
}

/* One after another, each timed. */
static bool send_one_by_one(struct scene *scene, const struct way *way, smq_producer *producer)
{
    uint64_t count = lab_count(scene->lab, 20000, 4000);
    struct samples samples = {0};
    char body[TALLY_BODY], figure[48];
    smq_error err = SMQ_ERROR_INIT;
    bool good = true;

    for (uint64_t i = 0; i < count && good; i++) {
        smq_message message = library_message(body, i);
        int64_t start_ns = meter_now_ns();

        good = lab_good(smq_send(producer, scene->topic, &message, NULL, &err), &err);
        samples_add(&samples, (double) (meter_now_ns() - start_ns) / 1000);
    }
    for (int i = 0; i < 2 && good; i++) {
        snprintf(figure, sizeof(figure), "%s-%s", way->name, i == 0 ? "p50" : "p99");
        report_value(lab_report(scene->lab), figure, "us",
                     samples_quantile(&samples, i == 0 ? 0.5 : 0.99));
    }
    samples_fini(&samples);
    return good;
}

static bool measure_way(struct lab *lab, smq_client *client, const struct way *way, double *rate)
{
    smq_producer *producer = producer_of(client, way);
    struct scene many, singles = {0};
    bool good = scene_open(&many, lab, client, SCENE_SLOTS) && producer != NULL &&
                send_many(&many, way, producer, rate) &&
                scene_open(&singles, lab, client, SCENE_SLOTS) &&
                send_one_by_one(&singles, way, producer);

    scene_close(&many);
    scene_close(&singles);
    smq_producer_free(producer);
    return good;
}

bool bench_acks(struct lab *lab)
{
    smq_client *client = lab_servers_with_replicas(lab, 1, 1, false) ? lab_client(lab) : NULL;
    bool good = client != NULL;
    double rates[WAYS];

    for (int run = 0; run < lab_runs(lab, LAB_SHORT) && good; run++) {
        report_run(lab_report(lab));
        for (int i = 0; i < WAYS && good; i++) {
            good = measure_way(lab, client, &ways[i], &rates[i]);
        }
        if (good) {
            report_ratio(lab_report(lab), "acks-wait-1/none", rates[WAIT_1], rates[NONE]);
        }
    }
    smq_client_free(client);
    return good;
}
