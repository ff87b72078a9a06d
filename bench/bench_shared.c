/* bench_shared.c - a shared topic of 16 slots, whose consumers are idle when each message comes:
 * how many scripts run for a message, how many consumers hear of it, and how late is it?
 *
 * All consumers are in this process, each with a client of its own and one thread.
 *
 * Thread: main; handlers run on the threads of the workers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "announce.h"
#include "awake.h"
#include "benches.h"
#include "flow.h"
#include "library.h"
#include "relay.h"
#include "stalls.h"

enum { SLOTS = 16, FLEET_OF_MANY = 8, FLEET_IDLE = 250 };
enum { COUNTED_PER_S = 25, FEW_PER_S = 1000, MANY_PER_S = 10000 };
enum { LATER_MS = 200, FLUSH_MS = 120000, NAME_SIZE = 40 };
enum { LOOK_MS = 250, LOOKS = 60, QUIET = 2 }; /* scripts while the fleet has become idle */

#define BACKOFF "fixed:200ms"

/* While processors stand still all that is due becomes late: as in bench_steady.c. */
#define STOOD_STILL 0.5

enum kind { NOW, DELAYED, RETRIED, KINDS };

static const char *const kind_names[KINDS] = {"now", "delayed", "retried"};

/* Invariant: `kind` and `flow` change only while no message is under way. */
struct shared {
    struct lab *lab;
    const char *address; /* of Redis, or of a relay to it */
    char topic[LAB_NAME_SIZE];
    smq_client *client; /* sends */
    smq_producer *producer;
    int consumers;
    smq_client *clients[FLEET_IDLE];
    struct library_consumer workers[FLEET_IDLE];
    enum kind kind;
    struct flow flow;
    atomic_ulong failed;
};

/* === The fleet ========================================================== */

static void pass(int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static smq_verdict answer(const smq_message_info *info, void *user)
{
    struct shared *shared = user;

    if (shared->kind == RETRIED && info->attempt == 1) {
        return SMQ_RETRY;
    }
    flow_seen(&shared->flow, info->slot, info->body.data, info->body.len);
    return SMQ_DONE;
}

static bool start_consumer(struct shared *shared)
{
    int index = shared->consumers;
    struct library_consumer *worker = &shared->workers[index];

    shared->clients[index] = lab_client_at(shared->lab, shared->address);
    if (shared->clients[index] == NULL) {
        return false;
    }
    *worker = (struct library_consumer){.answer = answer, .user = shared};
    shared->consumers++;
    return library_consumer_start(worker, shared->clients[index], shared->topic, 0);
}

/* Wait until nothing is executed any more.  A fleet that never rests is measured as it is. */
static bool settle(struct shared *shared)
{
    struct meter cost;

    for (int i = 0; i < LOOKS; i++) {
        if (!meter_start(&cost, shared->lab)) {
            return false;
        }
        pass(LOOK_MS);
        if (!meter_stop(&cost, shared->lab)) {
            return false;
        }
        if (cost.calls <= QUIET) {
            return true;
        }
    }
    return true;
}

/* close_fleet() is called whatever this returns. */
static bool open_fleet(struct shared *shared, struct lab *lab, const char *address, int consumers)
{
    *shared = (struct shared){.lab = lab, .address = address};
    bool good =
        lab_empty(lab) && (shared->client = lab_client_at(lab, address)) != NULL &&
        (shared->producer = library_producer(shared->client)) != NULL &&
        lab_topic_with(lab, shared->client, shared->topic,
                       SMQ_TOPIC_OPTIONS(.slots = SLOTS, .shared = true, .backoff = BACKOFF));

    while (good && shared->consumers < consumers) {
        good = start_consumer(shared);
    }
    return good && settle(shared);
}

static void close_fleet(struct shared *shared)
{
    for (int i = 0; i < shared->consumers; i++) {
        smq_consumer_stop(shared->workers[i].worker);
    }
    for (int i = 0; i < shared->consumers; i++) {
        library_consumer_stop(&shared->workers[i]);
    }
    for (int i = 0; i < FLEET_IDLE; i++) {
        smq_client_free(shared->clients[i]);
    }
    smq_producer_free(shared->producer);
    smq_client_free(shared->client);
}

/* === Sending ============================================================ */

static void count_failed(const smq_receipt *receipt, void *user)
{
    struct shared *shared = user;

    if (receipt->status != SMQ_OK) {
        atomic_fetch_add(&shared->failed, 1);
    }
}

static bool send_one(void *user, uint64_t number)
{
    struct shared *shared = user;
    char body[TALLY_BODY];
    smq_message message = library_message(body, number);
    smq_error err = SMQ_ERROR_INIT;

    if (shared->kind == DELAYED) {
        message.delay_ms = LATER_MS;
    }
    return lab_good(
        smq_send_async(shared->producer, shared->topic, &message, count_failed, shared, &err),
        &err);
}

static bool end(void *user)
{
    struct shared *shared = user;
    smq_error err = SMQ_ERROR_INIT;
    bool good = lab_good(smq_producer_flush(shared->producer, FLUSH_MS, &err), &err);

    if (shared->failed > 0) {
        fprintf(stderr, "bench: %lu sends failed\n", (unsigned long) shared->failed);
    }
    return good && shared->failed == 0;
}

struct trial {
    struct flow_result result;
    struct meter cost;
    double stood_still; /* percent of the time */
};

static bool send_flow(struct shared *shared, struct trial *trial)
{
    static const struct flow_way way = {.send = send_one, .wait = flow_sleep, .end = end};
    struct stalls stalls;

    if (!meter_start(&trial->cost, shared->lab)) {
        return false;
    }
    stalls_start(&stalls);
    bool good = flow_send(&shared->flow, &way, shared);
    if (good) {
        flow_await(&shared->flow);
    }
    trial->stood_still = stalls_stop(&stalls);
    return good && meter_stop(&trial->cost, shared->lab);
}

/* A fleet that cannot follow gets fewer messages.  `name`: of the run. */
static bool try_kind(struct shared *shared, enum kind kind, double rate, struct trial *trial,
                     const char *name)
{
    struct report *report = lab_report(shared->lab);
    struct flow *flow = &shared->flow;

    flow_init(flow, rate, (double) lab_count(shared->lab, 4, 1));
    flow->give_up_s = lab_count(shared->lab, 1, 0) ? 2 : 0.25 + LATER_MS / 1e3;
    flow->later_ns = kind == NOW ? 0 : LATER_MS * INT64_C(1000000);
    shared->kind = kind;
    bool good = send_flow(shared, trial);
    if (good) {
        trial->result = flow_result(flow);
        report_tally(report, name, trial->result.counts, trial->cost.seconds);
    }
    if (good && trial->result.gave_up) {
        report_note(report, "%s: the consumers cannot follow %.0f messages/s: only %.0f were sent",
                    name, rate, (double) flow->sent);
    }
    flow_fini(flow);
    return good;
}

/* === Figures ============================================================ */

static void tell(const struct shared *shared, const char *name, const char *what, const char *unit,
                 double value)
{
    char figure[NAME_SIZE + 8];

    snprintf(figure, sizeof(figure), "%.36s-%s", name, what);
    report_value(lab_report(shared->lab), figure, unit, value);
}

static void tell_lateness(const struct shared *shared, const char *name, const struct trial *trial)
{
    char figure[NAME_SIZE + 8];

    tell(shared, name, "p50", "ms", trial->result.p50_ms);
    if (trial->stood_still <= STOOD_STILL) {
        tell(shared, name, "p99", "ms", trial->result.p99_ms);
        return;
    }
    snprintf(figure, sizeof(figure), "%.36s-p99", name);
    report_uncounted(lab_report(shared->lab), figure, "ms", "processors stood still");
}

static double per_message(uint64_t count, const struct trial *trial)
{
    return (double) count / (double) trial->result.counts.sent;
}

/* Messages come so rarely that all consumers are idle again. */
static bool count_kind(struct shared *shared, enum kind kind, const struct relay *relay)
{
    uint64_t before = *relay->received;
    char name[NAME_SIZE];
    struct trial trial;

    snprintf(name, sizeof(name), "shared-%d-%s", shared->consumers, kind_names[kind]);
    if (!try_kind(shared, kind, COUNTED_PER_S, &trial, name)) {
        return false;
    }
    tell(shared, name, "scripts", "scripts/message", per_message(trial.cost.calls, &trial));
    tell(shared, name, "received", "times/message", per_message(*relay->received - before, &trial));
    return true;
}

static bool measure_rate(struct shared *shared, enum kind kind, double rate, const char *name)
{
    struct trial trial;
    bool good = try_kind(shared, kind, rate, &trial, name);

    if (good) {
        const struct meter *cost = &trial.cost;
        double sent = (double) trial.result.counts.sent;

        tell(shared, name, "scripts", "scripts/message", per_message(cost->calls, &trial));
        tell(shared, name, "redis-cpu", "us/message", cost->redis_cpu_s * 1e6 / sent);
        tell(shared, name, "client-cpu", "us/message", cost->client_cpu_s * 1e6 / sent);
        tell_lateness(shared, name, &trial);
    }
    return good;
}

static bool measure_kind(struct shared *shared, enum kind kind)
{
    int rate = lab_options(shared->lab)->rate;
    char name[NAME_SIZE];

    rate = rate > 0 ? rate : FEW_PER_S;
    snprintf(name, sizeof(name), "shared-%d-%s-%d/s", shared->consumers, kind_names[kind], rate);
    return measure_rate(shared, kind, rate, name);
}

/* The look itself is one command. */
static bool measure_idle(struct shared *shared)
{
    struct meter cost;

    if (!meter_start(&cost, shared->lab)) {
        return false;
    }
    pass((int) lab_count(shared->lab, 60000, 20000));
    if (!meter_stop(&cost, shared->lab)) {
        return false;
    }
    tell(shared, "shared-idle", "commands", "commands/s",
         fmax(0, (double) cost.commands - 1) / cost.seconds);
    return true;
}

/* One fleet: what it is measured with depends on its size.  `relay`: it goes through this one, and
 * is only counted.  NULL: it does not. */
static bool with_fleet(struct lab *lab, const char *address, int consumers,
                       const struct relay *relay)
{
    struct shared *shared = malloc(sizeof(*shared));

    if (shared == NULL) {
        abort();
    }
    bool good = open_fleet(shared, lab, address, consumers);
    if (good && relay == NULL && consumers == FLEET_IDLE) {
        good = measure_idle(shared);
    }
    for (int kind = 0; kind < KINDS && good; kind++) {
        good = relay != NULL ? count_kind(shared, (enum kind) kind, relay)
                             : measure_kind(shared, (enum kind) kind);
    }
    if (good && relay == NULL && consumers == FLEET_OF_MANY && lab_options(lab)->rate == 0) {
        good = measure_rate(shared, NOW, MANY_PER_S, "shared-8-now-10000/s");
    }
    close_fleet(shared);
    free(shared);
    return good;
}

static const int fleets[] = {1, FLEET_OF_MANY, 64, FLEET_IDLE};
enum { FLEETS = sizeof(fleets) / sizeof(fleets[0]) };

static bool with_fleets(struct lab *lab, const char *address, const struct relay *relay)
{
    bool good = true;

    for (int i = 0; i < FLEETS && good; i++) {
        good = with_fleet(lab, address, fleets[i], relay);
    }
    return good;
}

/* What is received is counted between Redis and the clients, with fleets of their own, because the
 * relay takes time. */
static bool through_relay(struct lab *lab)
{
    const struct relay_options options = {.program = lab_options(lab)->program,
                                          .port = announce_port_of(lab_redis(lab)),
                                          .count = true};
    struct relay relay;
    bool good = relay_start(&relay, &options) && announce(lab, relay.address) &&
                with_fleets(lab, relay.address, &relay);

    good = announce(lab, lab_redis(lab)) && good;
    relay_stop(&relay);
    return good;
}

static bool measure(struct lab *lab)
{
    return with_fleets(lab, lab_redis(lab), NULL) && through_relay(lab);
}

bool bench_shared(struct lab *lab)
{
    struct awake awake;

    awake_start(&awake); /* before there are connections, which its processes would keep open */
    bool good = lab_servers(lab, 1, false) && lab_repeat(lab, LAB_LONG, measure);
    awake_stop(&awake);
    return good;
}
