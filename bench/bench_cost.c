/* bench_cost.c - what a message costs Redis: CPU, commands, traffic; and memory while it waits.
 *
 * Thread: main. */
#include <stdio.h>
#include <string.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

#define LEAST_US 0.01 /* a message: commands below are not worth a line */

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

/* Time inside each command, by INFO commandstats: that of EVALSHA holds those it calls; what is
 * left is the script itself. */
static bool tell_commands(struct lab *lab, const char *what, uint64_t count)
{
    redisReply *info = wire_ask(lab_wire(lab, 0), "INFO commandstats");
    char figure[48], name[24];
    double us, all = 0, scripts = 0;

    if (info == NULL || info->str == NULL) {
        freeReplyObject(info);
        return false;
    }
    for (const char *line = strstr(info->str, "cmdstat_"); line != NULL;
         line = strstr(line + 1, "\ncmdstat_")) {
        line += *line == '\n' ? 1 : 0;
        if (sscanf(line, "cmdstat_%23[^:]:calls=%*u,usec=%lf", name, &us) != 2) {
            continue;
        }
        scripts += strcmp(name, "evalsha") == 0 ? us : 0;
        all += strcmp(name, "evalsha") == 0 ? 0 : us;
        if (us / (double) count >= LEAST_US) {
            snprintf(figure, sizeof(figure), "redis-%s-in-%s", what, name);
            report_value(lab_report(lab), figure, "us", us / (double) count);
        }
    }
    freeReplyObject(info);
    snprintf(figure, sizeof(figure), "redis-%s-in-lua", what);
    report_value(lab_report(lab), figure, "us", (scripts - all) / (double) count);
    return true;
}

static bool forget_commands(struct lab *lab)
{
    redisReply *reply = wire_ask(lab_wire(lab, 0), "CONFIG RESETSTAT");
    bool good = reply != NULL;

    freeReplyObject(reply);
    return good;
}

/* `send` and `drain`: what figures call these. */
static bool measure_layout(struct lab *lab, smq_client *client, smq_layout layout, const char *send,
                           const char *drain)
{
    uint64_t count = lab_count(lab, 1000000, 200000);
    struct tally *tally = tally_new(count, SCENE_SLOTS);
    struct scene scene;
    struct meter sent, drained;
    bool good = scene_open_laid_out(&scene, lab, client, SCENE_SLOTS, layout) &&
                forget_commands(lab) && library_store(lab, client, scene.topic, count, &sent) &&
                tell_commands(lab, send, count) && forget_commands(lab) &&
                scene_drain(&scene, count, tally, &drained) && tell_commands(lab, drain, count);

    if (good) {
        report_tally(lab_report(lab), drain, tally_counts(tally), drained.seconds);
        tell(lab, send, &sent, count);
        tell(lab, drain, &drained, count);
    }
    scene_close(&scene);
    tally_free(tally);
    return good;
}

static bool measure_cost(struct lab *lab, smq_client *client)
{
    return measure_layout(lab, client, SMQ_LAYOUT_KEYED, "send", "drain") &&
           measure_layout(lab, client, SMQ_LAYOUT_INLINE, "inline-send", "inline-drain");
}

bool bench_redis_cost(struct lab *lab)
{
    return scene_runs(lab, LAB_SHORT, measure_cost);
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

static bool by_library_with_ids(struct scene *scene, uint64_t count)
{
    struct meter cost;

    return library_store_shaped(scene->lab, scene->client, scene->topic, count, library_give_id,
                                NULL, &cost);
}

/* Bytes per message, without those of the empty topic. */
static bool weigh(struct lab *lab, smq_client *client, smq_layout layout, store_fn *store,
                  const char *name, double *out)
{
    uint64_t count = lab_count(lab, 1000000, 200000), before = 0, after = 0;
    struct tally_counts counts;
    struct scene scene;
    struct meter cost;
    bool good = scene_open_laid_out(&scene, lab, client, SCENE_SLOTS, layout) &&
                meter_used_memory(&before, lab);

    meter_start_here(&cost);
    good = good && store(&scene, count);
    meter_stop_here(&cost);
    good = good && meter_used_memory(&after, lab) && scene_stored(&scene, count, &counts);
    scene_close(&scene);
    if (good) {
        *out = (double) (after - before) / (double) count;
        report_tally(lab_report(lab), name, counts, cost.seconds);
        report_value(lab_report(lab), name, "bytes", *out);
    }
    return good;
}

static bool measure_memory(struct lab *lab, smq_client *client)
{
    struct report *report = lab_report(lab);
    double keyed, ids, zadd, plain;

    if (!weigh(lab, client, SMQ_LAYOUT_KEYED, by_library, "memory-slotmq", &keyed) ||
        !weigh(lab, client, SMQ_LAYOUT_KEYED, by_library_with_ids, "memory-ids", &ids) ||
        !weigh(lab, client, SMQ_LAYOUT_INLINE, by_zadd, "memory-zadd", &zadd) ||
        !weigh(lab, client, SMQ_LAYOUT_INLINE, by_library, "memory-inline", &plain)) {
        return false;
    }
    report_value(report, "memory-beside-body", "bytes", keyed - TALLY_BODY);
    report_value(report, "memory-ids-beside-body", "bytes", ids - TALLY_BODY);
    report_ratio(report, "memory-inline/zadd", plain, zadd);
    return true;
}

bool bench_memory(struct lab *lab)
{
    return scene_runs(lab, LAB_SHORT, measure_memory);
}
