/* test_types.c - order, merging and due times of the three types of topic, through a worker. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum { LONG_MS = 600000 };

/* The bodies seen first, as one string. */
static void assert_order(struct handler_log *log, const char *bodies)
{
    int count = (int) strlen(bodies);
    char seen[64] = "";

    handler_log_await(log, count);
    for (int i = 0; i < count; i++) {
        seen[i] = handler_log_seen(log, i).body[0];
    }
    assert_string_equal(seen, bodies);
}

static void assert_never_early(struct handler_log *log)
{
    for (int i = 0; i < handler_log_count(log); i++) {
        struct seen seen = handler_log_seen(log, i);

        assert_true(seen.at_ms >= seen.due_at_ms);
    }
}

static void range_merge_delivers_by_due_time_and_not_before(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_RANGE_MERGE, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);

    messages_send(client, topic, (struct test_message){.body = "c", .delay_ms = 900});
    messages_send(client, topic, (struct test_message){.body = "a", .delay_ms = 300});
    messages_send(client, topic, (struct test_message){.body = "b", .delay_ms = 600});
    assert_order(log, "abc");
    assert_never_early(log);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void range_merge_keeps_the_first_time(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_RANGE_MERGE, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    assert_false(messages_send(client, topic, (struct test_message){.body = "a", .delay_ms = 400}));
    assert_true(
        messages_send(client, topic, (struct test_message){.body = "a", .delay_ms = LONG_MS}));
    worker = handler_log_worker(client, topic, log);
    assert_order(log, "a");
    assert_never_early(log);
    messages_await_counts(
        client, topic, (struct message_counts){.waiting = 0, .resting = -1, .dead = -1, .done = 1});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void fixed_time_delivers_by_due_time_and_not_before(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    int64_t now = clock_wall_ms();

    messages_send(client, topic, (struct test_message){.body = "c", .due_at_ms = now + 900});
    messages_send(client, topic, (struct test_message){.body = "b", .due_at_ms = now + 500});
    messages_send(client, topic, (struct test_message){.body = "a"}); /* none: now */
    assert_order(log, "abc");
    assert_int_equal(handler_log_seen(log, 1).due_at_ms, now + 500);
    assert_never_early(log);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void fixed_time_takes_the_last_time(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    int64_t now = clock_wall_ms();

    messages_send(client, topic, (struct test_message){.body = "a", .due_at_ms = now + LONG_MS});
    messages_send(client, topic, (struct test_message){.body = "b", .due_at_ms = now + 2000});
    assert_true(messages_send(client, topic,
                              (struct test_message){.body = "b", .due_at_ms = now + LONG_MS}));
    assert_true(
        messages_send(client, topic, (struct test_message){.body = "a", .due_at_ms = now + 100}));
    assert_order(log, "a");
    assert_int_equal(handler_log_seen(log, 0).due_at_ms, now + 100);
    messages_await_counts(
        client, topic, (struct message_counts){.waiting = 1, .resting = -1, .dead = -1, .done = 1});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void priority_delivers_the_largest_and_among_equals_the_first_sent(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_PRIORITY, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    messages_send(client, topic, (struct test_message){.body = "d", .priority = -5});
    messages_send(client, topic, (struct test_message){.body = "y", .priority = 0});
    messages_send(client, topic, (struct test_message){.body = "x", .priority = 0});
    messages_send(client, topic, (struct test_message){.body = "z", .priority = 0});
    messages_send(client, topic, (struct test_message){.body = "a", .priority = 8191});
    worker = handler_log_worker(client, topic, log);
    assert_order(log, "ayxzd");
    assert_int_equal(handler_log_seen(log, 0).priority, 8191);
    assert_int_equal(handler_log_seen(log, 4).priority, -5);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void priority_takes_the_last_priority(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_PRIORITY, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    messages_send(client, topic, (struct test_message){.body = "a", .priority = 9});
    messages_send(client, topic, (struct test_message){.body = "b", .priority = 5});
    assert_true(messages_send(client, topic, (struct test_message){.body = "a", .priority = 1}));
    worker = handler_log_worker(client, topic, log);
    assert_order(log, "ba");
    assert_int_equal(handler_log_seen(log, 1).priority, 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* Each waits until it is due, and then takes its place by its priority; the worker that has nothing
 * to do is woken at its time. */
static void priority_is_never_early_and_then_in_order(void **state)
{
    for (int i = 0; i < 4; i++) {
        smq_client *client = cluster_client();
        struct handler_log *log = handler_log_new(NULL);
        bool keyed = i % 2 == 1;
        smq_consumer *worker;
        const char *topic;
        int64_t now;

        smq_topic_options options =
            SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_PRIORITY,
                              .layout = keyed ? SMQ_LAYOUT_KEYED : SMQ_LAYOUT_INLINE,
                              .shared = i >= 2, .slots = 1);
        topic = cluster_topic(client, &options);
        worker = handler_log_worker(client, topic, log);
        messages_send(client, topic, (struct test_message){.body = "x", .id = keyed ? "x" : NULL});
        handler_log_await(log, 1);
        now = clock_wall_ms();
        for (int j = 0; j < 5; j++) {
            struct test_message sends[] = {{.body = "b", .priority = 1, .due_at_ms = now + 400},
                                           {.body = "a", .priority = 9, .due_at_ms = now + 400},
                                           {.body = "c", .priority = 5, .delay_ms = 700},
                                           {.body = "0"},
                                           {.body = "c", .priority = 9, .delay_ms = 800}};

            sends[j].id = keyed ? sends[j].body : NULL;
            assert_int_equal(messages_send(client, topic, sends[j]), j == 4);
        }
        assert_order(log, "x0abc");
        for (int j = 2; j < 5; j++) {
            assert_true(handler_log_seen(log, j).at_ms >= now + (j < 4 ? 400 : 800));
        }
        handler_log_stop_worker(worker);
        handler_log_free(log);
        smq_client_free(client);
    }
}

/* One message at a time: the most urgent is always next, also one that came during a handler. */
static void priority_with_batches_of_one_is_strict(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_PRIORITY, 1);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.batch_size = 1);
    handler_log_gate(log);
    messages_send(client, topic, (struct test_message){.body = "a", .priority = 9});
    messages_send(client, topic, (struct test_message){.body = "c", .priority = 1});
    worker = handler_log_worker_with(client, &options, topic, log);
    handler_log_await(log, 1);
    messages_send(client, topic, (struct test_message){.body = "b", .priority = 5});
    handler_log_open(log, 3);
    assert_order(log, "abc");
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- sent again while it is claimed --- */

static smq_verdict retry_first(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    return index == 0 ? SMQ_RETRY : SMQ_DONE;
}

struct again {
    smq_topic_type type;
    struct test_message first, second;
};

/* Claim `first`, send `second` (the same member) while it is claimed, then let the handler answer.
 * One message at a time: nothing is claimed before that, so `second` still waits. */
static struct handler_log *send_while_claimed(const struct again *again, handler_log_fn *answer,
                                              int deliveries)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, again->type, 1);
    struct handler_log *log = handler_log_new(answer);
    smq_consumer *worker;

    handler_log_gate(log);
    messages_send(client, topic, again->first);
    smq_consumer_options work = SMQ_CONSUMER_OPTIONS(.max_in_flight = 1);
    worker = handler_log_worker_with(client, &work, topic, log);
    handler_log_await(log, 1);
    assert_false(messages_send(client, topic, again->second)); /* a new waiting message */
    handler_log_open(log, deliveries);
    handler_log_await(log, deliveries);
    messages_await_counts(client, topic, (struct message_counts){.done = -1});
    handler_log_stop_worker(worker);
    assert_int_equal(handler_log_count(log), deliveries);
    smq_client_free(client);
    return log;
}

static void sent_again_while_claimed_is_handled_once_more(void **state)
{
    static const struct again rows[] = {
        {SMQ_TYPE_RANGE_MERGE, {.body = "a", .delay_ms = 1}, {.body = "a", .delay_ms = 200}},
        {SMQ_TYPE_FIXED_TIME, {.body = "a"}, {.body = "a"}},
        {SMQ_TYPE_PRIORITY, {.body = "a", .priority = 5}, {.body = "a", .priority = 9}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct handler_log *log = send_while_claimed(&rows[i], NULL, 2);

        assert_int_equal(handler_log_seen(log, 0).attempt, 1);
        assert_int_equal(handler_log_seen(log, 1).attempt, 1);
        assert_int_equal(handler_log_seen(log, 1).priority, rows[i].second.priority);
        handler_log_free(log);
    }
}

static void failed_message_joins_the_one_that_was_sent_meanwhile(void **state)
{
    int64_t now = clock_wall_ms();
    const struct again later = {
        SMQ_TYPE_FIXED_TIME, {.body = "a"}, {.body = "a", .due_at_ms = now + 700}};
    const struct again merge = {
        SMQ_TYPE_RANGE_MERGE, {.body = "a", .delay_ms = 1}, {.body = "a", .delay_ms = LONG_MS}};
    const struct again urgent = {
        SMQ_TYPE_PRIORITY, {.body = "a", .priority = 5}, {.body = "a", .priority = 9}};
    struct handler_log *log;

    log = send_while_claimed(&later, retry_first, 2); /* that of the waiting one */
    assert_int_equal(handler_log_seen(log, 1).due_at_ms, now + 700);
    assert_int_equal(handler_log_seen(log, 1).attempt, 2);
    assert_never_early(log);
    handler_log_free(log);

    log = send_while_claimed(&merge, retry_first, 2); /* the smaller */
    assert_int_equal(handler_log_seen(log, 1).due_at_ms, handler_log_seen(log, 0).due_at_ms);
    assert_int_equal(handler_log_seen(log, 1).attempt, 2);
    handler_log_free(log);

    log = send_while_claimed(&urgent, retry_first, 2);
    assert_int_equal(handler_log_seen(log, 1).priority, 9);
    assert_int_equal(handler_log_seen(log, 1).attempt, 2);
    handler_log_free(log);
}

TEST_GROUP(types)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(range_merge_delivers_by_due_time_and_not_before),
        cmocka_unit_test(range_merge_keeps_the_first_time),
        cmocka_unit_test(fixed_time_delivers_by_due_time_and_not_before),
        cmocka_unit_test(fixed_time_takes_the_last_time),
        cmocka_unit_test(priority_delivers_the_largest_and_among_equals_the_first_sent),
        cmocka_unit_test(priority_takes_the_last_priority),
        cmocka_unit_test(priority_is_never_early_and_then_in_order),
        cmocka_unit_test(priority_with_batches_of_one_is_strict),
        cmocka_unit_test(sent_again_while_claimed_is_handled_once_more),
        cmocka_unit_test(failed_message_joins_the_one_that_was_sent_meanwhile),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
