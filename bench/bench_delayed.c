/* bench_delayed.c - many messages come due while a worker waits: how late are they handled?  Three
 * times: a million at a rate that one master can follow; a million within one second, which it
 * cannot, held against a plain drain of as many; and a hundred thousand within one second.
 *
 * Thread: main; the handler runs on one thread of the worker. */
#include <stdio.h>
#include <time.h>

#include "benches.h"
#include "library.h"
#include "samples.h"
#include "scene.h"

enum { LEAST_LEAD_MS = 2000, STORED_A_MS = 100 };

/* Invariant: `late` and last_ms are the handler's until the consumer has stopped. */
struct delayed {
    uint64_t messages;
    int64_t begin_ms, span_ms; /* due evenly spread over them */
    struct samples late;       /* ms */
    double early, last_ms;     /* handled before due, must stay 0; when the last one was handled */
};

static double wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double) now.tv_sec * 1000 + (double) now.tv_nsec / 1e6;
}

static void note_late(const smq_message_info *info, void *user)
{
    struct delayed *delayed = user;
    double now_ms = wall_ms(), late = now_ms - (double) info->due_at_ms;

    samples_add(&delayed->late, late);
    delayed->early += late < 0 ? 1 : 0;
    delayed->last_ms = now_ms;
}

static void shape(smq_message *message, uint64_t number, void *user)
{
    const struct delayed *delayed = user;

    message->delay_ms = 0;
    message->due_at_ms =
        delayed->begin_ms + (int64_t) (number * (uint64_t) delayed->span_ms / delayed->messages);
}

/* The first one is due when all are stored. */
static bool store(struct delayed *delayed, smq_client *client, const char *topic)
{
    int64_t lead_ms = LEAST_LEAD_MS + (int64_t) (delayed->messages / STORED_A_MS);
    smq_producer *producer = library_producer(client);

    delayed->begin_ms = (int64_t) wall_ms() + lead_ms;
    bool good =
        producer != NULL && library_send_shaped(producer, topic, delayed->messages, shape, delayed);
    smq_producer_free(producer);
    if (good && wall_ms() > (double) delayed->begin_ms) {
        fprintf(stderr, "bench: storing took longer than %lld ms: too slow here\n",
                (long long) lead_ms);
        good = false;
    }
    return good;
}

/* The worker is there before anything is due. */
static bool work(struct delayed *delayed, struct lab *lab, smq_client *client, struct tally *tally)
{
    struct library_consumer consumer = {
        .tally = tally, .messages = delayed->messages, .seen = note_late, .user = delayed};
    char topic[LAB_NAME_SIZE];

    if (!lab_empty(lab) || !lab_topic(lab, client, topic, SCENE_SLOTS)) {
        return false;
    }
    bool good =
        library_consumer_start(&consumer, client, topic, 0) && store(delayed, client, topic);
    if (good) {
        library_consumer_await(&consumer);
    }
    library_consumer_stop(&consumer);
    return good;
}

static void tell(struct lab *lab, struct delayed *delayed, const char *name)
{
    struct report *report = lab_report(lab);
    char figure[48];

    snprintf(figure, sizeof(figure), "%s-p50", name);
    report_value(report, figure, "ms", samples_quantile(&delayed->late, 0.5));
    snprintf(figure, sizeof(figure), "%s-p99", name);
    report_value(report, figure, "ms", samples_quantile(&delayed->late, 0.99));
    snprintf(figure, sizeof(figure), "%s-early", name);
    report_value(report, figure, "messages", delayed->early);
}

/* `span_s`: from when the first one was due until the last one was handled. */
static bool due_within(struct lab *lab, smq_client *client, uint64_t messages, int64_t span_ms,
                       const char *name, double *span_s)
{
    struct delayed delayed = {.messages = messages, .span_ms = span_ms};
    struct tally *tally = tally_new(messages, SCENE_SLOTS);
    bool good = work(&delayed, lab, client, tally);

    if (good) {
        *span_s = (delayed.last_ms - (double) delayed.begin_ms) / 1000;
        report_tally(lab_report(lab), name, tally_counts(tally), *span_s);
        tell(lab, &delayed, name);
    }
    samples_fini(&delayed.late);
    tally_free(tally);
    return good;
}

static bool plain_drain(struct lab *lab, smq_client *client, uint64_t messages, double *seconds)
{
    struct tally *tally = tally_new(messages, SCENE_SLOTS);
    struct scene scene;
    struct meter cost;
    bool good = scene_open(&scene, lab, client, SCENE_SLOTS) && scene_fill(&scene, messages) &&
                scene_drain(&scene, messages, tally, &cost);

    scene_close(&scene);
    if (good) {
        report_tally(lab_report(lab), "delayed-drain", tally_counts(tally), cost.seconds);
        *seconds = cost.seconds;
    }
    tally_free(tally);
    return good;
}

static bool measure(struct lab *lab, smq_client *client)
{
    uint64_t many = lab_count(lab, 1000000, 200000);
    double followed, span, drain, small;

    if (!due_within(lab, client, many, (int64_t) lab_count(lab, 10000, 2000), "delayed",
                    &followed) ||
        !due_within(lab, client, many, 1000, "delayed-1s", &span) ||
        !plain_drain(lab, client, many, &drain) ||
        !due_within(lab, client, 100000, 1000, "delayed-1s-100k", &small)) {
        return false;
    }
    report_value(lab_report(lab), "delayed-1s-span", "s", span);
    report_value(lab_report(lab), "delayed-drain", "s", drain);
    report_ratio(lab_report(lab), "delayed-1s-span/drain", span, drain);
    return true;
}

bool bench_delayed(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure);
}
