/* test_by_key_waits.c - what waits for its key, and what does not.  A message may
 * wait because its key is busy, slow or has failed, and comes in its order also after a process has
 * died.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { THREADS = 8, DELAY_MS = 200, HOUR_MS = 3600000 };

/* --- a key that is busy --- */

static struct handler_log *gate;
static atomic_int fast_index; /* how many handlers had begun before that of key "fast" */

/* Messages of key "slow" wait at the gate. */
static smq_verdict wait_if_slow(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    if (strcmp(seen->key, "slow") == 0) {
        handler_log_pass(gate);
    } else if (strcmp(seen->key, "fast") == 0) {
        atomic_store(&fast_index, index);
    }
    return SMQ_DONE;
}

/* A message that is answered later keeps its key, and no other. */
static smq_verdict later_if_slow(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) index;
    return strcmp(seen->key, "slow") == 0 ? SMQ_LATER : SMQ_DONE;
}

static void send_one(smq_client *client, const char *topic, const char *key, const char *body)
{
    messages_send(client, topic, (struct test_message){.key = key, .body = body});
}

/* A send may claim for the owner. */
static bool is_open(void *arg)
{
    const char *store = arg;
    char parked[512];

    (void) keys_text(parked, store, "HGET slot{%s} parked", store);
    return strchr(parked, '/') != NULL;
}

static void assert_seen(struct handler_log *log, int index, const char *body)
{
    handler_log_await(log, index + 1);
    assert_string_equal(handler_log_seen(log, index).body, body);
}

static void what_comes_while_a_key_is_busy_is_handled(void **state)
{
    static const int32_t push_slots[] = {0, 1};

    for (int i = 0; i < 2; i++) {
        smq_client *client = cluster_client();
        const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
        struct handler_log *log = handler_log_new(wait_if_slow);
        smq_consumer *worker;
        char store[128];

        gate = handler_log_new(NULL);
        handler_log_gate(gate);
        snprintf(store, sizeof(store), "%s_0", topic);
        smq_consumer_options options =
            SMQ_CONSUMER_OPTIONS(.threads = 2, .push_slots = push_slots[i]);
        worker = handler_log_worker_with(client, &options, topic, log);
        assert_true(push_slots[i] == 0 || wait_until(is_open, store, TIMEOUT_MS));
        send_one(client, topic, "slow", "s0");
        assert_seen(log, 0, "s0");
        send_one(client, topic, "slow", "s1"); /* waits for its key, whether claimed or pushed */
        for (int j = 1; j <= 10; j++) {
            char body[16];

            snprintf(body, sizeof(body), "%d", j);
            send_one(client, topic, "fast", body);
            assert_seen(log, j, body);
        }
        messages_send(client, topic,
                      (struct test_message){.key = "fast", .body = "due", .delay_ms = DELAY_MS});
        assert_seen(log, 11, "due");
        handler_log_open(gate, 2);
        assert_seen(log, 12, "s1");
        messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = 13});
        handler_log_stop_worker(worker);
        handler_log_free(gate);
        handler_log_free(log);
        smq_client_free(client);
    }
}

static bool is_fast_seen(void *arg)
{
    (void) arg;
    return atomic_load(&fast_index) >= 0;
}

/* `count` messages of key "slow", and behind them one of key "fast". */
static void send_slow_and_fast(smq_client *client, const char *topic, int count)
{
    smq_producer *producer = messages_producer(client, NULL);
    smq_error err = SMQ_ERROR_INIT;

    for (int i = 0; i < count; i++) {
        char body[16];
        smq_message message;

        snprintf(body, sizeof(body), "s%d", i);
        message = messages_text(body);
        message.key = smq_text("slow");
        assert_ok(smq_send_async(producer, topic, &message, NULL, NULL, &err), &err);
    }
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    smq_producer_free(producer);
    send_one(client, topic, "fast", "f");
}

/* However many messages of a busy key come before it. */
static void a_slow_key_holds_up_no_other(void **state)
{
    static const struct {
        smq_topic_type type;
        smq_layout layout;
        int count;
        int32_t batch_size; /* 1,000: the slow key alone would fill the slot's room */
    } rows[] = {
        {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_KEYED, 900, 0},
        {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_KEYED, 10000, 0},
        {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_INLINE, 5000, 0},
        {SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_KEYED, 5000, 0},
        {SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_KEYED, 5000, 1000},
        {SMQ_TYPE_RANGE_MERGE, SMQ_LAYOUT_INLINE, 5000, 0},
        {SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, 5000, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_client *client = cluster_client();
        struct handler_log *log = handler_log_new(wait_if_slow);
        smq_consumer *worker;
        const char *topic;

        smq_topic_options topic_options =
            SMQ_TOPIC_OPTIONS(.type = rows[i].type, .layout = rows[i].layout, .slots = 1,
                              .delay_ms = rows[i].type == SMQ_TYPE_RANGE_MERGE ? 1 : 0);
        topic = cluster_topic(client, &topic_options);
        atomic_store(&fast_index, -1);
        gate = handler_log_new(NULL);
        handler_log_gate(gate);
        send_slow_and_fast(client, topic, rows[i].count);
        smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.threads = 2);
        options.batch_size = rows[i].batch_size > 0 ? rows[i].batch_size : options.batch_size;
        worker = handler_log_worker_with(client, &options, topic, log);
        assert_true(wait_until(is_fast_seen, NULL, TIMEOUT_MS));
        assert_in_range(atomic_load(&fast_index), 0, 1);
        handler_log_open(gate, rows[i].count);
        messages_await_counts(client, topic,
                              (struct message_counts){.dead = 0, .done = rows[i].count + 1});
        handler_log_stop_worker(worker);
        handler_log_free(gate);
        handler_log_free(log);
        smq_client_free(client);
    }
}

static void later_keeps_its_key_only(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(later_if_slow);
    smq_consumer *worker;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.threads = 1);
    worker = handler_log_worker_with(client, &options, topic, log);
    send_one(client, topic, "slow", "s0");
    assert_seen(log, 0, "s0");
    send_one(client, topic, "slow", "s1");
    send_one(client, topic, "fast", "f0");
    assert_seen(log, 1, "f0");
    messages_done(handler_log_seen(log, 0).delivery);
    assert_seen(log, 2, "s1");
    messages_done(handler_log_seen(log, 2).delivery);
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = 3});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- a message that fails for long --- */

static smq_verdict fail_if_bad(smq_delivery *delivery, const struct seen *seen, int index)
{
    smq_error err = SMQ_ERROR_INIT;

    (void) index;
    if (strcmp(seen->key, "bad") == 0) {
        assert_ok(smq_retry(delivery, HOUR_MS, "not now", &err), &err);
        return SMQ_LATER;
    }
    return SMQ_DONE;
}

/* Message "s0" fails twice, the second time when the gate opens. */
static smq_verdict fail_twice_if_first(smq_delivery *delivery, const struct seen *seen, int index)
{
    smq_error err = SMQ_ERROR_INIT;

    (void) index;
    if (strcmp(seen->body, "s0") != 0 || seen->attempt > 2) {
        return SMQ_DONE;
    } else if (seen->attempt == 2) {
        handler_log_pass(gate);
    }
    assert_ok(smq_retry(delivery, 0, "not now", &err), &err);
    return SMQ_LATER;
}

/* A send claims a message for the owner while an earlier one of its key is with a handler again
 * after it has failed. */
static void a_push_does_not_overtake_what_failed(void **state)
{
    static const char *const bodies[] = {"s0", "s0", "f0", "s0", "s1"};
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIFO, 1);
    struct handler_log *log = handler_log_new(fail_twice_if_first);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.threads = 2);
    int count = sizeof(bodies) / sizeof(bodies[0]);
    smq_consumer *worker;
    char store[128];
    int64_t before;

    gate = handler_log_new(NULL);
    handler_log_gate(gate);
    snprintf(store, sizeof(store), "%s_0", topic);
    worker = handler_log_worker_with(client, &options, topic, log);
    send_one(client, topic, "slow", "s0");
    handler_log_await(log, 2);
    assert_true(wait_until(is_open, store, TIMEOUT_MS));
    before = keys_pushes();
    send_one(client, topic, "slow", "s1");
    assert_int_equal(keys_pushes() - before, 1);
    send_one(client, topic, "fast", "f0");
    handler_log_await(log, 3);
    handler_log_open(gate, 1);
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = 3});
    assert_int_equal(handler_log_count(log), count);
    for (int i = 0; i < count; i++) {
        assert_string_equal(handler_log_seen(log, i).body, bodies[i]);
    }
    handler_log_stop_worker(worker);
    handler_log_free(gate);
    handler_log_free(log);
    smq_client_free(client);
}

/* What the worker had claimed of the key is returned, and nothing of it is handled while the
 * message rests, by the next worker neither. */
static void a_failure_holds_back_its_key_only(void **state)
{
    enum { MANY = 20 };
    static const int32_t push_slots[] = {0, 1};

    for (int i = 0; i < 2; i++) {
        smq_client *client = cluster_client();
        const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIFO, 1);
        struct handler_log *log = handler_log_new(fail_if_bad);
        struct message_counts counts = {
            .waiting = MANY - 1, .claimed = 0, .resting = 1, .dead = 0, .done = MANY};
        smq_consumer *worker;

        for (int j = 0; j < 2 * MANY; j++) {
            send_one(client, topic, j % 2 == 0 ? "bad" : j % 4 == 1 ? "good" : "better", "text");
        }
        smq_consumer_options options =
            SMQ_CONSUMER_OPTIONS(.threads = 2, .push_slots = push_slots[i]);
        worker = handler_log_worker_with(client, &options, topic, log);
        messages_await_counts(client, topic, counts);
        send_one(client, topic, "good", "comes later");
        send_one(client, topic, "bad", "waits, too");
        counts.done++;
        counts.waiting++;
        messages_await_counts(client, topic, counts);
        handler_log_stop_worker(worker);
        send_one(client, topic, "good", "comes to the next");
        counts.done++;
        worker = handler_log_worker_with(client, &options, topic, log);
        messages_await_counts(client, topic, counts);
        handler_log_stop_worker(worker);
        assert_int_equal(handler_log_count(log), MANY + 3);
        assert_int_equal(messages_stats(client, topic).lease_lost, 0);
        handler_log_free(log);
        smq_client_free(client);
    }
}

/* === A fleet ============================================================ */

struct sending {
    struct members *members;
    smq_client *client;
    int least;
};

static bool have_begun(void *arg)
{
    struct sending *sending = arg;

    return members_begun(sending->members, NULL, 0) >= sending->least;
}

/* One slot, so all that the dead member had claimed comes again, each alone as a suspect. */
static void let_members_die(smq_client *client, const char *topic)
{
    enum { FEW = 100, COUNT = 1000 };
    struct members members;
    struct sending sending = {.members = &members, .client = client};
    struct verdict verdict;

    members_init(&members, topic);
    members.threads = THREADS;
    members.zookeeper = true;
    members.work_us = 2000;
    members_send(&members, client, "k", FEW, 0, COUNT);
    for (int i = 0; i < 2; i++) {
        members_start(&members);
        sending.least = COUNT / 3 * (i + 1);
        assert_true(wait_until(have_begun, &sending, TIMEOUT_MS));
        member_kill(&members.member[i]);
    }
    members_start(&members);
    messages_await_counts(client, members.topic, (struct message_counts){.dead = 0, .done = COUNT});
    member_leave(&members.member[2]);
    verdict = members_judge(&members);
    assert_int_equal(verdict.overlaps, 0);
    assert_true(verdict_good(&verdict));
    assert_int_equal(members_disorder(&members, FEW), 0);
    members_fini(&members);
}

static void order_of_keys_holds_when_a_member_dies(void **state)
{
    smq_client *client = cluster_client();

    let_members_die(client, cluster_typed_topic(client, SMQ_TYPE_FIFO, 1));
    smq_client_free(client);
}

/* What the dead member had claimed comes when its lease ends, and nothing of its keys before. */
static void order_of_keys_holds_while_leases_of_the_dead_last(void **state)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIFO, .takeover = SMQ_TAKEOVER_STRICT, .lease_ms = 5000);
    smq_client *client = cluster_client();

    let_members_die(client, cluster_topic(client, &options));
    smq_client_free(client);
}

static void no_key_runs_twice_when_members_die_and_leave(void **state)
{
    enum { SLOTS = 4, FEW = 100, COUNT = 3000 };
    smq_client *client = cluster_client();
    struct members members;
    struct sending sending = {.members = &members, .client = client};
    struct verdict verdict;

    members_init(&members, cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS));
    members.zookeeper = true;
    members.threads = THREADS;
    members.work_us = 2000;
    members_send(&members, client, "k", FEW, 0, COUNT);
    for (int i = 0; i < 3; i++) {
        members_start(&members);
    }
    sending.least = COUNT / 6;
    assert_true(wait_until(have_begun, &sending, TIMEOUT_MS));
    member_kill(&members.member[0]);
    sending.least = COUNT / 3;
    assert_true(wait_until(have_begun, &sending, TIMEOUT_MS));
    member_leave(&members.member[1]);
    messages_await_counts(client, members.topic, (struct message_counts){.dead = 0, .done = COUNT});
    member_leave(&members.member[2]);
    verdict = members_judge(&members);
    assert_int_equal(verdict.overlaps, 0);
    assert_true(verdict_good(&verdict));
    members_fini(&members);
    smq_client_free(client);
}

TEST_GROUP(by_key_waits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_while_a_key_is_busy_is_handled),
        cmocka_unit_test(a_slow_key_holds_up_no_other),
        cmocka_unit_test(later_keeps_its_key_only),
        cmocka_unit_test(a_push_does_not_overtake_what_failed),
        cmocka_unit_test(a_failure_holds_back_its_key_only),
        cmocka_unit_test(order_of_keys_holds_when_a_member_dies),
        cmocka_unit_test(order_of_keys_holds_while_leases_of_the_dead_last),
        cmocka_unit_test(no_key_runs_twice_when_members_die_and_leave),
    };

    return cmocka_run_group_tests(tests, cluster_start_fleet, cluster_end);
}
