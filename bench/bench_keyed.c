/* bench_keyed.c - bodies of 1 KiB, sent and drained: inside the sorted sets, or beside them under
 * ids, without and with headers.
 *
 * Thread: main. */
#include <stdio.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

enum { BODY = 1024 };

/* Invariant: `layout` is that of the topic; the message is sent before the next one is made. */
struct kilobyte {
    smq_layout layout;
    bool headed;
    char body[BODY];
};

/* As a trace has them. */
static const smq_header headers[] = {
    {"traceparent", {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", 55}},
    {"tracestate", {"vendor=00f067aa0ba902b7", 23}}};

static void shape(smq_message *message, uint64_t number, void *user)
{
    struct kilobyte *kilobyte = user;

    tally_body(kilobyte->body, sizeof(kilobyte->body), number);
    message->body = (smq_bytes){kilobyte->body, sizeof(kilobyte->body)};
    if (kilobyte->layout == SMQ_LAYOUT_KEYED) { /* also the key */
        message->id = (smq_bytes){kilobyte->body, TALLY_DIGITS};
    }
    if (kilobyte->headed) {
        message->headers = headers;
        message->header_count = sizeof(headers) / sizeof(headers[0]);
    }
}

struct both {
    struct outcome sent, drained;
};

static bool in_layout(struct lab *lab, smq_client *client, smq_layout layout, bool headed,
                      const char *name, struct both *out)
{
    uint64_t count = lab_count(lab, 300000, 60000);
    struct kilobyte kilobyte = {.layout = layout, .headed = headed};
    char topic[LAB_NAME_SIZE], figure[32];
    struct tally *tally = tally_new(count, SCENE_SLOTS);
    struct meter sent, drained;
    bool good = lab_empty(lab) && lab_topic_laid_out(lab, client, topic, SCENE_SLOTS, layout) &&
                library_store_shaped(lab, client, topic, count, shape, &kilobyte, &sent) &&
                library_drain(lab, client, topic, SCENE_BATCH, count, tally, &drained);

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
    struct both plain, keyed, headed;

    if (!in_layout(lab, client, SMQ_LAYOUT_INLINE, false, "inline-1k", &plain) ||
        !in_layout(lab, client, SMQ_LAYOUT_KEYED, false, "keyed-1k", &keyed) ||
        !in_layout(lab, client, SMQ_LAYOUT_KEYED, true, "headers-1k", &headed)) {
        return false;
    }
    report_ratio(lab_report(lab), "send-keyed/inline", keyed.sent.rate, plain.sent.rate);
    report_ratio(lab_report(lab), "drain-keyed/inline", keyed.drained.rate, plain.drained.rate);
    report_ratio(lab_report(lab), "send-keyed-redis-cpu/inline", keyed.sent.redis_us,
                 plain.sent.redis_us);
    report_ratio(lab_report(lab), "drain-keyed-redis-cpu/inline", keyed.drained.redis_us,
                 plain.drained.redis_us);
    report_ratio(lab_report(lab), "send-headers/keyed", headed.sent.rate, keyed.sent.rate);
    report_ratio(lab_report(lab), "drain-headers/keyed", headed.drained.rate, keyed.drained.rate);
    report_ratio(lab_report(lab), "send-headers-redis-cpu/keyed", headed.sent.redis_us,
                 keyed.sent.redis_us);
    report_ratio(lab_report(lab), "drain-headers-redis-cpu/keyed", headed.drained.redis_us,
                 keyed.drained.redis_us);
    return true;
}

bool bench_keyed(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure);
}
