/* bench_groups.c - sending in batches to topics with groups, against one without: a message of two
 * groups is stored twice.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

enum { BATCH = SCENE_SLOTS * SCENE_BATCH };

/* How many are stored; for each group one. */
static bool waiting(smq_client *client, const char *topic, uint64_t *out)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    if (!lab_good(smq_topic_stats(client, topic, &stats, &err), &err)) {
        return false;
    }
    *out += stats.waiting;
    return true;
}

/* `groups` is the option; `parts` are the names behind the topic's, of which there are `count`. */
struct shape {
    const char *name, *groups;
    const char *parts[4];
    int count;
};

static const struct shape shapes[] = {
    {"send-groups-0", NULL, {""}, 1},
    {"send-groups-1", "a", {"/a"}, 1},
    {"send-groups-2", "a,b", {"/a", "/b"}, 2},
    {"send-groups-4", "a,b,c,d", {"/a", "/b", "/c", "/d"}, 4},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* The outcome is that of one stored message. */
static bool send_to(struct lab *lab, smq_client *client, const struct shape *shape,
                    struct outcome *out)
{
    uint64_t count = lab_count(lab, 1000000, 200000) / (uint64_t) shape->count;
    char topic[LAB_NAME_SIZE], part[LAB_NAME_SIZE + 8];
    struct tally_counts counts = {.sent = count * (uint64_t) shape->count};
    smq_producer *producer = NULL;
    struct meter cost;
    bool good = lab_empty(lab) &&
                lab_topic_grouped(lab, client, topic, SCENE_SLOTS, shape->groups) &&
                (producer = library_producer(client)) != NULL && meter_start(&cost, lab) &&
                library_send_batches(producer, topic, count, BATCH) && meter_stop(&cost, lab);

    smq_producer_free(producer);
    for (int i = 0; i < shape->count && good; i++) {
        snprintf(part, sizeof(part), "%s%s", topic, shape->parts[i]);
        good = waiting(client, part, &counts.handled);
    }
    if (good) {
        counts.lost = counts.sent > counts.handled ? counts.sent - counts.handled : 0;
        *out = scene_tell(lab, shape->name, counts, &cost);
    }
    return good;
}

static bool measure(struct lab *lab, smq_client *client)
{
    struct outcome outcomes[SHAPES];
    char figure[48];

    for (int i = 0; i < SHAPES; i++) {
        if (!send_to(lab, client, &shapes[i], &outcomes[i])) {
            return false;
        }
    }
    for (int i = 1; i < SHAPES; i++) {
        snprintf(figure, sizeof(figure), "%s/none", shapes[i].name);
        report_ratio(lab_report(lab), figure, outcomes[i].rate, outcomes[0].rate);
        snprintf(figure, sizeof(figure), "%s-redis-cpu/none", shapes[i].name);
        report_ratio(lab_report(lab), figure, outcomes[i].redis_us, outcomes[0].redis_us);
    }
    return true;
}

bool bench_groups(struct lab *lab)
{
    return scene_runs(lab, LAB_SHORT, measure);
}
