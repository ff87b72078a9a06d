/* test_lost_pushes.c - publications of pushed messages that do not reach the owner, which lives and
 * sleeps on: how soon it finds them. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/proxy.h"

/* FOUND_MS is promised: 5 s until a connection is asked whether it lives, 3 s for its answer, and
 * time for a new one.  The lease ends much later, so no message returns by that. */
enum { FOUND_MS = 15000, AGAIN_MS = 1000, LEASE_MS = 600000, TRIES = 100 };

/* An owner of one slot behind a proxy; what the test sends goes straight to Redis. */
struct path {
    smq_client *direct, *behind;
    struct proxy *proxy;
    struct handler_log *log;
    smq_consumer *worker;
    const char *topic;
    int before;      /* messages that were handled before one is lost */
    int64_t lost_ms; /* when the message was sent whose publication is lost */
};

/* Handle one more message.  Did its owner claim it, and was not pushed it? */
static bool path_claims(struct path *path)
{
    smq_metrics former = SMQ_METRICS_INIT, metrics = SMQ_METRICS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_client_metrics(path->behind, &former, &err), &err);
    messages_send(path->direct, path->topic, (struct test_message){.body = "first"});
    handler_log_await(path->log, ++path->before);
    keys_await_open(path->topic, 1, 1);
    assert_ok(smq_client_metrics(path->behind, &metrics, &err), &err);
    return metrics.wait_claim_us > former.wait_claim_us;
}

/* It sleeps, open for pushes, and nothing that was published is still on its way: it would wake it.
 * The last message that it has handled was pushed, so what was published before has come. */
static void path_init(struct path *path, int64_t request_timeout_ms)
{
    smq_consumer_options work = SMQ_CONSUMER_OPTIONS(.max_in_flight = 1);
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .lease_ms = LEASE_MS);
    smq_client_options options = SMQ_CLIENT_OPTIONS(.request_timeout_ms = request_timeout_ms);

    *path = (struct path){.direct = cluster_client(), .log = handler_log_new(NULL)};
    path->topic = cluster_topic(path->direct, &topic);
    path->proxy = proxy_start(server_port(servers_node(cluster_servers(), 0)));
    options.redis = proxy_address(path->proxy);
    path->behind = cluster_client_with(&options);
    path->worker = handler_log_worker_with(path->behind, &work, path->topic, path->log);
    keys_await_open(path->topic, 1, 1);
    while (path_claims(path)) {
        assert_in_range(path->before, 1, TRIES);
    }
}

/* As many messages were handled since one was lost; no lease ended, and nothing was given back. */
static void path_fini(struct path *path, int since)
{
    int done = path->before + since;
    smq_stats stats;

    messages_await_counts(path->direct, path->topic, (struct message_counts){.done = done});
    stats = messages_stats(path->direct, path->topic);
    assert_int_equal(stats.lease_lost, 0);
    assert_int_equal(handler_log_count(path->log), done);
    assert_string_equal(handler_log_seen(path->log, path->before).body, "lost");
    assert_int_equal(handler_log_seen(path->log, path->before).attempt, 1);
    handler_log_stop_worker(path->worker);
    smq_client_free(path->behind);
    proxy_stop(path->proxy);
    handler_log_free(path->log);
    smq_client_free(path->direct);
}

static void lose_a_push(struct path *path)
{
    int64_t before = keys_pushes();

    proxy_deafen(path->proxy);
    path->lost_ms = clock_wall_ms();
    messages_send(path->direct, path->topic, (struct test_message){.body = "lost"});
    assert_int_equal(keys_pushes() - before, 1);
    messages_await_counts(path->direct, path->topic,
                          (struct message_counts){.claimed = 1, .done = path->before});
}

static void check_found_in_time(struct path *path)
{
    handler_log_await(path->log, path->before + 1);
    assert_in_range(handler_log_seen(path->log, path->before).at_ms - path->lost_ms, 0, FOUND_MS);
    path_fini(path, 1);
}

static void lost_push_is_found_when_the_subscription_is_cut(void **state)
{
    struct path path;

    path_init(&path, 0);
    lose_a_push(&path);
    freeReplyObject(keys_command(path.topic, "CLIENT KILL TYPE pubsub"));
    check_found_in_time(&path);
}

/* Nothing closes the connection, but nothing comes on it any more. */
static void lost_push_is_found_when_the_subscription_is_silent(void **state)
{
    struct path path;

    path_init(&path, 0);
    lose_a_push(&path);
    check_found_in_time(&path);
}

/* The connection brings everything else, and its owner is so patient that it notices nothing. */
static void lost_push_is_found_with_the_next_send(void **state)
{
    enum { PATIENCE_MS = 60000 };
    struct path path;

    path_init(&path, PATIENCE_MS);
    lose_a_push(&path);
    proxy_release(path.proxy);
    messages_await_clock(clock_wall_ms() + AGAIN_MS);
    assert_int_equal(handler_log_count(path.log), path.before);
    messages_send(path.direct, path.topic, (struct test_message){.body = "next"});
    handler_log_await(path.log, path.before + 2);
    assert_string_equal(handler_log_seen(path.log, path.before + 1).body, "next");
    path_fini(&path, 2);
}

TEST_GROUP(lost_pushes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_push_is_found_when_the_subscription_is_cut),
        cmocka_unit_test(lost_push_is_found_when_the_subscription_is_silent),
        cmocka_unit_test(lost_push_is_found_with_the_next_send),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
