/* bench_ids.c - what send ids cost, by which a repeated send is stored once: a producer that
 * repeats nothing sends none.  They cost the most in requests of one message.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

/* There are far more slots than sends in progress, and no send lingers: hardly a request has more
 * than one message, and Redis is never idle. */
enum { SLOTS = 1024, PENDING = 64 };

enum shape { INLINE_NONE, INLINE_IDS, KEYED_NONE, KEYED_IDS, SHAPES };

static const struct {
    const char *name;
    smq_layout layout;
    bool no_repeat;
} shapes[SHAPES] = {
    [INLINE_NONE] = {"send-no-ids-inline", SMQ_LAYOUT_INLINE, true},
    [INLINE_IDS] = {"send-ids-inline", SMQ_LAYOUT_INLINE, false},
    [KEYED_NONE] = {"send-no-ids-keyed", SMQ_LAYOUT_KEYED, true},
    [KEYED_IDS] = {"send-ids-keyed", SMQ_LAYOUT_KEYED, false},
};

static void give_id(smq_message *message, uint64_t number, void *user)
{
    const smq_layout *layout = user;

    if (*layout == SMQ_LAYOUT_KEYED) {
        library_give_id(message, number, NULL);
    }
}

static smq_producer *producer_of(smq_client *client, bool no_repeat)
{
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    lab_good(smq_producer_new(&producer, client,
                              &SMQ_PRODUCER_OPTIONS(.no_repeat = no_repeat, .max_pending = PENDING,
                                                    .full_timeout_ms = SMQ_FOREVER,
                                                    .linger_ms = SMQ_NONE),
                              &err),
             &err);
    return producer;
}

static bool stored(smq_client *client, const char *topic, struct tally_counts *counts)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    if (!lab_good(smq_topic_stats(client, topic, &stats, &err), &err)) {
        return false;
    }
    counts->handled = stats.waiting;
    counts->lost = counts->sent > counts->handled ? counts->sent - counts->handled : 0;
    return true;
}

static void tell(struct lab *lab, enum shape shape, struct tally_counts counts,
                 const struct meter *cost, struct outcome *out)
{
    char figure[48];

    *out = scene_tell(lab, shapes[shape].name, counts, cost);
    snprintf(figure, sizeof(figure), "%s-requests", shapes[shape].name);
    report_value(lab_report(lab), figure, "a message", (double) cost->calls / (double) counts.sent);
}

static bool send_shaped(struct lab *lab, smq_client *client, enum shape shape, struct outcome *out)
{
    struct tally_counts counts = {.sent = lab_count(lab, 100000, 20000)};
    smq_layout layout = shapes[shape].layout;
    char topic[LAB_NAME_SIZE];
    smq_producer *producer = NULL;
    struct meter cost;
    bool good = lab_empty(lab) && lab_topic_laid_out(lab, client, topic, SLOTS, layout) &&
                (producer = producer_of(client, shapes[shape].no_repeat)) != NULL &&
                meter_start(&cost, lab) &&
                library_send_shaped(producer, topic, counts.sent, give_id, &layout) &&
                meter_stop(&cost, lab) && stored(client, topic, &counts);

    smq_producer_free(producer);
    if (good) {
        tell(lab, shape, counts, &cost, out);
    }
    return good;
}

static bool measure(struct lab *lab, smq_client *client)
{
    struct outcome outcomes[SHAPES];

    for (enum shape shape = 0; shape < SHAPES; shape++) {
        if (!send_shaped(lab, client, shape, &outcomes[shape])) {
            return false;
        }
    }
    report_ratio(lab_report(lab), "send-ids-inline/none", outcomes[INLINE_IDS].redis_us,
                 outcomes[INLINE_NONE].redis_us);
    report_ratio(lab_report(lab), "send-ids-keyed/none", outcomes[KEYED_IDS].redis_us,
                 outcomes[KEYED_NONE].redis_us);
    return true;
}

bool bench_ids(struct lab *lab)
{
    return scene_runs(lab, LAB_SHORT, measure);
}
