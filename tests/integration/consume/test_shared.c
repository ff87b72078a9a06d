/* test_shared.c - shared topics: every process claims from every slot, no process owns one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { LEASE_MS = 2000, TWO_LEASES_MS = 4000 };

static const char *topic_of(smq_client *client, int64_t lease_ms)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .shared = true, .lease_ms = lease_ms);
    return cluster_topic(client, &options);
}

static void two_members_work_on_one_slot_at_once(void **state)
{
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = topic_of(client, 0);
    struct handler_log *first = handler_log_new(NULL), *second = handler_log_new(NULL);
    smq_consumer *one, *two;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.batch_size = 1);
    handler_log_gate(first);
    handler_log_gate(second);
    one = handler_log_worker_with(client, &options, topic, first);
    two = handler_log_worker_with(other, &options, topic, second);
    messages_send(client, topic, (struct test_message){.body = "a"});
    messages_send(client, topic, (struct test_message){.body = "b"});
    handler_log_await(first, 1);
    handler_log_await(second, 1); /* while the first is still at its own */
    assert_string_equal(handler_log_seen(first, 0).token, "");
    assert_string_not_equal(handler_log_seen(first, 0).body, handler_log_seen(second, 0).body);
    handler_log_open(first, 1);
    handler_log_open(second, 1);
    messages_await_counts(client, topic, (struct message_counts){.done = 2});
    handler_log_stop_worker(one);
    handler_log_stop_worker(two);
    handler_log_free(first);
    handler_log_free(second);
    smq_client_free(other);
    smq_client_free(client);
}

static bool two_leases_have_passed(void *arg)
{
    struct handler_log *log = arg;
    struct seen seen = handler_log_seen(log, 0);

    return clock_wall_ms() > seen.at_ms + TWO_LEASES_MS;
}

/* A handler takes longer than the lease with which its message was claimed; `alter` (or NULL) is
 * the lease of the topic from then on.  Nobody else may get the message. */
static void work_for_two_leases(const char *alter)
{
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = topic_of(client, LEASE_MS);
    struct handler_log *first = handler_log_new(NULL), *second = handler_log_new(NULL);
    smq_consumer *one, *two;
    smq_error err = SMQ_ERROR_INIT;

    handler_log_gate(first);
    one = handler_log_worker(client, topic, first);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(first, 1);
    two = handler_log_worker(other, topic, second);
    if (alter != NULL) {
        assert_ok(cluster_alter(client, topic, "lease_ms", alter, &err), &err);
    }
    assert_true(wait_until(two_leases_have_passed, first, TIMEOUT_MS));
    assert_int_equal(handler_log_count(second), 0);
    assert_int_equal(smq_delivery_check(handler_log_seen(first, 0).delivery), SMQ_OK);
    handler_log_open(first, 1);
    messages_await_counts(client, topic, (struct message_counts){.done = 1});
    assert_int_equal(messages_stats(client, topic).lease_lost, 0);
    handler_log_stop_worker(one);
    handler_log_stop_worker(two);
    handler_log_free(first);
    handler_log_free(second);
    smq_client_free(other);
    smq_client_free(client);
}

/* In a shared topic a lease that is not renewed gives the message to others. */
static void lease_of_a_long_handler_is_renewed(void **state)
{
    work_for_two_leases(NULL);
}

/* What is in flight has the old lease, and must be renewed in its time. */
static void longer_lease_comes_in_time_for_what_is_in_flight(void **state)
{
    work_for_two_leases("1h");
}

static bool somebody_runs(void *arg)
{
    return members_runs(arg, "hang") > 0;
}

static void claims_of_a_killed_process_lapse(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, LEASE_MS);
    struct handler_log *log = handler_log_new(NULL);
    struct members members;
    struct member *member;
    smq_consumer *worker;

    members_init(&members, topic);
    members.work_us = 600000000;
    members_send(&members, client, "hang", 1, 0, 1);
    member = members_start(&members);
    assert_true(wait_until(somebody_runs, &members, TIMEOUT_MS));
    worker = handler_log_worker(client, topic, log);
    member_kill(member);
    handler_log_await(log, 1);
    assert_int_equal(handler_log_seen(log, 0).attempt, 1);
    assert_true(handler_log_seen(log, 0).redelivered); /* a first death uses no retry */
    messages_await_counts(client, topic, (struct message_counts){.done = 1});
    assert_int_equal(messages_stats(client, topic).lease_lost, 1);
    handler_log_stop_worker(worker);
    members_fini(&members);
    handler_log_free(log);
    smq_client_free(client);
}

/* The lease ends although the process lives: it was stopped.  Its handler learns of it. */
static void late_answer_changes_nothing(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = topic_of(client, 400);
    struct handler_log *log = handler_log_new(NULL);
    redisContext *redis = keys_connect();
    smq_consumer *worker;
    char prepare[64], entry[64];
    struct seen seen;

    handler_log_gate(log);
    worker = handler_log_worker(client, topic, log);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1);
    seen = handler_log_seen(log, 0);
    snprintf(prepare, sizeof(prepare), "prepare{%s_0}", topic);
    snprintf(entry, sizeof(entry), "%lldc1:a", (long long) seen.due_at_ms);
    assert_int_equal(keys_read_number(redis, "ZREM %s %s", prepare, entry), 1);
    messages_await_check(seen.delivery, SMQ_LEASE_LOST);
    handler_log_open(log, 1);
    handler_log_stop_worker(worker);
    assert_int_equal(messages_stats(client, topic).done, 0);
    redisFree(redis);
    handler_log_free(log);
    smq_client_free(client);
}

TEST_GROUP(shared)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_members_work_on_one_slot_at_once),
        cmocka_unit_test(lease_of_a_long_handler_is_renewed),
        cmocka_unit_test(longer_lease_comes_in_time_for_what_is_in_flight),
        cmocka_unit_test(claims_of_a_killed_process_lapse),
        cmocka_unit_test(late_answer_changes_nothing),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
