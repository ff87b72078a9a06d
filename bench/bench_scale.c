/* bench_scale.c - does it stay as fast: deep topics, few and many slots, more masters?
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

/* Rate of one drain of `count` messages out of those stored; the others still wait. */
static bool drain_some(struct scene *scene, struct tally *tally, uint64_t count, const char *figure,
                       double *rate)
{
    struct report *report = lab_report(scene->lab);
    struct tally_counts before = tally_counts(tally), after;
    uint64_t waiting = 0;
    struct meter cost;

    if (!scene_drain(scene, before.handled + count, tally, &cost) ||
        !raw_waiting(scene->raw, &waiting)) {
        return false;
    }
    after = tally_counts(tally);
    after.lost = after.lost > waiting ? after.lost - waiting : 0;
    report_tally(report, figure, after, cost.seconds);
    *rate = (double) (after.handled - before.handled) / cost.seconds;
    report_value(report, figure, "messages/s", *rate);
    return true;
}

/* === Slots ============================================================== */

static bool with_slots(struct lab *lab, smq_client *client, int slots, double *rate)
{
    uint64_t count = lab_count(lab, 1000000, 300000);
    struct tally *tally = tally_new(count, slots);
    struct scene scene;
    char figure[32];

    snprintf(figure, sizeof(figure), "slots-%d", slots);
    bool good = scene_open(&scene, lab, client, slots) && scene_fill(&scene, count) &&
                drain_some(&scene, tally, count, figure, rate);
    scene_close(&scene);
    tally_free(tally);
    return good;
}

static bool measure_slots(struct lab *lab, smq_client *client)
{
    static const int slots[] = {1, 64, 1024, 4096};
    double rates[4];

    for (int i = 0; i < 4; i++) {
        if (!with_slots(lab, client, slots[i], &rates[i])) {
            return false;
        }
    }
    report_ratio(lab_report(lab), "slots-1/64", rates[0], rates[1]);
    report_ratio(lab_report(lab), "slots-1024/64", rates[2], rates[1]);
    report_ratio(lab_report(lab), "slots-4096/64", rates[3], rates[1]);
    return true;
}

bool bench_slots(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure_slots);
}

/* === Depth ============================================================== */

enum { TAKEN = 100000, LEAST = 10000, MANY = 1000000, DEPTHS = 4 };

/* A topic filled beside the others, and what became of its messages. */
struct pool {
    struct scene scene;
    struct tally *tally;
};

static bool pool_open(struct pool *pool, struct lab *lab, smq_client *client, uint64_t messages)
{
    pool->tally = tally_new(messages, SCENE_SLOTS);
    return scene_add(&pool->scene, lab, client, SCENE_SLOTS) && scene_fill(&pool->scene, messages);
}

static void pool_close(struct pool *pool)
{
    scene_close(&pool->scene);
    tally_free(pool->tally);
}

/* All of a pool that is made for it. */
static bool drain_new(struct lab *lab, smq_client *client, uint64_t messages, const char *figure,
                      double *rate)
{
    struct pool pool = {.tally = NULL};
    uint64_t taken = messages < TAKEN ? messages : TAKEN;
    bool good = pool_open(&pool, lab, client, messages) &&
                drain_some(&pool.scene, pool.tally, taken, figure, rate);

    pool_close(&pool);
    return good;
}

static bool measure_depth(struct pool *deep, struct lab *lab, smq_client *client,
                          const char *deepest)
{
    const char *const names[DEPTHS] = {"10k", "100k", "1M", deepest};
    double rates[DEPTHS];
    char figure[32];

    report_run(lab_report(lab));
    snprintf(figure, sizeof(figure), "depth-%s", deepest);
    if (!drain_new(lab, client, LEAST, "depth-10k", &rates[0]) ||
        !drain_new(lab, client, TAKEN, "depth-100k", &rates[1]) ||
        !drain_new(lab, client, MANY, "depth-1M", &rates[2]) ||
        !drain_some(&deep->scene, deep->tally, TAKEN, figure, &rates[3])) {
        return false;
    }
    for (int i = 0; i < DEPTHS; i++) {
        snprintf(figure, sizeof(figure), "depth-%s/100k", names[i]);
        if (i != 1) {
            report_ratio(lab_report(lab), figure, rates[i], rates[1]);
        }
    }
    return true;
}

/* Drains a little while the tables of the sets still grow; then lets them end that. */
static bool outgrow(struct pool *deep, struct lab *lab, uint64_t messages, const char *deepest)
{
    double rate;
    char figure[32];

    report_note(lab_report(lab),
                "depth-%s is drained after Redis has moved its sorted sets to larger hash tables, "
                "depth-%s-growing right after the fill, while every command still moves a part",
                deepest, deepest);
    report_run(lab_report(lab));
    snprintf(figure, sizeof(figure), "depth-%s-growing", deepest);
    return drain_some(&deep->scene, deep->tally, TAKEN, figure, &rate) &&
           raw_end_growth(deep->scene.raw, messages);
}

/* The deepest topic is filled once; each run takes a little from its top. */
bool bench_depth(struct lab *lab)
{
    uint64_t messages = lab_count(lab, 10000000, 2000000);
    const char *deepest = lab_options(lab)->quick ? "2M" : "10M";
    struct pool deep = {.tally = NULL};
    smq_client *client = lab_servers(lab, 1, false) ? lab_client(lab) : NULL;
    bool good = client != NULL && pool_open(&deep, lab, client, messages) &&
                outgrow(&deep, lab, messages, deepest);

    for (int run = 0; run < lab_runs(lab, LAB_LONG) && good; run++) {
        good = measure_depth(&deep, lab, client, deepest);
    }
    pool_close(&deep);
    smq_client_free(client);
    return good;
}

/* === Masters ============================================================ */

/* Redis CPU of sending and draining a message, by all nodes together. */
static bool on_masters(struct lab *lab, smq_client *client, double *redis_us)
{
    uint64_t count = lab_count(lab, 500000, 150000);
    struct tally *tally = tally_new(count, SCENE_SLOTS);
    char topic[LAB_NAME_SIZE], name[24];
    struct meter sent, drained;
    bool good = lab_empty(lab) && lab_topic(lab, client, topic, SCENE_SLOTS) &&
                library_store(lab, client, topic, count, &sent) &&
                library_drain(lab, client, topic, SCENE_BATCH, count, tally, &drained);

    if (good) {
        double us = (sent.redis_cpu_s + drained.redis_cpu_s) * 1e6 / (double) count;
        snprintf(name, sizeof(name), "nodes-%d", lab_masters(lab));
        report_tally(lab_report(lab), name, tally_counts(tally), drained.seconds);
        *redis_us += us;
    }
    tally_free(tally);
    return good;
}

/* Each cluster is started once, so all runs of one come before those of the next. */
static bool all_on_masters(struct lab *lab, int masters, double redis_us[])
{
    smq_client *client = lab_servers(lab, masters, false) ? lab_client(lab) : NULL;
    bool good = client != NULL;

    for (int run = 0; run < lab_runs(lab, LAB_LONG) && good; run++) {
        good = on_masters(lab, client, &redis_us[run]);
    }
    smq_client_free(client);
    return good;
}

bool bench_nodes(struct lab *lab)
{
    enum { MOST = 3, RUNS_MAX = 16 };
    double redis_us[MOST + 1][RUNS_MAX] = {{0}};
    char figure[32];

    report_run(lab_report(lab));
    for (int masters = 1; masters <= MOST; masters++) {
        if (!all_on_masters(lab, masters, redis_us[masters])) {
            return false;
        }
    }
    for (int run = 0; run < lab_runs(lab, LAB_LONG); run++) {
        for (int masters = 1; masters <= MOST; masters++) {
            snprintf(figure, sizeof(figure), "nodes-%d-redis-cpu", masters);
            report_value(lab_report(lab), figure, "us/message", redis_us[masters][run]);
        }
        report_ratio(lab_report(lab), "nodes-2/1", redis_us[2][run], redis_us[1][run]);
        report_ratio(lab_report(lab), "nodes-3/1", redis_us[3][run], redis_us[1][run]);
    }
    return true;
}
