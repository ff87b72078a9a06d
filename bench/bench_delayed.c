/* bench_delayed.c - many messages come due within one second: how late are they handled?
 *
 * Thread: main; the handler runs on one thread of the worker. */
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

#include "benches.h"
#include "library.h"
#include "samples.h"
#include "scene.h"

enum {
    PATIENCE_S = 120,
    FLUSH_MS = 120000,
    SPAN_MS = 1000,
    LEAST_LEAD_MS = 2000,
    STORED_A_MS = 100
};

/* Invariant: `late` is the handler's until `all` is posted. */
struct delayed {
    struct lab *lab;
    smq_client *client;
    char topic[LAB_NAME_SIZE];
    uint64_t messages;
    struct tally *tally;
    struct samples late; /* ms */
    double early;        /* handled before due: must stay 0 */
    sem_t all;
};

static double wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double) now.tv_sec * 1000 + (double) now.tv_nsec / 1e6;
}

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *info = smq_delivery_info(delivery);
    struct delayed *delayed = user;
    double late = wall_ms() - (double) info->due_at_ms;

    samples_add(&delayed->late, late);
    delayed->early += late < 0 ? 1 : 0;
    if (tally_tick(delayed->tally, info->slot, info->body, info->body_len) == delayed->messages) {
        sem_post(&delayed->all);
    }
    return SMQ_DONE;
}

/* Due times are spread evenly over the second, which begins when all is stored. */
static bool send_all(struct delayed *delayed, smq_producer *producer, int64_t begin_ms)
{
    char body[TALLY_BODY];
    smq_error err = {.text = ""};

    for (uint64_t i = 0; i < delayed->messages; i++) {
        smq_message message = library_message(body, i);
        message.delay_ms = 0;
        message.due_at_ms = begin_ms + (int64_t) (i * SPAN_MS / delayed->messages);
        if (!lab_good(smq_send_async(producer, delayed->topic, &message, NULL, NULL, &err), &err)) {
            return false;
        }
    }
    return lab_good(smq_producer_flush(producer, FLUSH_MS, &err), &err);
}

static bool store(struct delayed *delayed)
{
    int64_t lead_ms = LEAST_LEAD_MS + (int64_t) (delayed->messages / STORED_A_MS);
    int64_t begin_ms = (int64_t) wall_ms() + lead_ms;
    smq_producer *producer = library_producer(delayed->client);
    bool good = producer != NULL && send_all(delayed, producer, begin_ms);

    smq_producer_free(producer);
    if (good && wall_ms() > (double) begin_ms) {
        fprintf(stderr, "bench: storing took longer than %lld ms: too slow here\n",
                (long long) lead_ms);
        good = false;
    }
    return good;
}

static bool await(sem_t *semaphore)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    return sem_timedwait(semaphore, &until) == 0;
}

/* The worker is there before anything is due. */
static bool work(struct delayed *delayed)
{
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_worker *worker = NULL;
    smq_error err = {.text = ""};

    options.topic = delayed->topic;
    options.handler = handle;
    options.user = delayed;
    options.threads = 1;
    bool good = lab_good(smq_worker_new(&worker, delayed->client, &options, &err), &err) &&
                lab_good(smq_worker_start(worker, &err), &err) && store(delayed) &&
                await(&delayed->all);
    smq_worker_free(worker);
    return good;
}

static void tell(struct delayed *delayed, const char *name)
{
    struct report *report = lab_report(delayed->lab);
    char figure[48];

    report_tally(report, name, tally_counts(delayed->tally), SPAN_MS / 1000.0);
    snprintf(figure, sizeof(figure), "%s-p50", name);
    report_value(report, figure, "ms", samples_quantile(&delayed->late, 0.5));
    snprintf(figure, sizeof(figure), "%s-p99", name);
    report_value(report, figure, "ms", samples_quantile(&delayed->late, 0.99));
    snprintf(figure, sizeof(figure), "%s-early", name);
    report_value(report, figure, "messages", delayed->early);
}

static bool with_messages(struct lab *lab, smq_client *client, uint64_t messages, const char *name)
{
    struct delayed delayed = {.lab = lab, .client = client, .messages = messages};

    delayed.tally = tally_new(messages, SCENE_SLOTS);
    sem_init(&delayed.all, 0, 0);
    bool good =
        lab_empty(lab) && lab_topic(lab, client, delayed.topic, SCENE_SLOTS) && work(&delayed);
    if (good) {
        tell(&delayed, name);
    }
    sem_destroy(&delayed.all);
    samples_fini(&delayed.late);
    tally_free(delayed.tally);
    return good;
}

/* The first number is within what one master can do; the second is more than it can. */
static bool measure(struct lab *lab, smq_client *client)
{
    return with_messages(lab, client, 100000, "delayed") &&
           with_messages(lab, client, lab_count(lab, 1000000, 300000),
                         lab_options(lab)->quick ? "delayed-300k" : "delayed-1M");
}

bool bench_delayed(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure);
}
