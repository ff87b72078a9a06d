/* test_strict_takeover.c - with takeover strict a former owner keeps what it has claimed until the
 * leases end, and until then nobody handles other messages of the same keys, or of the slot. */
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum { LEASE_MS = 3000, MESSAGES = 3 };

static void send_one(smq_client *client, const char *topic, smq_topic_type type, const char *key,
                     const char *body)
{
    messages_send(
        client, topic,
        (struct test_message){.key = key, .id = type == SMQ_TYPE_FIFO ? body : NULL, .body = body});
}

/* The handler of "a 0" hangs, and its worker has given the slot up. */
static smq_consumer *hang(smq_client *client, const char *topic, struct handler_log *log)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.drain_timeout_ms = 100);
    smq_error err = SMQ_ERROR_INIT;
    smq_consumer *worker;

    handler_log_gate(log);
    worker = handler_log_worker_with(client, &options, topic, log);
    handler_log_await(log, 1);
    smq_consumer_stop(worker);
    assert_int_equal(smq_consumer_wait(worker, SMQ_FOREVER, &err), SMQ_TIMED_OUT);
    return worker;
}

/* The next owner handles the messages of the slot in the expected order. */
static void assert_order_behind_a_hung_handler(smq_topic_type type,
                                               const char *const expected[MESSAGES])
{
    smq_topic_options topic_options =
        SMQ_TOPIC_OPTIONS(.type = type, .takeover = SMQ_TAKEOVER_STRICT, .lease_ms = LEASE_MS);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    struct handler_log *log = handler_log_new(NULL), *second = handler_log_new(NULL);
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = cluster_topic(client, &topic_options);
    smq_consumer *worker, *heir;

    send_one(client, topic, type, "a", "a 0");
    worker = hang(client, topic, log);
    send_one(client, topic, type, "a", "a 1");
    send_one(client, topic, type, "b", "b 0");
    heir = handler_log_worker_with(other, &options, topic, second);
    handler_log_await(second, MESSAGES);
    for (int i = 0; i < MESSAGES; i++) {
        assert_string_equal(handler_log_seen(second, i).body, expected[i]);
    }
    messages_await_counts(client, topic, (struct message_counts){.done = MESSAGES});
    handler_log_open(log, 1);
    smq_consumer_free(worker);
    handler_log_stop_worker(heir);
    handler_log_free(log);
    handler_log_free(second);
    smq_client_free(other);
    smq_client_free(client);
}

static void a_hung_handler_keeps_its_key(void **state)
{
    static const smq_topic_type types[] = {SMQ_TYPE_FIXED_TIME, SMQ_TYPE_PRIORITY, SMQ_TYPE_FIFO};
    static const char *const expected[] = {"b 0", "a 0", "a 1"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        assert_order_behind_a_hung_handler(types[i], expected);
    }
}

TEST_GROUP(strict_takeover)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hung_handler_keeps_its_key),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
