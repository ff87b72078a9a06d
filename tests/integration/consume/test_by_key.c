/* test_by_key.c - different keys of one slot are handled at the same time, each key alone and in
 * its order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include "base/clock.h"
#include "base/thread.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "model/slot.h"
#include "support/group.h"

enum { KEYS = 1000, THREADS = 8, HOUR_MS = 3600000 };

/* === What handlers see of each other ==================================== */

/* Bodies are "KEY NUMBER", the numbers of each key from 0 on.  Invariant: the lock guards all but
 * what the test sets before. */
struct watch {
    int fails;     /* each message of every such key fails at its first attempt; 0: none does */
    int together;  /* the first handlers wait until this many run */
    bool in_order; /* the numbers of a key come in their order */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int running, most, begun;
    int doubled;     /* handlers that began while another one had their key */
    int disorder;    /* handlers that began before the message before theirs was done */
    int accompanied; /* handlers of suspects that were not alone */
    bool runs[KEYS], alone;
    int done[KEYS];
    int hangs;              /* attempts of the message that hangs */
    smq_client *suspect_of; /* whose topic it is in; NULL: none hangs */
    const char *topic;
};

static struct watch *watch_new(bool in_order)
{
    struct watch *watch = calloc(1, sizeof(*watch));

    assert_non_null(watch);
    watch->in_order = in_order;
    pthread_mutex_init(&watch->lock, NULL);
    thread_cond_init(&watch->changed);
    return watch;
}

static void watch_free(struct watch *watch)
{
    pthread_mutex_destroy(&watch->lock);
    pthread_cond_destroy(&watch->changed);
    free(watch);
}

static void read_body(int *key, int *number, const smq_delivery *delivery)
{
    const smq_bytes *body = &smq_delivery_info(delivery)->body;
    char text[32] = "", *rest;

    memcpy(text, body->data, body->len < sizeof(text) ? body->len : sizeof(text) - 1);
    *key = (int) strtol(text, &rest, 10);
    *number = (int) strtol(rest, NULL, 10);
}

/* The lock is held.  Waits until `together` handlers run at once, or gives up; then the test fails.
 */
static void watch_gather(struct watch *watch)
{
    struct timespec deadline = clock_deadline(TIMEOUT_MS);
    int failed = 0;

    while (watch->most < watch->together && failed == 0) {
        failed = pthread_cond_timedwait(&watch->changed, &watch->lock, &deadline);
    }
    watch->together = failed == 0 ? watch->together : 0;
}

static void watch_begin(struct watch *watch, const smq_delivery *delivery)
{
    int key, number;

    read_body(&key, &number, delivery);
    pthread_mutex_lock(&watch->lock);
    watch->doubled += watch->runs[key] ? 1 : 0;
    watch->disorder += watch->in_order && watch->done[key] != number ? 1 : 0;
    watch->accompanied += watch->alone ? 1 : 0;
    watch->runs[key] = true;
    watch->begun++;
    watch->running++;
    watch->most = watch->running > watch->most ? watch->running : watch->most;
    pthread_cond_broadcast(&watch->changed);
    watch_gather(watch);
    pthread_mutex_unlock(&watch->lock);
}

static void watch_end(struct watch *watch, const smq_delivery *delivery, bool done)
{
    int key, number;

    read_body(&key, &number, delivery);
    pthread_mutex_lock(&watch->lock);
    watch->runs[key] = false;
    watch->running--;
    watch->done[key] += done ? 1 : 0;
    pthread_mutex_unlock(&watch->lock);
}

static bool watch_lets_fail(const struct watch *watch, const smq_delivery *delivery)
{
    int key, number;

    read_body(&key, &number, delivery);
    return watch->fails > 0 && key % watch->fails == 0 && smq_delivery_info(delivery)->attempt == 1;
}

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    struct watch *watch = user;
    bool fails = watch_lets_fail(watch, delivery);

    watch_begin(watch, delivery);
    watch_end(watch, delivery, !fails);
    return fails ? SMQ_RETRY : SMQ_DONE;
}

/* Each batch counts as one handler, which has the keys of its messages. */
static smq_verdict handle_batch(smq_delivery *const *deliveries, size_t count, void *user)
{
    struct watch *watch = user;
    int key, before = -1, number;

    pthread_mutex_lock(&watch->lock);
    for (size_t i = 0; i < count; i++, before = key) {
        read_body(&key, &number, deliveries[i]);
        watch->doubled += key != before && watch->runs[key] ? 1 : 0; /* a key stands together */
        watch->disorder += watch->done[key] != number ? 1 : 0;
        watch->runs[key] = true;
        watch->done[key]++;
    }
    watch->running++;
    watch->most = watch->running > watch->most ? watch->running : watch->most;
    pthread_cond_broadcast(&watch->changed);
    watch_gather(watch);
    watch->running--;
    for (size_t i = 0; i < count; i++) {
        read_body(&key, &number, deliveries[i]);
        watch->runs[key] = false;
    }
    pthread_mutex_unlock(&watch->lock);
    return SMQ_DONE;
}

/* === Messages and workers =============================================== */

static const char *topic_of(smq_client *client, smq_topic_type type, smq_layout layout,
                            bool skip_failed)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = type, .layout = layout, .skip_failed = skip_failed, .slots = 1);
    return cluster_topic(client, &options);
}

static void send_to_key(smq_producer *producer, const char *topic, int key, int number)
{
    char body[32], name[16];
    smq_message message;

    snprintf(body, sizeof(body), "%d %d", key, number);
    snprintf(name, sizeof(name), "k%d", key);
    message = messages_text(body);
    message.key = smq_text(name);
    (void) messages_send_by(producer, topic, &message);
}

/* The numbers from `from` on to each of the keys 0 .. keys - 1, those of a key after one another,
 * so that a claim has several of a key. */
static void send_all(smq_client *client, const char *topic, int keys, int from, int count)
{
    smq_producer *producer = messages_producer(client, NULL);

    for (int i = 0; i < keys * count; i++) {
        send_to_key(producer, topic, i / count, from + i % count);
    }
    smq_producer_free(producer);
}

static smq_consumer *worker_with(smq_client *client, smq_consumer_options options,
                                 const char *topic, struct watch *watch)
{
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    options.topic = topic;
    options.user = watch;
    options.handler = options.batch == NULL ? handle : NULL;
    assert_ok(smq_consumer_new(&worker, client, &options, &err), &err);
    assert_ok(smq_consumer_start(worker, &err), &err);
    return worker;
}

static void assert_kept(const struct watch *watch)
{
    assert_int_equal(watch->doubled, 0);
    assert_int_equal(watch->disorder, 0);
}

/* === Workers ============================================================ */

static void keys_of_one_slot_run_at_once_and_each_alone(void **state)
{
    static const struct {
        smq_topic_type type;
        smq_layout layout;
        bool skip_failed;
        int fails;
        int32_t push_slots;
    } rows[] = {
        {SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, false, 0, 0},
        {SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, false, 100, 1},
        {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_INLINE, false, 0, 1},
        {SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_KEYED, false, 10, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum { EACH = 3 };
        smq_client *client = cluster_client();
        const char *topic = topic_of(client, rows[i].type, rows[i].layout, rows[i].skip_failed);
        struct watch *watch = watch_new(rows[i].type != SMQ_TYPE_FIXED_TIME);
        smq_consumer *worker;

        smq_consumer_options options =
            SMQ_CONSUMER_OPTIONS(.threads = THREADS, .push_slots = rows[i].push_slots);
        watch->together = THREADS;
        watch->fails = rows[i].fails;
        send_all(client, topic, KEYS, 0, EACH - 1);
        worker = worker_with(client, options, topic, watch);
        send_all(client, topic, KEYS, EACH - 1, 1);
        messages_await_counts(client, topic,
                              (struct message_counts){.dead = 0, .done = INT64_C(1) * KEYS * EACH});
        handler_log_stop_worker(worker);
        assert_int_equal(watch->most, THREADS);
        assert_kept(watch);
        watch_free(watch);
        smq_client_free(client);
    }
}

/* Each worker stops in the middle, and what it had claimed comes again elsewhere. */
static void order_of_keys_holds_when_the_slot_moves(void **state)
{
    enum { EACH = 20, FEW = 50, MOVES = 5 };
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, false);
    struct watch *watch = watch_new(true);

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.threads = THREADS);
    watch->fails = 7;
    send_all(client, topic, FEW, 0, EACH);
    for (int i = 0; i < MOVES; i++) {
        smq_consumer *worker = worker_with(client, options, topic, watch);
        struct message_counts all = {.waiting = -1,
                                     .claimed = -1,
                                     .resting = -1,
                                     .dead = 0,
                                     .done = INT64_C(1) * FEW * EACH};

        if (i == MOVES - 1) {
            messages_await_counts(client, topic, all);
        } else {
            pthread_mutex_lock(&watch->lock);
            while (watch->begun < 20 * (i + 1)) {
                pthread_cond_wait(&watch->changed, &watch->lock);
            }
            pthread_mutex_unlock(&watch->lock);
        }
        handler_log_stop_worker(worker);
        assert_int_equal(watch->running, 0);
    }
    assert_kept(watch);
    assert_int_equal(messages_stats(client, topic).lease_lost, 0);
    watch_free(watch);
    smq_client_free(client);
}

static void two_batches_never_share_a_key(void **state)
{
    enum { EACH = 10, FEW = 100 };
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, false);
    struct watch *watch = watch_new(true);
    smq_consumer *worker;

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.threads = 2, .batch_size = 20, .batch = handle_batch);
    watch->together = 2;
    send_all(client, topic, FEW, 0, EACH);
    worker = worker_with(client, options, topic, watch);
    messages_await_counts(client, topic,
                          (struct message_counts){.dead = 0, .done = INT64_C(1) * FEW * EACH});
    handler_log_stop_worker(worker);
    assert_int_equal(watch->most, 2);
    assert_kept(watch);
    watch_free(watch);
    smq_client_free(client);
}

/* --- handlers that hang --- */

static struct handler_log *gate;

/* The first attempt of key 0 hangs.  Its second one is a suspect, which must be alone: other
 * handlers have time to begin while Redis is asked. */
static smq_verdict hang_once(smq_delivery *delivery, void *user)
{
    struct watch *watch = user;
    int key, number;
    bool suspect;

    read_body(&key, &number, delivery);
    if (key == 0 && number == 0 && watch->suspect_of != NULL) {
        pthread_mutex_lock(&watch->lock);
        suspect = watch->hangs++ > 0;
        pthread_mutex_unlock(&watch->lock);
        if (!suspect) {
            handler_log_pass(gate);
            return SMQ_DONE; /* too late */
        }
        pthread_mutex_lock(&watch->lock);
        watch->alone = true;
        watch->accompanied += watch->running;
        pthread_mutex_unlock(&watch->lock);
        watch->accompanied += messages_stats(watch->suspect_of, watch->topic).claimed != 1 ? 1 : 0;
        pthread_mutex_lock(&watch->lock);
        watch->alone = false;
        watch->done[0]++;
        pthread_mutex_unlock(&watch->lock);
        return SMQ_DONE;
    }
    return handle(delivery, user);
}

static void a_suspect_is_alone_in_its_slot(void **state)
{
    enum { EACH = 40, FEW = 20 };
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_INLINE, false);
    struct watch *watch = watch_new(false);
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    gate = handler_log_new(NULL);
    handler_log_gate(gate);
    watch->suspect_of = client;
    watch->topic = topic;
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .user = watch, .threads = 4, .handler = hang_once,
                             .handler_timeout_ms = 1000);
    send_all(client, topic, FEW, 0, EACH);
    assert_ok(smq_consumer_new(&worker, client, &options, &err), &err);
    assert_ok(smq_consumer_start(worker, &err), &err);
    messages_await_counts(client, topic,
                          (struct message_counts){.dead = 0, .done = INT64_C(1) * FEW * EACH});
    handler_log_open(gate, 1);
    handler_log_stop_worker(worker);
    assert_int_equal(watch->hangs, 2);
    assert_int_equal(watch->accompanied, 0);
    assert_int_equal(watch->doubled, 0);
    assert_int_equal(messages_stats(client, topic).lease_lost, 1);
    handler_log_free(gate);
    watch_free(watch);
    smq_client_free(client);
}

/* === Consumers ========================================================== */

static size_t poll_now(smq_consumer *consumer, smq_delivery **out, size_t capacity)
{
    size_t count = 0;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_consumer_poll(consumer, out, capacity, &count, 0, &err), &err);
    return count;
}

static void polls_give_one_of_each_key(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, false);
    smq_consumer *consumer;
    smq_delivery *held[4], *more[4];

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.per_slot = 3);
    send_all(client, topic, 4, 0, 1);
    send_all(client, topic, 4, 1, 1);
    consumer = messages_consumer_with(client, &options, topic);
    for (int i = 0; i < 3; i++) {
        char body[16];

        held[i] = messages_poll(consumer);
        snprintf(body, sizeof(body), "%d 0", i);
        assert_string_equal(messages_body(held[i]), body);
    }
    assert_int_equal(poll_now(consumer, more, 4), 0); /* the slot has its three */
    messages_done(held[1]);
    held[1] = messages_poll(consumer);
    assert_string_equal(messages_body(held[1]), "3 0");
    messages_done(held[0]);
    held[0] = messages_poll(consumer);
    messages_done(held[2]);
    held[2] = messages_poll(consumer);
    assert_true(strcmp(messages_body(held[0]), "3 1") != 0); /* its key is held */
    assert_true(strcmp(messages_body(held[2]), "3 1") != 0);
    messages_done(held[1]);
    for (int i = 0; i < 2; i++) {
        messages_done(messages_poll(consumer));
    }
    messages_done(held[0]);
    messages_done(held[2]);
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = 8});
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* Without an option a poller may hold as many keys as it likes, also those that come one by one. */
static void a_poller_holds_many_keys_of_a_slot(void **state)
{
    enum { MANY = 60 };
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    smq_consumer *consumer;
    smq_delivery *held[MANY];

    options.max_in_flight = MANY; /* half of a claim is held long before */
    consumer = messages_consumer_with(client, &options, topic);
    for (int i = 0; i < MANY; i++) {
        messages_send_numbers(client, topic, i, 1);
        held[i] = messages_poll(consumer);
    }
    for (int i = 0; i < MANY; i++) {
        messages_done(held[i]);
    }
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = MANY});
    smq_consumer_free(consumer);
    smq_client_free(client);
}

/* Send to one slot; the message has its body as key. */
static void send_to_slot(smq_client *client, const char *topic, int32_t slots, int32_t slot,
                         int count, int64_t delay_ms)
{
    for (int number = 0; count > 0; number++) {
        char body[16];
        int len = snprintf(body, sizeof(body), "%d", number);

        if (slot_of_key(body, (size_t) len, slots) == slot) {
            messages_send(client, topic, (struct test_message){.body = body, .delay_ms = delay_ms});
            count--;
        }
    }
}

/* A slot with many messages leaves room for the others as long as polls have not taken what it has;
 * what they have taken may go beyond its share.  No renewal of a lease makes the owner look. */
static void a_slot_keeps_to_its_share_until_polls_have_taken_it(void **state)
{
    enum { SLOTS = 2, MOST = 20, MANY = 40 };
    smq_client *client = cluster_client();
    struct message_counts counts = {
        .waiting = MANY - MOST / 2, .claimed = MOST / 2 + 1, .resting = 0, .dead = 0, .done = 0};
    smq_delivery *held[MOST];
    smq_consumer *consumer;
    const char *topic;

    smq_topic_options topic_options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = SLOTS, .lease_ms = HOUR_MS);
    topic = cluster_topic(client, &topic_options);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_in_flight = MOST);
    send_to_slot(client, topic, SLOTS, 0, MANY, 0);
    send_to_slot(client, topic, SLOTS, 1, 1, 1000);
    consumer = messages_consumer_with(client, &options, topic);
    messages_await_counts(client, topic, counts); /* also that of slot 1 */
    for (int i = 0; i < MOST; i++) {
        held[i] = messages_poll(consumer);
    }
    for (int i = 0; i < MOST; i++) {
        messages_done(held[i]);
    }
    for (int i = MOST; i <= MANY; i++) {
        messages_done(messages_poll(consumer));
    }
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = MANY + 1});
    smq_consumer_free(consumer);
    smq_client_free(client);
}

TEST_GROUP(by_key)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_one_slot_run_at_once_and_each_alone),
        cmocka_unit_test(order_of_keys_holds_when_the_slot_moves),
        cmocka_unit_test(two_batches_never_share_a_key),
        cmocka_unit_test(a_suspect_is_alone_in_its_slot),
        cmocka_unit_test(polls_give_one_of_each_key),
        cmocka_unit_test(a_poller_holds_many_keys_of_a_slot),
        cmocka_unit_test(a_slot_keeps_to_its_share_until_polls_have_taken_it),
    };

    return cmocka_run_group_tests(tests, cluster_start_fleet, cluster_end);
}
