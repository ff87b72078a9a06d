/* bench_hot.c - 20,000 messages of one key stand in front of one message each of 20 other keys, all
 * in one slot, and handlers take 20 ms: when does the last of the 20 begin?
 *
 * Thread: main; handlers run on the threads of the consumer, or poll on threads of their own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

enum { IN_FRONT = 20000, OTHERS = 20, THREADS = 4, HANDLER_NS = 20000000 };
enum { KEY_SIZE = 16, POLL_MS = 100 };

/* `groups`: the topic has this one, which is consumed. */
struct shape {
    const char *name;
    smq_topic_type type;
    smq_layout layout;
    const char *groups;
    bool polled;
};

static const struct shape shapes[] = {
    {"hot-keyed", SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_KEYED, NULL, false},
    {"hot-inline", SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_INLINE, NULL, false},
    {"hot-fifo", SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, NULL, false},
    {"hot-priority", SMQ_TYPE_PRIORITY, SMQ_LAYOUT_INLINE, NULL, false},
    {"hot-group", SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_KEYED, "group", false},
    {"hot-polled", SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_KEYED, NULL, true},
};

/* Invariant: `key` is that of the message that is made now; `all` is posted when `others` becomes
 * OTHERS, and then `last_ns` is known. */
struct hot {
    const struct shape *shape;
    char topic[2 * LAB_NAME_SIZE]; /* that is consumed */
    char key[KEY_SIZE];
    atomic_int handled, others;
    atomic_int_fast64_t last_ns; /* when the last of the others began */
    sem_t all;
    /* Polled: */
    smq_consumer *consumer;
    atomic_bool failed;
};

static void give_key(smq_message *message, uint64_t number, void *user)
{
    struct hot *hot = user;

    snprintf(hot->key, KEY_SIZE, "key%d", number < IN_FRONT ? 0 : (int) (number - IN_FRONT) + 1);
    message->key = smq_text(hot->key);
}

static void handle(const smq_message_info *info, void *user)
{
    const struct timespec time = {.tv_nsec = HANDLER_NS};
    struct hot *hot = user;
    bool other = tally_number(info->body.data, info->body.len) >= IN_FRONT;

    if (other && atomic_fetch_add(&hot->others, 1) + 1 == OTHERS) {
        hot->last_ns = meter_now_ns();
        sem_post(&hot->all);
    }
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    atomic_fetch_add(&hot->handled, 1);
}

/* === Consuming ========================================================== */

static int bound_s(const struct lab *lab)
{
    return (int) lab_count(lab, 30, 10);
}

static bool by_worker(struct lab *lab, smq_client *client, struct hot *hot)
{
    struct library_consumer consumer = {.threads = THREADS, .seen = handle, .user = hot};
    bool good = library_consumer_start(&consumer, client, hot->topic, 0);

    if (good) {
        (void) library_await(&hot->all, bound_s(lab));
    }
    library_consumer_stop(&consumer);
    return good;
}

/* Until the consumer has stopped. */
static void *poll_one_by_one(void *arg)
{
    struct hot *hot = arg;
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;
    smq_status status;
    size_t count;

    while ((status = smq_consumer_poll(hot->consumer, &delivery, 1, &count, POLL_MS, &err)) ==
           SMQ_OK) {
        if (count > 0) {
            handle(smq_delivery_info(delivery), hot);
            hot->failed = !lab_good(smq_done(delivery, &err), &err) || hot->failed;
        }
    }
    if (status != SMQ_CLOSED) {
        lab_good(status, &err);
        hot->failed = true;
    }
    return NULL;
}

static bool by_polls(struct lab *lab, smq_client *client, struct hot *hot)
{
    smq_error err = SMQ_ERROR_INIT;
    pthread_t threads[THREADS];
    int started = 0;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.topic = hot->topic);
    if (!lab_good(smq_consumer_new(&hot->consumer, client, &options, &err), &err)) {
        return false;
    }
    while (started < THREADS &&
           pthread_create(&threads[started], NULL, poll_one_by_one, hot) == 0) {
        started++;
    }
    if (started == THREADS) {
        (void) library_await(&hot->all, bound_s(lab));
    }
    smq_consumer_stop(hot->consumer);
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    smq_consumer_free(hot->consumer);
    return started == THREADS && !hot->failed;
}

/* === One shape ========================================================== */

static bool make_topic(struct lab *lab, smq_client *client, struct hot *hot,
                       char name[LAB_NAME_SIZE])
{
    const struct shape *shape = hot->shape;
    bool good = lab_empty(lab) &&
                lab_topic_with(lab, client, name,
                               SMQ_TOPIC_OPTIONS(.type = shape->type, .layout = shape->layout,
                                                 .slots = 1, .groups = shape->groups));

    snprintf(hot->topic, sizeof(hot->topic), "%s%s%s", name, shape->groups != NULL ? "/" : "",
             shape->groups != NULL ? shape->groups : "");
    return good;
}

/* What is neither handled nor waits is lost. */
static bool count(smq_client *client, const struct hot *hot, struct tally_counts *out)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    if (!lab_good(smq_topic_stats(client, hot->topic, &stats, &err), &err)) {
        return false;
    }
    *out = (struct tally_counts){.sent = IN_FRONT + OTHERS,
                                 .handled = (uint64_t) hot->handled + stats.waiting};
    if (out->handled < out->sent) {
        out->lost = out->sent - out->handled;
    } else {
        out->duplicated = out->handled - out->sent;
    }
    return true;
}

/* A figure beyond the bound is not known. */
static void tell(struct lab *lab, const struct hot *hot, struct tally_counts counts,
                 int64_t start_ns)
{
    struct report *report = lab_report(lab);
    double seconds = (double) (hot->last_ns - start_ns) / 1e9;

    report_tally(report, hot->shape->name, counts, hot->others == OTHERS ? seconds : bound_s(lab));
    if (hot->others == OTHERS) {
        report_value(report, hot->shape->name, "s", seconds);
    } else {
        report_uncounted(report, hot->shape->name, "s", lab_count(lab, 1, 0) ? ">30 s" : ">10 s");
        report_note(report, "%s: after %d s %d of the %d other keys had begun", hot->shape->name,
                    bound_s(lab), hot->others, OTHERS);
    }
}

static bool with_shape(struct lab *lab, smq_client *client, const struct shape *shape)
{
    struct hot hot = {.shape = shape};
    struct tally_counts counts;
    struct meter sent;
    char name[LAB_NAME_SIZE];

    sem_init(&hot.all, 0, 0);
    bool good = make_topic(lab, client, &hot, name) &&
                library_store_shaped(lab, client, name, IN_FRONT + OTHERS, give_key, &hot, &sent);
    int64_t start_ns = meter_now_ns();
    good = good && (shape->polled ? by_polls : by_worker)(lab, client, &hot) &&
           count(client, &hot, &counts);
    if (good) {
        tell(lab, &hot, counts, start_ns);
    }
    sem_destroy(&hot.all);
    return good;
}

static bool measure(struct lab *lab, smq_client *client)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        if (!with_shape(lab, client, &shapes[i])) {
            return false;
        }
    }
    return true;
}

bool bench_hot(struct lab *lab)
{
    return scene_runs(lab, LAB_LONG, measure);
}
