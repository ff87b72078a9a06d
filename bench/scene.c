#include "scene.h"

#include <stdio.h>

#include "library.h"

static bool add_laid_out(struct scene *scene, struct lab *lab, smq_client *client, int slots,
                         smq_layout layout)
{
    *scene = (struct scene){.lab = lab, .client = client, .slots = slots, .layout = layout};
    return lab_topic_laid_out(lab, client, scene->topic, slots, layout) &&
           (scene->raw = raw_open(lab, scene->topic, slots)) != NULL;
}

bool scene_open_laid_out(struct scene *scene, struct lab *lab, smq_client *client, int slots,
                         smq_layout layout)
{
    *scene = (struct scene){.lab = lab};
    return lab_empty(lab) && add_laid_out(scene, lab, client, slots, layout);
}

bool scene_open(struct scene *scene, struct lab *lab, smq_client *client, int slots)
{
    return scene_open_laid_out(scene, lab, client, slots, SMQ_LAYOUT_INLINE);
}

bool scene_add(struct scene *scene, struct lab *lab, smq_client *client, int slots)
{
    return add_laid_out(scene, lab, client, slots, SMQ_LAYOUT_INLINE);
}

void scene_close(struct scene *scene)
{
    raw_close(scene->raw);
    scene->raw = NULL;
}

bool scene_fill(struct scene *scene, uint64_t count)
{
    uint64_t each = count / (uint64_t) scene->slots;
    int batch = each < 1 ? 1 : each < SCENE_BATCH ? (int) each : SCENE_BATCH;
    struct meter cost;

    if (scene->layout == SMQ_LAYOUT_KEYED) {
        return library_store(scene->lab, scene->client, scene->topic, count, &cost);
    }
    return raw_send(scene->raw, count, batch);
}

bool scene_drain(struct scene *scene, uint64_t count, struct tally *tally, struct meter *cost)
{
    return library_drain(scene->lab, scene->client, scene->topic, SCENE_BATCH, count, tally, cost);
}

bool scene_stored(struct scene *scene, uint64_t sent, struct tally_counts *out)
{
    uint64_t waiting = 0;
    bool good = raw_waiting(scene->raw, &waiting);

    *out = (struct tally_counts){.sent = sent, .handled = waiting};
    if (waiting < sent) {
        out->lost = sent - waiting;
    } else {
        out->duplicated = waiting - sent;
    }
    return good;
}

static double tell_cpu(struct lab *lab, const char *name, const char *whose, double us)
{
    char figure[48];

    snprintf(figure, sizeof(figure), "%.24s-%s-cpu", name, whose);
    report_value(lab_report(lab), figure, "us/message", us);
    return us;
}

struct outcome scene_tell_cpu(struct lab *lab, const char *name, const struct meter *cost,
                              double count)
{
    return (struct outcome){
        .rate = count / cost->seconds,
        .client_us = tell_cpu(lab, name, "client", cost->client_cpu_s * 1e6 / count),
        .redis_us = tell_cpu(lab, name, "redis", cost->redis_cpu_s * 1e6 / count)};
}

struct outcome scene_tell(struct lab *lab, const char *name, struct tally_counts counts,
                          const struct meter *cost)
{
    double count = (double) counts.handled;

    report_tally(lab_report(lab), name, counts, cost->seconds);
    report_value(lab_report(lab), name, "messages/s", count / cost->seconds);
    return scene_tell_cpu(lab, name, cost, count);
}

void scene_compare_tls(struct lab *lab, const char *name, const struct outcome *tls,
                       const struct outcome *plain)
{
    struct report *report = lab_report(lab);
    char figure[48];

    snprintf(figure, sizeof(figure), "%.16s-tls/plain", name);
    report_ratio(report, figure, tls->rate, plain->rate);
    snprintf(figure, sizeof(figure), "%.16s-tls-client-cpu/plain", name);
    report_ratio(report, figure, tls->client_us, plain->client_us);
    snprintf(figure, sizeof(figure), "%.16s-tls-redis-cpu/plain", name);
    report_ratio(report, figure, tls->redis_us, plain->redis_us);
}

bool scene_runs(struct lab *lab, enum lab_pace pace, scene_measure_fn *measure)
{
    smq_client *client = lab_servers(lab, 1, false) ? lab_client(lab) : NULL;
    bool good = client != NULL;

    for (int run = 0; run < lab_runs(lab, pace) && good; run++) {
        report_run(lab_report(lab));
        good = measure(lab, client);
    }
    smq_client_free(client);
    return good;
}
