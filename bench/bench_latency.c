/* bench_latency.c - how long until a message that is sent into an idle topic reaches its handler:
 * by the library from the default topic and from one of layout inline, by a hand-written loop that
 * waits for the wake-up and claims, and by BLPOP.
 *
 * Thread: main sends; each way has a thread that picks up. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "benches.h"
#include "library.h"
#include "samples.h"
#include "scene.h"

enum { PAUSE_NS = 1500000, WARM_UP = 20, PATIENCE_S = 30, FLUSH_MS = 30000 };

/* One message at a time.  Invariant: `tally` is the thread's while it picks up. */
struct pickup {
    struct scene *scene;
    sem_t handled;
    _Atomic int64_t at_ns;
    smq_producer *producer; /* the library's */
    struct raw *sender;     /* the others' */
    struct wire *listener;  /* what the thread waits on */
    struct wire *pusher;
    uint64_t messages, sent;
    struct tally *tally;
};

static void picked_up(struct pickup *pickup)
{
    pickup->at_ns = meter_now_ns();
    sem_post(&pickup->handled);
}

static void pass(int64_t ns)
{
    const struct timespec time = {.tv_nsec = ns};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Sends one message without waiting for the reply; then takes the reply. */
typedef bool send_fn(struct pickup *pickup, uint64_t number);
typedef bool sent_fn(struct pickup *pickup);

/* The pause lets the consumer park and everything go to sleep.  A message that is not picked up is
 * lost, and the last one. */
static bool take_samples(struct pickup *pickup, send_fn *send, sent_fn *sent,
                         struct samples *samples)
{
    for (uint64_t i = 0; i < pickup->messages; i++) {
        pass(PAUSE_NS);
        int64_t start_ns = meter_now_ns();
        if (!send(pickup, i)) {
            return false;
        }
        pickup->sent++;
        if (!library_await(&pickup->handled, PATIENCE_S)) {
            return true;
        }
        if (!sent(pickup)) {
            return false;
        }
        if (i >= WARM_UP) {
            samples_add(samples, (double) (pickup->at_ns - start_ns) / 1000);
        }
    }
    return true;
}

/* === The library ======================================================== */

static void seen(const smq_message_info *info, void *user)
{
    (void) info;
    picked_up(user);
}

static bool library_send(struct pickup *pickup, uint64_t number)
{
    char body[TALLY_BODY];
    smq_message message = library_message(body, number);
    smq_error err = SMQ_ERROR_INIT;

    return lab_good(
        smq_send_async(pickup->producer, pickup->scene->topic, &message, NULL, NULL, &err), &err);
}

static bool library_sent(struct pickup *pickup)
{
    return smq_producer_flush(pickup->producer, FLUSH_MS, NULL) == SMQ_OK;
}

static bool by_library(struct pickup *pickup, struct samples *samples)
{
    struct library_consumer consumer = {
        .tally = pickup->tally, .messages = pickup->messages, .seen = seen, .user = pickup};
    smq_client *client = pickup->scene->client;

    pickup->producer = library_producer(client);
    bool good = library_consumer_start(&consumer, client, pickup->scene->topic, 0) &&
                pickup->producer != NULL &&
                take_samples(pickup, library_send, library_sent, samples);
    library_consumer_stop(&consumer);
    smq_producer_free(pickup->producer);
    return good;
}

/* === By hand ============================================================ */

/* Claims what a slot has, answers it, and parks. */
static bool consume_until_parked(struct pickup *pickup, int slot)
{
    struct raw *raw = pickup->scene->raw;
    redisReply *answered = NULL;
    bool some = true;

    while (some) {
        raw_consume(raw, slot, SCENE_BATCH, answered);
        freeReplyObject(answered);
        answered = raw_consumed(raw, slot);
        if (answered == NULL) {
            return false;
        }
        some = raw_count(answered) > 0;
        if (some) {
            picked_up(pickup);
            raw_tick(pickup->tally, slot, answered);
        }
    }
    freeReplyObject(answered);
    return true;
}

static void *wake_and_claim(void *arg)
{
    struct pickup *pickup = arg;
    bool good = true;

    while (tally_counts(pickup->tally).handled < pickup->messages && good) {
        int slot = raw_woken(pickup->listener);
        good = slot >= 0 && consume_until_parked(pickup, slot);
    }
    return NULL;
}

static bool raw_send_one(struct pickup *pickup, uint64_t number)
{
    return raw_post(pickup->sender, (int) (number % SCENE_SLOTS), number);
}

static bool raw_sent_one(struct pickup *pickup)
{
    return raw_posted(pickup->sender);
}

static bool park_all(struct pickup *pickup)
{
    for (int i = 0; i < SCENE_SLOTS; i++) {
        if (!consume_until_parked(pickup, i)) {
            return false;
        }
    }
    return true;
}

/* The thread ends by itself after the last message, or waits for one that does not come. */
static bool with_thread(struct pickup *pickup, void *(*body)(void *arg), send_fn *send,
                        sent_fn *sent, struct samples *samples)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, body, pickup) != 0) {
        perror("bench: pthread_create");
        return false;
    }
    bool good = take_samples(pickup, send, sent, samples);
    if (!good || samples->count + WARM_UP < pickup->messages) {
        pthread_cancel(thread);
    }
    pthread_join(thread, NULL);
    return good;
}

static bool by_hand(struct pickup *pickup, struct samples *samples)
{
    struct scene *scene = pickup->scene;

    pickup->sender = raw_open(scene->lab, scene->topic, SCENE_SLOTS);
    pickup->listener = wire_open(lab_redis(scene->lab));
    bool good = pickup->sender != NULL && pickup->listener != NULL && raw_own(scene->raw) &&
                raw_listen(scene->raw, pickup->listener) && park_all(pickup) &&
                with_thread(pickup, wake_and_claim, raw_send_one, raw_sent_one, samples);
    raw_close(pickup->sender);
    wire_close(pickup->listener);
    return good;
}

/* === BLPOP ============================================================== */

static void *pop(void *arg)
{
    struct pickup *pickup = arg;
    bool good = true;

    for (uint64_t i = 0; i < pickup->messages && good; i++) {
        redisReply *reply = wire_ask(pickup->listener, "BLPOP list 0");
        good = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
        if (good) {
            picked_up(pickup);
            tally_tick(pickup->tally, 0, reply->element[1]->str, reply->element[1]->len);
        }
        freeReplyObject(reply);
    }
    return NULL;
}

static bool push(struct pickup *pickup, uint64_t number)
{
    char body[TALLY_BODY];

    tally_body(body, sizeof(body), number);
    wire_command(pickup->pusher, 3);
    wire_text(pickup->pusher, "RPUSH");
    wire_text(pickup->pusher, "list");
    wire_bytes(pickup->pusher, body, sizeof(body));
    return wire_flush(pickup->pusher);
}

static bool pushed(struct pickup *pickup)
{
    redisReply *reply = wire_reply(pickup->pusher);
    bool good = reply != NULL;

    freeReplyObject(reply);
    return good;
}

static bool by_blpop(struct pickup *pickup, struct samples *samples)
{
    pickup->listener = wire_open(lab_redis(pickup->scene->lab));
    pickup->pusher = wire_open(lab_redis(pickup->scene->lab));
    bool good = pickup->listener != NULL && pickup->pusher != NULL &&
                with_thread(pickup, pop, push, pushed, samples);
    wire_close(pickup->listener);
    wire_close(pickup->pusher);
    return good;
}

/* ======================================================================== */

typedef bool way_fn(struct pickup *pickup, struct samples *samples);

static void tell(struct lab *lab, const struct pickup *pickup, struct samples *samples,
                 const char *name, double seconds)
{
    struct tally_counts counts = tally_counts(pickup->tally);
    char figure[48];

    counts.sent = pickup->sent;
    counts.lost = counts.sent - counts.handled;
    snprintf(figure, sizeof(figure), "latency-%s", name);
    report_tally(lab_report(lab), figure, counts, seconds);
    snprintf(figure, sizeof(figure), "latency-%s-p50", name);
    report_value(lab_report(lab), figure, "us", samples_quantile(samples, 0.5));
    snprintf(figure, sizeof(figure), "latency-%s-p99", name);
    report_value(lab_report(lab), figure, "us", samples_quantile(samples, 0.99));
}

static bool measure_way(struct lab *lab, smq_client *client, smq_layout layout, way_fn *way,
                        const char *name, double *p50)
{
    struct samples samples = {.count = 0};
    struct scene scene;
    struct pickup pickup = {.scene = &scene, .messages = lab_count(lab, 2000, 500) + WARM_UP};
    struct meter cost;

    pickup.tally = tally_new(pickup.messages, SCENE_SLOTS);
    sem_init(&pickup.handled, 0, 0);
    meter_start_here(&cost);
    bool good =
        scene_open_laid_out(&scene, lab, client, SCENE_SLOTS, layout) && way(&pickup, &samples);
    meter_stop_here(&cost);
    scene_close(&scene);
    sem_destroy(&pickup.handled);
    if (good) {
        tell(lab, &pickup, &samples, name, cost.seconds);
        *p50 = samples_quantile(&samples, 0.5);
    }
    samples_fini(&samples);
    tally_free(pickup.tally);
    return good;
}

static bool over_tls(struct lab *lab, double plain)
{
    smq_client *client = lab_tls_client(lab);
    double tls;

    if (client == NULL || !measure_way(lab, client, SMQ_LAYOUT_INLINE, by_library, "tls", &tls)) {
        return false;
    }
    report_ratio(lab_report(lab), "latency-tls/plain", tls, plain);
    return true;
}

static bool when_idle(struct lab *lab, smq_client *client)
{
    struct report *report = lab_report(lab);
    double keyed, blpop, raw, plain;

    if (!measure_way(lab, client, SMQ_LAYOUT_KEYED, by_library, "slotmq", &keyed) ||
        !measure_way(lab, client, SMQ_LAYOUT_INLINE, by_blpop, "blpop", &blpop) ||
        !measure_way(lab, client, SMQ_LAYOUT_INLINE, by_hand, "raw", &raw) ||
        !measure_way(lab, client, SMQ_LAYOUT_INLINE, by_library, "inline", &plain)) {
        return false;
    }
    report_ratio(report, "latency/blpop", keyed, blpop);
    report_ratio(report, "latency-inline/raw", plain, raw);
    report_ratio(report, "latency-inline/blpop", plain, blpop);
    report_ratio(report, "latency-raw/blpop", raw, blpop);
    return !lab_options(lab)->tls || over_tls(lab, plain);
}

bool bench_latency(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, when_idle);
}
