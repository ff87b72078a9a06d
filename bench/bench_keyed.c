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

static void compare_one(struct lab *lab, const char *way, const char *left, const char *right,
                        const struct outcome *of_left, const struct outcome *of_right)
{
    char figure[48];

    snprintf(figure, sizeof(figure), "%s-%s/%s", way, left, right);
    report_ratio(lab_report(lab), figure, of_left->rate, of_right->rate);
    snprintf(figure, sizeof(figure), "%s-%s-redis-cpu/%s", way, left, right);
    report_ratio(lab_report(lab), figure, of_left->redis_us, of_right->redis_us);
}

static void compare(struct lab *lab, const char *left, const struct both *of_left,
                    const char *right, const struct both *of_right)
{
    compare_one(lab, "send", left, right, &of_left->sent, &of_right->sent);
    compare_one(lab, "drain", left, right, &of_left->drained, &of_right->drained);
}

static bool measure(struct lab *lab, smq_client *client)
{
    struct both plain, keyed, headed;

    if (!in_layout(lab, client, SMQ_LAYOUT_INLINE, false, "inline-1k", &plain) ||
        !in_layout(lab, client, SMQ_LAYOUT_KEYED, false, "keyed-1k", &keyed) ||
        !in_layout(lab, client, SMQ_LAYOUT_KEYED, true, "headers-1k", &headed)) {
        return false;
    }
    compare(lab, "keyed", &keyed, "inline", &plain);
    compare(lab, "headers", &headed, "keyed", &keyed);
    return true;
}

bool bench_keyed(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure);
}
