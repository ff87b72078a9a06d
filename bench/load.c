#include "load.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include "library.h"
#include "samples.h"
#include "scene.h"

enum { LEAD_NS = 50000000 };

/* Invariant: `late` is the handler's until the consumer has stopped. */
struct load {
    double rate; /* 0: as fast as they are taken */
    int64_t start_ns;
    struct samples late; /* us */
};

static int64_t intended_ns(const struct load *load, uint64_t number)
{
    return load->start_ns + (int64_t) ((double) number * 1e9 / load->rate);
}

static void await_turn(smq_message *message, uint64_t number, void *user)
{
    int64_t due_ns = intended_ns(user, number);

    (void) message;
    if (due_ns > meter_now_ns()) {
        struct timespec due = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
}

static void note_late(const smq_message_info *info, void *user)
{
    struct load *load = user;
    int64_t due_ns = intended_ns(load, tally_number(info->body.data, info->body.len));

    samples_add(&load->late, (double) (meter_now_ns() - due_ns) / 1000);
}

/* The worker is there before the first message. */
static bool run(struct load *load, struct lab *lab, smq_client *client, struct tally *tally,
                struct meter *cost)
{
    bool paced = load->rate > 0;
    struct library_consumer consumer = {.tally = tally,
                                        .messages = tally_counts(tally).sent,
                                        .seen = paced ? note_late : NULL,
                                        .user = load};
    smq_producer *producer = library_producer(client);
    char topic[LAB_NAME_SIZE];

    bool good = producer != NULL && lab_empty(lab) && lab_topic(lab, client, topic, SCENE_SLOTS) &&
                meter_start(cost, lab);
    if (good) {
        good = library_consumer_start(&consumer, client, topic, 0);
        load->start_ns = meter_now_ns() + LEAD_NS;
        good = good && library_send_shaped(producer, topic, consumer.messages,
                                           paced ? await_turn : NULL, load);
        if (good) {
            library_consumer_await(&consumer);
        }
        good = meter_stop(cost, lab) && good;
        library_consumer_stop(&consumer);
    }
    smq_producer_free(producer);
    return good;
}

bool load_at(struct lab *lab, smq_client *client, double rate, uint64_t messages, const char *name)
{
    static const double quantiles[] = {0.5, 0.99, 0.999};
    static const char *const words[] = {"p50", "p99", "p99.9"};
    struct tally *tally = tally_new(messages, SCENE_SLOTS);
    struct load load = {.rate = rate};
    char figure[48];
    struct meter cost;

    prctl(PR_SET_TIMERSLACK, 1L);
    bool good = run(&load, lab, client, tally, &cost);
    if (good) {
        report_tally(lab_report(lab), name, tally_counts(tally), cost.seconds);
        for (size_t i = 0; i < 3; i++) {
            snprintf(figure, sizeof(figure), "%s-%s", name, words[i]);
            report_value(lab_report(lab), figure, "us", samples_quantile(&load.late, quantiles[i]));
        }
        scene_tell_cpu(lab, name, &cost, (double) messages);
    }
    samples_fini(&load.late);
    tally_free(tally);
    return good;
}

bool load_most(struct lab *lab, smq_client *client, uint64_t messages, const char *name,
               double *rate)
{
    struct tally *tally = tally_new(messages, SCENE_SLOTS);
    struct load load = {.rate = 0};
    struct meter cost;
    bool good = run(&load, lab, client, tally, &cost);

    if (good) {
        *rate = scene_tell(lab, name, tally_counts(tally), &cost).rate;
    }
    tally_free(tally);
    return good;
}
