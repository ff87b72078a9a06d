/* bench_load.c - messages sent at a given rate whatever becomes of them, consumed meanwhile; times
 * are from when a message should have been sent, so that a stall counts for all it held up.
 *
 * Thread: main sends; the handler runs on one thread of the worker. */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "benches.h"
#include "library.h"
#include "samples.h"
#include "scene.h"

enum { PATIENCE_S = 60, FLUSH_MS = 60000, LEAD_NS = 50000000 };

/* Invariant: `late` is the handler's until `all` is posted. */
struct load {
    struct lab *lab;
    smq_client *client;
    smq_producer *producer;
    const char *topic;
    double rate;
    uint64_t messages;
    int64_t start_ns;
    struct tally *tally;
    struct samples late; /* us */
    sem_t all;
};

static int64_t intended_ns(const struct load *load, uint64_t number)
{
    return load->start_ns + (int64_t) ((double) number * 1e9 / load->rate);
}

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    const smq_message_info *info = smq_delivery_info(delivery);
    struct load *load = user;
    int64_t due_ns = intended_ns(load, tally_number(info->body, info->body_len));

    samples_add(&load->late, (double) (meter_now_ns() - due_ns) / 1000);
    if (tally_tick(load->tally, info->slot, info->body, info->body_len) == load->messages) {
        sem_post(&load->all);
    }
    return SMQ_DONE;
}

static bool send_all(struct load *load)
{
    char body[TALLY_BODY];
    smq_error err = {.text = ""};

    load->start_ns = meter_now_ns() + LEAD_NS;
    for (uint64_t i = 0; i < load->messages; i++) {
        smq_message message = library_message(body, i);
        int64_t due_ns = intended_ns(load, i);
        if (due_ns > meter_now_ns()) {
            struct timespec due = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        }
        if (!lab_good(smq_send_async(load->producer, load->topic, &message, NULL, NULL, &err),
                      &err)) {
            return false;
        }
    }
    return lab_good(smq_producer_flush(load->producer, FLUSH_MS, &err), &err);
}

static bool await(sem_t *semaphore)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    return sem_timedwait(semaphore, &until) == 0;
}

static bool work(struct load *load)
{
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_worker *worker = NULL;
    smq_error err = {.text = ""};

    options.topic = load->topic;
    options.handler = handle;
    options.user = load;
    options.threads = 1;
    bool good = lab_good(smq_worker_new(&worker, load->client, &options, &err), &err) &&
                lab_good(smq_worker_start(worker, &err), &err) && send_all(load) &&
                await(&load->all);
    smq_worker_free(worker);
    return good;
}

static void tell(struct load *load, const char *name, const struct meter *cost)
{
    static const double quantiles[] = {0.5, 0.99, 0.999};
    static const char *const words[] = {"p50", "p99", "p99.9"};
    struct report *report = lab_report(load->lab);
    char figure[48];

    report_tally(report, name, tally_counts(load->tally), cost->seconds);
    for (size_t i = 0; i < 3; i++) {
        snprintf(figure, sizeof(figure), "%s-%s", name, words[i]);
        report_value(report, figure, "us", samples_quantile(&load->late, quantiles[i]));
    }
    snprintf(figure, sizeof(figure), "%s-client-cpu", name);
    report_value(report, figure, "us/message", cost->client_cpu_s * 1e6 / (double) load->messages);
    snprintf(figure, sizeof(figure), "%s-redis-cpu", name);
    report_value(report, figure, "us/message", cost->redis_cpu_s * 1e6 / (double) load->messages);
}

static bool at_rate(struct lab *lab, smq_client *client, int rate, const char *name)
{
    char topic[LAB_NAME_SIZE];
    struct load load = {.lab = lab, .client = client, .topic = topic, .rate = rate};
    struct meter cost;

    prctl(PR_SET_TIMERSLACK, 1L);
    load.messages = (uint64_t) rate * lab_count(lab, 5, 2);
    load.tally = tally_new(load.messages, SCENE_SLOTS);
    load.producer = library_producer(client);
    sem_init(&load.all, 0, 0);
    bool good = load.producer != NULL && lab_empty(lab) &&
                lab_topic(lab, client, topic, SCENE_SLOTS) && meter_start(&cost, lab) &&
                work(&load) && meter_stop(&cost, lab);
    if (good) {
        tell(&load, name, &cost);
    }
    sem_destroy(&load.all);
    smq_producer_free(load.producer);
    samples_fini(&load.late);
    tally_free(load.tally);
    return good;
}

static bool measure_rates(struct lab *lab, smq_client *client)
{
    return at_rate(lab, client, 1000, "load-1k") && at_rate(lab, client, 10000, "load-10k") &&
           at_rate(lab, client, 50000, "load-50k");
}

bool bench_load(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure_rates);
}

static bool measure_e2e(struct lab *lab, smq_client *client)
{
    int rate = lab_options(lab)->rate > 0 ? lab_options(lab)->rate : 100000;

    return at_rate(lab, client, rate, "e2e");
}

bool bench_e2e(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure_e2e);
}
