/* bench_formats.c - what a message costs in topics of format 5 and of format 4, in forms of use one
 * after the other: by size of the body, type, ids, groups, shared topics, and with mishaps.
 *
 * What is counted are the instructions of Redis in scripts, which other work on the machine does
 * not change.
 *
 * Thread: main; handlers run on the threads of the workers. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "benches.h"
#include "library.h"
#include "scene.h"

enum { SLOTS = 8, MESSAGES = SLOTS * SCENE_BATCH, BODY_MOST = 8192, GROUPS = 2, NAME_SIZE = 48 };
enum { OLD = 4, NEW = 5 };

/* Nothing is done twice because Redis, which is counted, is slow. */
enum { PATIENCE_MS = 60000, LEASE_MS = 600000 };

/* While Redis is counted it is slow, so handlers of busy keys are slower than elsewhere. */
enum { BUSY_NS = 50000000 };

/* A form of use: everything that is 0 or NULL is that of the default topic with bodies of 64
 * bytes. */
struct shape {
    const char *name;
    smq_topic_type type;
    int body;  /* bytes */
    int batch; /* messages of a claim */
    int threads;
    bool shared, groups, ids, keys, priorities;
    library_answer_fn *answer;
    library_seen_fn *seen;
};

static smq_verdict fail_some(const smq_message_info *info, void *user)
{
    (void) user;
    return library_fails(info) ? SMQ_RETRY : SMQ_DONE;
}

static void sleep_if_busy(const smq_message_info *info, void *user)
{
    const struct timespec time = {.tv_nsec = BUSY_NS};

    (void) user;
    if (library_is_busy(info)) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    }
}

static const struct shape shapes[] = {
    {"body-64", .body = TALLY_BODY},
    {"body-256", .body = 256},
    {"body-1024", .body = 1024},
    {"body-4096", .body = 4096},
    {"body-8192", .body = 8192},
    {"one-by-one", .batch = 1},
    {"ids", .ids = true},
    {"ids-1024", .ids = true, .body = 1024},
    {"ids-8192", .ids = true, .body = 8192},
    {"keys", .keys = true},
    {"merge", .type = SMQ_TYPE_RANGE_MERGE},
    {"priority", .type = SMQ_TYPE_PRIORITY, .priorities = true},
    {"fifo", .type = SMQ_TYPE_FIFO, .keys = true},
    {"groups", .groups = true},
    {"groups-ids", .groups = true, .ids = true},
    {"retries", .answer = fail_some},
    {"busy", .keys = true, .threads = MISHAPS_THREADS, .seen = sleep_if_busy},
    {"shared", .shared = true},
    {"shared-ids", .shared = true, .ids = true},
    /* As the transport of the package for Python sends and takes tasks. */
    {"celery", SMQ_TYPE_PRIORITY, 1024, .batch = 4, .shared = true, .ids = true,
     .priorities = true},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* Invariant: a message is sent before the next one is made. */
struct maker {
    const struct shape *shape;
    char body[BODY_MOST], id[40];
    struct library_key key;
};

static void make(smq_message *message, uint64_t number, void *user)
{
    struct maker *maker = user;
    const struct shape *shape = maker->shape;

    if (shape->body > 0) {
        tally_body(maker->body, (size_t) shape->body, number);
        message->body = (smq_bytes){maker->body, (size_t) shape->body};
    }
    if (shape->ids) { /* as long as a UUID */
        snprintf(maker->id, sizeof(maker->id), "5e0c3f5a-8d0c-4c7e-9a51-%012" PRIx64, number);
        message->id = smq_text(maker->id);
    }
    if (shape->keys) {
        library_give_key(message, number, &maker->key);
    }
    if (shape->priorities) {
        message->priority = (int64_t) (number % 10);
    }
}

static bool create(struct lab *lab, smq_client *client, const struct shape *shape, int format,
                   char topic[NAME_SIZE])
{
    smq_error err = SMQ_ERROR_INIT;

    snprintf(topic, NAME_SIZE, "%s-%d", shape->name, format);
    return lab_empty(lab) &&
           lab_good(
               smq_topic_create(
                   client,
                   &SMQ_TOPIC_OPTIONS(.name = topic,
                                      .type = shape->type != 0 ? shape->type : SMQ_TYPE_FIXED_TIME,
                                      .slots = SLOTS, .layout = SMQ_LAYOUT_KEYED,
                                      .shared = shape->shared, .backoff = "fixed:10",
                                      .lease_ms = LEASE_MS, .groups = shape->groups ? "a,b" : NULL,
                                      .format = format),
                   NULL, &err),
               &err);
}

/* One worker consumes all messages of a topic, or of a group. */
static bool consume(struct lab *lab, smq_client *client, const struct shape *shape,
                    const char *topic, uint64_t count)
{
    struct library_consumer consumer = {.threads = shape->threads,
                                        .tally = tally_new(count, SLOTS),
                                        .messages = count,
                                        .answer = shape->answer,
                                        .seen = shape->seen};
    bool good = library_consumer_start(&consumer, client, topic,
                                       shape->batch > 0 ? shape->batch : SCENE_BATCH);

    if (good) {
        library_consumer_await(&consumer);
        report_tally(lab_report(lab), topic, tally_counts(consumer.tally), 0);
    }
    library_consumer_stop(&consumer);
    tally_free(consumer.tally);
    return good;
}

/* Send, claim and settle all messages.  *out: thousands of instructions for each of them. */
static bool cost(struct lab *lab, smq_client *client, const struct shape *shape, int format,
                 double *out)
{
    static const char *const groups[GROUPS] = {"a", "b"};
    uint64_t count = lab_count(lab, MESSAGES, MESSAGES / 4), instructions;
    struct maker maker = {.shape = shape};
    char topic[NAME_SIZE], part[NAME_SIZE + 2];
    struct meter sent;
    bool good = create(lab, client, shape, format, topic) && lab_counted(lab, &instructions) &&
                library_store_shaped(lab, client, topic, count, make, &maker, &sent);

    for (int i = 0; i < GROUPS && shape->groups && good; i++) {
        snprintf(part, sizeof(part), "%s/%s", topic, groups[i]);
        good = consume(lab, client, shape, part, count);
    }
    if (!shape->groups && good) {
        good = consume(lab, client, shape, topic, count);
    }
    good = good && lab_counted(lab, &instructions);
    *out = good ? (double) instructions / 1e3 / (double) count : 0;
    return good;
}

static bool compare(struct lab *lab, smq_client *client, const struct shape *shape, double *dearest)
{
    char figure[NAME_SIZE];
    double old, new;

    if (!cost(lab, client, shape, OLD, &old) || !cost(lab, client, shape, NEW, &new)) {
        return false;
    }
    fprintf(stderr, "%s: %.1f and %.1f thousand instructions a message\n", shape->name, old, new);
    snprintf(figure, sizeof(figure), "formats-%s-4", shape->name);
    report_value(lab_report(lab), figure, "thousands", old);
    snprintf(figure, sizeof(figure), "formats-%s-5", shape->name);
    report_value(lab_report(lab), figure, "thousands", new);
    snprintf(figure, sizeof(figure), "formats-%s-5/4", shape->name);
    report_ratio(lab_report(lab), figure, new, old);
    *dearest = new / old > *dearest ? new / old : *dearest;
    return true;
}

static bool measure(struct lab *lab, smq_client *client)
{
    double dearest = 0;

    for (int i = 0; i < SHAPES; i++) {
        if (!compare(lab, client, &shapes[i], &dearest)) {
            return false;
        }
    }
    report_value(lab_report(lab), "formats-dearest-5/4", "ratio", dearest);
    return true;
}

/* Redis may be slow: everything waits for it. */
static smq_client *patient_client(struct lab *lab)
{
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;

    lab_good(smq_client_new(
                 &client,
                 &SMQ_CLIENT_OPTIONS(.redis = lab_redis(lab), .request_timeout_ms = PATIENCE_MS),
                 &err),
             &err);
    return client;
}

bool bench_formats(struct lab *lab)
{
    smq_client *client = lab_counted_servers(lab) ? patient_client(lab) : NULL;
    bool good = client != NULL;

    for (int run = 0; run < lab_runs(lab, LAB_ONCE) && good; run++) {
        report_run(lab_report(lab));
        good = measure(lab, client);
    }
    smq_client_free(client);
    return good;
}
