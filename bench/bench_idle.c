/* bench_idle.c - what a process costs that owns 1,024 empty slots and waits; after that it must
 * still handle what is sent.
 *
 * Thread: main. */
#include <semaphore.h>
#include <time.h>

#include "benches.h"
#include "library.h"

enum { SLOTS = 1024, MESSAGES = 4 * SLOTS, SETTLE_S = 3, PATIENCE_S = 60 };

static void pass(int seconds)
{
    const struct timespec time = {.tv_sec = seconds};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void see_slots(const smq_event *event, void *user)
{
    if (event->kind == SMQ_EVENT_ASSIGNED && event->slots_owned == SLOTS) {
        sem_post(user);
    }
}

static bool watch(struct lab *lab, struct meter *cost)
{
    pass(SETTLE_S);
    if (!meter_start(cost, lab)) {
        return false;
    }
    pass((int) lab_count(lab, 20, 5));
    return meter_stop(cost, lab);
}

static void tell(struct lab *lab, const struct meter *cost)
{
    /* The look itself is one command. */
    double commands = cost->commands > 0 ? (double) cost->commands - 1 : 0;

    report_value(lab_report(lab), "idle-commands", "commands/s", commands / cost->seconds);
    report_value(lab_report(lab), "idle-cpu", "%", cost->client_cpu_s * 100 / cost->seconds);
    report_value(lab_report(lab), "idle-redis-cpu", "%", cost->redis_cpu_s * 100 / cost->seconds);
}

static bool wake(struct lab *lab, smq_client *client, const char *topic,
                 struct library_consumer *consumer)
{
    struct meter cost;
    bool good = library_store(lab, client, topic, MESSAGES, &cost);

    if (good) {
        library_consumer_await(consumer);
        report_tally(lab_report(lab), "afterwards", tally_counts(consumer->tally), cost.seconds);
    }
    return good;
}

static bool idle(struct lab *lab, smq_client *client, sem_t *all_owned)
{
    struct library_consumer consumer = {.tally = tally_new(MESSAGES, SLOTS), .messages = MESSAGES};
    char topic[LAB_NAME_SIZE];
    struct meter cost;
    bool good = lab_topic(lab, client, topic, SLOTS);

    if (good) {
        good = library_consumer_start(&consumer, client, topic, 0) &&
               library_await(all_owned, PATIENCE_S) && watch(lab, &cost) &&
               wake(lab, client, topic, &consumer);
        library_consumer_stop(&consumer);
    }
    if (good) {
        tell(lab, &cost);
    }
    tally_free(consumer.tally);
    return good;
}

static bool measure(struct lab *lab)
{
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;
    sem_t all_owned;

    sem_init(&all_owned, 0, 0);
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = lab_redis(lab), .event = see_slots, .event_user = &all_owned);
    bool good = lab_empty(lab) && lab_good(smq_client_new(&client, &options, &err), &err) &&
                idle(lab, client, &all_owned);
    smq_client_free(client);
    sem_destroy(&all_owned);
    return good;
}

bool bench_idle(struct lab *lab)
{
    return lab_servers(lab, 1, false) && lab_repeat(lab, LAB_LONG, measure);
}
