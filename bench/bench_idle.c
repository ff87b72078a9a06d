/* bench_idle.c - what a process costs that owns 1,024 empty slots and waits.
 *
 * Thread: main. */
#include <semaphore.h>
#include <time.h>

#include "benches.h"
#include "meter.h"

enum { SLOTS = 1024, SETTLE_S = 3 };

static void pass(int seconds)
{
    const struct timespec time = {.tv_sec = seconds};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static smq_verdict never(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    return SMQ_DONE;
}

static void count_gained(const smq_event *event, void *user)
{
    if (event->kind == SMQ_EVENT_SLOT_GAINED) {
        sem_post(user);
    }
}

static bool watch(struct lab *lab)
{
    int seconds = (int) lab_count(lab, 20, 5);
    struct meter cost;

    pass(SETTLE_S);
    if (!meter_start(&cost, lab)) {
        return false;
    }
    pass(seconds);
    if (!meter_stop(&cost, lab)) {
        return false;
    }
    /* The look itself is one command. */
    double commands = cost.commands > 0 ? (double) cost.commands - 1 : 0;
    report_value(lab_report(lab), "idle-commands", "commands/s", commands / cost.seconds);
    report_value(lab_report(lab), "idle-cpu", "%", cost.client_cpu_s * 100 / cost.seconds);
    report_value(lab_report(lab), "idle-redis-cpu", "%", cost.redis_cpu_s * 100 / cost.seconds);
    return true;
}

static bool idle(struct lab *lab, smq_client *client, sem_t *gained)
{
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    char topic[LAB_NAME_SIZE];
    smq_worker *worker = NULL;
    smq_error err = {.text = ""};

    options.topic = topic;
    options.handler = never;
    bool good = lab_topic(lab, client, topic, SLOTS) &&
                lab_good(smq_worker_new(&worker, client, &options, &err), &err) &&
                lab_good(smq_worker_start(worker, &err), &err);
    for (int i = 0; i < SLOTS && good; i++) {
        sem_wait(gained);
    }
    good = good && watch(lab);
    smq_worker_free(worker);
    return good;
}

static bool measure(struct lab *lab)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client = NULL;
    smq_error err = {.text = ""};
    sem_t gained;

    sem_init(&gained, 0, 0);
    options.redis = lab_redis(lab);
    options.event = count_gained;
    options.event_user = &gained;
    bool good = lab_empty(lab) && lab_good(smq_client_new(&client, &options, &err), &err) &&
                idle(lab, client, &gained);
    smq_client_free(client);
    sem_destroy(&gained);
    return good;
}

bool bench_idle(struct lab *lab)
{
    bool good = lab_servers(lab, 1, false);

    for (int run = 0; run < lab_runs(lab, LAB_LONG) && good; run++) {
        report_run(lab_report(lab));
        good = measure(lab);
    }
    return good;
}
