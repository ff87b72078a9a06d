/* test_shared.c - shared topics: every process claims from every slot, nobody owns one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/members.h"
#include "integration/fixture/scene.h"
#include "support/wait.h"

enum { LEASE_MS = 2000, TWO_LEASES_MS = 4000 };

static int start(void **state)
{
    struct servers_options options = {.redis = REDIS_SINGLE};

    (void) state;
    return scene_start(&options);
}

static const char *topic_of(smq_client *client, int64_t lease_ms)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    options.type = SMQ_TYPE_FIXED_TIME;
    options.shared = true;
    options.lease_ms = lease_ms;
    return scene_topic(client, &options);
}

static void two_members_work_on_one_slot_at_once(void **state)
{
    smq_client *client = scene_client(), *other = scene_client();
    const char *topic = topic_of(client, 0);
    struct recorder *first = recorder_new(NULL), *second = recorder_new(NULL);
    smq_worker_options options = SMQ_WORKER_OPTIONS_INIT;
    smq_worker *one, *two;

    (void) state;
    options.batch_size = 1;
    recorder_gate(first);
    recorder_gate(second);
    one = scene_worker_with(client, &options, topic, first);
    two = scene_worker_with(other, &options, topic, second);
    scene_send(client, topic, (struct scene_message){.body = "a"});
    scene_send(client, topic, (struct scene_message){.body = "b"});
    recorder_await(first, 1);
    recorder_await(second, 1); /* while the first is still at its own */
    assert_string_equal(recorder_seen(first, 0).token, "");
    assert_string_not_equal(recorder_seen(first, 0).body, recorder_seen(second, 0).body);
    recorder_open(first, 1);
    recorder_open(second, 1);
    scene_await_counts(client, topic, (struct scene_counts){.done = 2});
    scene_stop(one);
    scene_stop(two);
    recorder_free(first);
    recorder_free(second);
    smq_client_free(other);
    smq_client_free(client);
}

static bool two_leases_have_passed(void *arg)
{
    struct recorder *recorder = arg;
    struct seen seen = recorder_seen(recorder, 0);

    return scene_now_ms() > seen.at_ms + TWO_LEASES_MS;
}

/* A handler takes longer than the lease with which its message was claimed; `alter` (or NULL) is
 * the lease of the topic from then on.  Nobody else may get the message. */
static void work_for_two_leases(const char *alter)
{
    smq_client *client = scene_client(), *other = scene_client();
    const char *topic = topic_of(client, LEASE_MS);
    struct recorder *first = recorder_new(NULL), *second = recorder_new(NULL);
    smq_worker *one, *two;
    smq_error err = SMQ_ERROR_INIT;

    recorder_gate(first);
    one = scene_worker(client, topic, first);
    scene_send(client, topic, (struct scene_message){.body = "a"});
    recorder_await(first, 1);
    two = scene_worker(other, topic, second);
    if (alter != NULL) {
        scene_must(smq_topic_alter(client, topic, "lease_ms", alter, &err), &err,
                   "smq_topic_alter");
    }
    assert_true(wait_until(two_leases_have_passed, first, SCENE_TIMEOUT_MS));
    assert_int_equal(recorder_count(second), 0);
    assert_int_equal(smq_delivery_check(recorder_seen(first, 0).delivery), SMQ_OK);
    recorder_open(first, 1);
    scene_await_counts(client, topic, (struct scene_counts){.done = 1});
    assert_int_equal(scene_stats(client, topic).lease_lost, 0);
    scene_stop(one);
    scene_stop(two);
    recorder_free(first);
    recorder_free(second);
    smq_client_free(other);
    smq_client_free(client);
}

/* In a shared topic a lease that is not renewed gives the message to others. */
static void lease_of_a_long_handler_is_renewed(void **state)
{
    (void) state;
    work_for_two_leases(NULL);
}

/* What is in hand has the old lease, and must be renewed in its time. */
static void longer_lease_comes_in_time_for_what_is_in_hand(void **state)
{
    (void) state;
    work_for_two_leases("1h");
}

static bool somebody_runs(void *arg)
{
    return members_runs(arg, "hang") > 0;
}

static void claims_of_a_killed_process_lapse(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, LEASE_MS);
    struct recorder *recorder = recorder_new(NULL);
    struct members members;
    struct member *member;
    smq_worker *worker;

    (void) state;
    members_init(&members, topic);
    members.work_us = 600000000;
    members_send(&members, client, "hang", 1, 0, 1);
    member = members_start(&members);
    assert_true(wait_until(somebody_runs, &members, SCENE_TIMEOUT_MS));
    worker = scene_worker(client, topic, recorder);
    member_kill(member);
    recorder_await(recorder, 1);
    assert_int_equal(recorder_seen(recorder, 0).attempt, 1);
    scene_await_counts(client, topic, (struct scene_counts){.done = 1});
    assert_int_equal(scene_stats(client, topic).lease_lost, 1);
    scene_stop(worker);
    members_fini(&members);
    recorder_free(recorder);
    smq_client_free(client);
}

/* The lease ends although the process lives: it was stopped.  Its handler is told. */
static void late_answer_changes_nothing(void **state)
{
    smq_client *client = scene_client();
    const char *topic = topic_of(client, 400);
    struct recorder *recorder = recorder_new(NULL);
    redisContext *redis = scene_redis();
    smq_worker *worker;
    char prepare[64], entry[64];
    struct seen seen;

    (void) state;
    recorder_gate(recorder);
    worker = scene_worker(client, topic, recorder);
    scene_send(client, topic, (struct scene_message){.body = "a"});
    recorder_await(recorder, 1);
    seen = recorder_seen(recorder, 0);
    snprintf(prepare, sizeof(prepare), "prepare{%s_0}", topic);
    snprintf(entry, sizeof(entry), "%lldc1:a", (long long) seen.due_at_ms);
    assert_int_equal(scene_redis_number(redis, "ZREM %s %s", prepare, entry), 1);
    scene_await_standing(seen.delivery, SMQ_LEASE_LOST);
    recorder_open(recorder, 1);
    scene_stop(worker);
    assert_int_equal(scene_stats(client, topic).done, 0);
    redisFree(redis);
    recorder_free(recorder);
    smq_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_members_work_on_one_slot_at_once),
        cmocka_unit_test(lease_of_a_long_handler_is_renewed),
        cmocka_unit_test(longer_lease_comes_in_time_for_what_is_in_hand),
        cmocka_unit_test(claims_of_a_killed_process_lapse),
        cmocka_unit_test(late_answer_changes_nothing),
    };

    return cmocka_run_group_tests(tests, start, scene_end);
}
