/* test_limits.c - time to live, debounce and the bound of what may wait, on a cluster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum {
    LONG_MS = 600000,
    TWICE_MS = 2 * LONG_MS,
    FAR_MS = 9 * LONG_MS,
    SHORT_MS = 5,
    TTL_MS = 300,
    LONG_REST_MS = 600
};

static smq_topic_options keyed(smq_topic_type type)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = type, .layout = SMQ_LAYOUT_KEYED);
    return options;
}

/* --- messages that wait, seen --- */

struct view {
    int count;
    int64_t due_at_ms, sent_at_ms, expires_at_ms;
    char reason[256], body[64];
};

static bool see(const smq_message_info *message, void *user)
{
    struct view *view = user;

    view->count++;
    view->due_at_ms = message->due_at_ms;
    view->sent_at_ms = message->sent_at_ms;
    view->expires_at_ms = message->expires_at_ms;
    snprintf(view->reason, sizeof(view->reason), "%s", message->reason);
    snprintf(view->body, sizeof(view->body), "%.*s", (int) message->body.len,
             (const char *) message->body.data);
    return true;
}

/* The only message of the topic in that state. */
static struct view view_of(smq_client *client, const char *topic, smq_state state)
{
    struct view view = {0};
    smq_error err = SMQ_ERROR_INIT;

    smq_filter filter = SMQ_FILTER(.states = state);
    assert_ok(smq_message_each(client, topic, &filter, see, &view, &err), &err);
    assert_int_equal(view.count, 1);
    return view;
}

/* --- time to live --- */

/* One that expires before a worker comes, one that does not. */
static void send_two(smq_client *client, const char *topic)
{
    messages_send(client, topic, (struct test_message){.body = "a", .id = "a"});
    messages_send(client, topic, (struct test_message){.body = "b", .id = "b", .ttl_ms = SMQ_NONE});
    messages_await_clock(clock_wall_ms() + SHORT_MS);
}

static void expired_message_is_dropped(void **state)
{
    smq_topic_options options = keyed(SMQ_TYPE_FIXED_TIME);
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic;
    smq_consumer *worker;

    options.ttl_ms = SHORT_MS;
    topic = cluster_topic(client, &options);
    send_two(client, topic);
    worker = handler_log_worker(client, topic, log);
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = 1});
    assert_int_equal(handler_log_count(log), 1);
    assert_string_equal(handler_log_seen(log, 0).body, "b");
    assert_int_equal(handler_log_seen(log, 0).expires_at_ms, 0);
    assert_int_equal(messages_stats(client, topic).expired, 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void expired_message_becomes_a_dead_letter(void **state)
{
    smq_topic_options options = keyed(SMQ_TYPE_PRIORITY);
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic;
    smq_consumer *worker;
    struct view dead;

    options.ttl_ms = SHORT_MS;
    options.expired_to_dead = true;
    topic = cluster_topic(client, &options);
    send_two(client, topic);
    worker = handler_log_worker(client, topic, log);
    messages_await_counts(client, topic, (struct message_counts){.dead = 1, .done = 1});
    assert_int_equal(handler_log_count(log), 1);
    assert_string_equal(handler_log_seen(log, 0).body, "b");
    dead = view_of(client, topic, SMQ_STATE_DEAD);
    assert_string_equal(dead.body, "a");
    assert_string_equal(dead.reason, "expired");
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void ttl_of_the_message_beats_that_of_the_topic(void **state)
{
    smq_topic_options options = keyed(SMQ_TYPE_FIXED_TIME);
    smq_client *client = cluster_client();
    const char *topic;
    struct view view;

    options.ttl_ms = LONG_MS;
    topic = cluster_topic(client, &options);
    messages_send(client, topic, (struct test_message){.id = "i"});
    view = view_of(client, topic, SMQ_STATE_WAITING);
    assert_int_equal(view.expires_at_ms, view.sent_at_ms + LONG_MS);
    messages_send(client, topic, (struct test_message){.id = "i", .ttl_ms = TWICE_MS});
    assert_true(view_of(client, topic, SMQ_STATE_WAITING).expires_at_ms >=
                view.sent_at_ms + TWICE_MS);
    messages_send(client, topic, (struct test_message){.id = "i", .ttl_ms = SMQ_NONE});
    assert_int_equal(view_of(client, topic, SMQ_STATE_WAITING).expires_at_ms, 0);
    smq_client_free(client);
}

static smq_verdict retry_later(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) seen;
    (void) index;
    assert_int_equal(smq_retry(delivery, LONG_REST_MS, NULL, NULL), SMQ_OK);
    return SMQ_LATER;
}

/* Its time to live ends while it rests after a failure. */
static void resting_message_expires_too(void **state)
{
    smq_topic_options options = keyed(SMQ_TYPE_FIXED_TIME);
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(retry_later);
    const char *topic = cluster_topic(client, &options);
    smq_consumer *worker = handler_log_worker(client, topic, log);

    messages_send(client, topic, (struct test_message){.id = "i", .ttl_ms = TTL_MS});
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = 0});
    assert_true(handler_log_count(log) <= 1);
    assert_int_equal(messages_stats(client, topic).expired, 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- debounce --- */

static void each_send_moves_the_time_back_up_to_the_cap(void **state)
{
    smq_topic_options options = keyed(SMQ_TYPE_RANGE_MERGE);
    smq_client *client = cluster_client();
    const char *topic;
    struct view first, moved, last;

    options.delay_ms = LONG_MS;
    options.debounce_ms = TWICE_MS;
    topic = cluster_topic(client, &options);
    assert_false(messages_send(client, topic, (struct test_message){.body = "a", .id = "i"}));
    first = view_of(client, topic, SMQ_STATE_WAITING);
    assert_int_equal(first.due_at_ms, first.sent_at_ms + LONG_MS);
    messages_await_clock(first.sent_at_ms + 1);
    assert_true(messages_send(client, topic, (struct test_message){.body = "b", .id = "i"}));
    moved = view_of(client, topic, SMQ_STATE_WAITING);
    assert_int_equal(moved.sent_at_ms, first.sent_at_ms);
    assert_true(moved.due_at_ms > first.due_at_ms);
    assert_string_equal(moved.body, "b");
    assert_true(messages_send(client, topic,
                              (struct test_message){.body = "c", .id = "i", .delay_ms = FAR_MS}));
    last = view_of(client, topic, SMQ_STATE_WAITING);
    assert_int_equal(last.due_at_ms, first.sent_at_ms + TWICE_MS);
    assert_string_equal(last.body, "c");
    smq_client_free(client);
}

static void without_debounce_the_first_time_stays(void **state)
{
    smq_topic_options options = keyed(SMQ_TYPE_RANGE_MERGE);
    smq_client *client = cluster_client();
    const char *topic = cluster_topic(client, &options);
    struct view first, last;

    messages_send(client, topic,
                  (struct test_message){.body = "a", .id = "i", .delay_ms = LONG_MS});
    first = view_of(client, topic, SMQ_STATE_WAITING);
    messages_send(client, topic,
                  (struct test_message){.body = "b", .id = "i", .delay_ms = TWICE_MS});
    last = view_of(client, topic, SMQ_STATE_WAITING);
    assert_int_equal(last.due_at_ms, first.due_at_ms);
    assert_string_equal(last.body, "b");
    smq_client_free(client);
}

/* A burst of sends is one delivery, with the last body. */
static void burst_is_one_delivery(void **state)
{
    enum { SENDS = 20 };
    smq_topic_options options = keyed(SMQ_TYPE_RANGE_MERGE);
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    const char *topic;
    smq_consumer *worker;
    char body[16];
    int merged = 0;

    options.delay_ms = 3000;
    options.debounce_ms = 60000;
    topic = cluster_topic(client, &options);
    worker = handler_log_worker(client, topic, log);
    for (int i = 0; i < SENDS; i++) {
        snprintf(body, sizeof(body), "%d", i);
        merged += messages_send(client, topic, (struct test_message){.body = body, .id = "i"});
    }
    handler_log_await(log, SENDS - merged);
    assert_string_equal(handler_log_seen(log, SENDS - merged - 1).body, "19");
    assert_true(handler_log_seen(log, 0).at_ms >= handler_log_seen(log, 0).due_at_ms);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- the bound of what may wait --- */

static void full_slot_refuses_only_what_is_new(void **state)
{
    smq_client *client = cluster_client();
    struct handler_log *log = handler_log_new(NULL);
    smq_producer *producer = NULL;
    smq_message messages[5];
    smq_receipt receipts[5];
    const char *topic;
    smq_consumer *worker;
    smq_error err = SMQ_ERROR_INIT;
    static const char *const bodies[] = {"a", "b", "c", "a", "d"};
    static const smq_status expected[] = {SMQ_OK, SMQ_OK, SMQ_FULL, SMQ_OK, SMQ_FULL};

    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .max_waiting = 2);
    topic = cluster_topic(client, &options);
    for (int i = 0; i < 5; i++) {
        messages[i] =
            (smq_message){.struct_size = sizeof(smq_message), .body = smq_text(bodies[i])};
    }
    assert_ok(smq_producer_new(&producer, client, NULL, &err), &err);
    assert_int_equal(smq_send_batch(producer, topic, messages, 5, receipts, &err), SMQ_FULL);
    assert_non_null(strstr(err.text, "max_waiting"));
    assert_non_null(strstr(err.text, topic));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(receipts[i].status, expected[i]);
    }
    assert_true(receipts[3].merged);
    assert_int_equal(messages_stats(client, topic).waiting, 2);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, 2);
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = 2});
    assert_false(messages_send(client, topic, (struct test_message){.body = "c"}));
    handler_log_await(log, 3);
    smq_producer_free(producer);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static void bound_is_shared_by_the_slots(void **state)
{
    enum { SLOTS = 4, BOUND = 10, SENDS = 200 };
    smq_topic_options options = keyed(SMQ_TYPE_PRIORITY);
    smq_client *client = cluster_client();
    smq_producer *producer = NULL;
    smq_message messages[SENDS];
    smq_receipt receipts[SENDS];
    int stored[SLOTS] = {0};
    const char *topic;
    smq_error err = SMQ_ERROR_INIT;

    options.slots = SLOTS;
    options.max_waiting = BOUND;
    topic = cluster_topic(client, &options);
    for (int i = 0; i < SENDS; i++) {
        messages[i] = SMQ_MESSAGE();
    }
    assert_ok(smq_producer_new(&producer, client, NULL, &err), &err);
    assert_int_equal(smq_send_batch(producer, topic, messages, SENDS, receipts, &err), SMQ_FULL);
    for (int i = 0; i < SENDS; i++) {
        assert_true(receipts[i].status == SMQ_OK || receipts[i].status == SMQ_FULL);
        stored[receipts[i].slot] += receipts[i].status == SMQ_OK;
    }
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(stored[i], 3); /* 10 over 4 slots, rounded up */
    }
    assert_int_equal(messages_stats(client, topic).waiting, 3 * SLOTS);
    smq_producer_free(producer);
    smq_client_free(client);
}

TEST_GROUP(limits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expired_message_is_dropped),
        cmocka_unit_test(expired_message_becomes_a_dead_letter),
        cmocka_unit_test(ttl_of_the_message_beats_that_of_the_topic),
        cmocka_unit_test(resting_message_expires_too),
        cmocka_unit_test(each_send_moves_the_time_back_up_to_the_cap),
        cmocka_unit_test(without_debounce_the_first_time_stays),
        cmocka_unit_test(burst_is_one_delivery),
        cmocka_unit_test(full_slot_refuses_only_what_is_new),
        cmocka_unit_test(bound_is_shared_by_the_slots),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
