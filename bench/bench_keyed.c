/* bench_keyed.c - bodies of 1 KiB, sent and drained: inside the sorted sets, or beside them under
 * ids.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

enum { BODY = 1024 };

static bool send_all(smq_producer *producer, const char *topic, uint64_t count, smq_layout layout)
{
    char body[BODY];
    atomic_ulong failed = 0;
    smq_error err = {.text = ""};

    for (uint64_t i = 0; i < count; i++) {
        smq_message message = SMQ_MESSAGE_INIT;
        tally_body(body, sizeof(body), i);
        message.body = body;
        message.body_len = sizeof(body);
        message.delay_ms = SMQ_NONE;
        if (layout == SMQ_KEYED) { /* also the key */
            message.id = body;
            message.id_len = TALLY_DIGITS;
        }
        smq_status status =
            smq_send_async(producer, topic, &message, library_count_failed, &failed, &err);
        if (!lab_good(status, &err)) {
            (void) smq_producer_flush(producer, SMQ_FOREVER, NULL);
            return false;
        }
    }
    return library_flush(producer, &failed);
}

static bool store(struct lab *lab, smq_client *client, const char *topic, uint64_t count,
                  smq_layout layout, struct meter *cost)
{
    smq_producer *producer = library_producer(client);
    bool good = producer != NULL && meter_start(cost, lab) &&
                send_all(producer, topic, count, layout) && meter_stop(cost, lab);

    smq_producer_free(producer);
    return good;
}

struct both {
    struct outcome sent, drained;
};

static bool in_layout(struct lab *lab, smq_client *client, smq_layout layout, const char *name,
                      struct both *out)
{
    uint64_t count = lab_count(lab, 300000, 60000);
    char topic[LAB_NAME_SIZE], figure[32];
    struct library_drain how = {.topic = topic, .batch = SCENE_BATCH, .messages = count};
    struct tally *tally = tally_new(count, SCENE_SLOTS);
    struct meter sent, drained;
    bool good = lab_empty(lab) && lab_topic_laid_out(lab, client, topic, SCENE_SLOTS, layout) &&
                store(lab, client, topic, count, layout, &sent) &&
                library_drain(lab, client, &how, tally, &drained);

    if (good) {
        struct tally_counts counts = tally_counts(tally);
        snprintf(figure, sizeof(figure), "send-%s", name);
        out->sent = scene_tell(lab, figure, counts, &sent);
        snprintf(figure, sizeof(figure), "drain-%s", name);
        out->drained = scene_tell(lab, figure, counts, &drained);
    }
    tally_free(tally);
    return good;
}

static bool measure(struct lab *lab, smq_client *client)
{
    struct both plain, keyed;

    if (!in_layout(lab, client, SMQ_INLINE, "inline-1k", &plain) ||
        !in_layout(lab, client, SMQ_KEYED, "keyed-1k", &keyed)) {
        return false;
    }
    report_ratio(lab_report(lab), "send-keyed/inline", keyed.sent.rate, plain.sent.rate);
    report_ratio(lab_report(lab), "drain-keyed/inline", keyed.drained.rate, plain.drained.rate);
    report_ratio(lab_report(lab), "send-keyed-redis-cpu/inline", keyed.sent.redis_us,
                 plain.sent.redis_us);
    report_ratio(lab_report(lab), "drain-keyed-redis-cpu/inline", keyed.drained.redis_us,
                 plain.drained.redis_us);
    return true;
}

bool bench_keyed(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure);
}
