/* test_redis_alone.c - processes without ZooKeeper, and with no option that says how they share the
 * slots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slotmq/health.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/process.h"
#include "support/wait.h"

/* How many slots each process owns. */
struct shares {
    smq_client *client;
    const char *topic;
    int members, slots; /* wanted: this number of processes, each with so many slots */
    char name[3][160];
    int count[3];
};

static bool add_share(const smq_slot_info *slot, void *user)
{
    struct shares *shares = user;

    for (int i = 0; i < 3 && slot->owner != NULL; i++) {
        if (shares->count[i] == 0) {
            snprintf(shares->name[i], sizeof(shares->name[i]), "%s", slot->owner);
        }
        if (strcmp(shares->name[i], slot->owner) == 0) {
            shares->count[i]++;
            return true;
        }
    }
    return true;
}

static bool are_shared(void *arg)
{
    struct shares *shares = arg;
    smq_error err = SMQ_ERROR_INIT;
    int members = 0;

    memset(shares->count, 0, sizeof(shares->count));
    assert_ok(smq_topic_slots(shares->client, shares->topic, add_share, shares, &err), &err);
    for (int i = 0; i < 3; i++) {
        members += shares->count[i] == shares->slots && shares->name[i][0] != '\0' ? 1 : 0;
    }
    return members == shares->members;
}

/* No option says so. */
static void processes_share_the_slots(void **state)
{
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 4);
    struct handler_log *first = handler_log_new(NULL), *second = handler_log_new(NULL);
    struct shares shares = {.client = client, .topic = topic, .members = 1, .slots = 4};
    smq_consumer *stays, *leaves;

    leaves = handler_log_worker(client, topic, first);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(first, 1);
    assert_true(wait_until(are_shared, &shares, TIMEOUT_MS));
    stays = handler_log_worker(other, topic, second);
    shares.members = shares.slots = 2;
    assert_true(wait_until(are_shared, &shares, TIMEOUT_MS));
    handler_log_stop_worker(leaves);
    shares = (struct shares){.client = client, .topic = topic, .members = 1, .slots = 4};
    assert_true(wait_until(are_shared, &shares, TIMEOUT_MS));
    messages_send(client, topic, (struct test_message){.body = "c"});
    handler_log_await(second, 1);
    assert_int_equal(handler_log_seen(second, 0).attempt, 1);
    assert_true(strcmp(handler_log_seen(second, 0).token, handler_log_seen(first, 0).token) > 0);
    handler_log_stop_worker(stays);
    handler_log_free(first);
    handler_log_free(second);
    smq_client_free(other);
    smq_client_free(client);
}

static bool somebody_runs(void *arg)
{
    return members_runs(arg, "hang") > 0;
}

/* The owner is killed in its handler; another one gets its slots when the session has ended. */
static void slots_of_a_process_that_is_killed_go_to_others(void **state)
{
    smq_client *client = cluster_client(), *other;
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 2);
    struct handler_log *log = handler_log_new(NULL);
    struct members members;
    struct member *owner;
    smq_consumer *heir;

    members_init(&members, topic);
    members.session_ms = 2000;
    members.work_us = 600000000;
    members_send(&members, client, "hang", 1, 0, 1);
    owner = members_start(&members);
    assert_true(wait_until(somebody_runs, &members, TIMEOUT_MS));
    smq_client_options options = SMQ_CLIENT_OPTIONS(.session_timeout_ms = 2000);
    other = cluster_client_with(&options);
    heir = handler_log_worker(other, topic, log);
    member_kill(owner);
    handler_log_await(log, 1);
    assert_string_equal(handler_log_seen(log, 0).body, "hang0 0");
    assert_int_equal(handler_log_seen(log, 0).attempt, 1); /* a lost process uses no retry */
    messages_await_counts(client, topic, (struct message_counts){.done = 1});
    assert_int_equal(messages_stats(client, topic).lease_lost, 1);
    handler_log_stop_worker(heir);
    members_fini(&members);
    handler_log_free(log);
    smq_client_free(other);
    smq_client_free(client);
}

static bool is_said_to_stand_by(void *arg)
{
    smq_health health = SMQ_HEALTH_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_client_health(arg, &health, &err), &err);
    return strstr(health.slotless, "a process of version 0.2 has all slots") != NULL;
}

/* A process of version 0.2 without ZooKeeper has a lease of the whole topic. */
static void lease_as_of_0_2(const char *topic, int64_t until_ms)
{
    redisContext *redis = keys_connect();
    const long long now = clock_wall_ms(), until = until_ms;

    freeReplyObject(redisCommand(redis,
                                 "HSET topic{%s} coord standalone lease_owner host:1-abc "
                                 "lease_until %lld lease_at %lld lease_epoch 7",
                                 topic, until, now));
    redisFree(redis);
}

static void a_process_of_0_2_is_waited_for(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 4);
    struct shares shares = {.client = client, .topic = topic, .members = 1, .slots = 4};
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    lease_as_of_0_2(topic, clock_wall_ms() + 3600000);
    messages_send(client, topic, (struct test_message){.body = "a"});
    worker = handler_log_worker(client, topic, log);
    assert_true(wait_until(is_said_to_stand_by, client, TIMEOUT_MS));
    assert_int_equal(handler_log_count(log), 0);
    lease_as_of_0_2(topic, 0);
    handler_log_await(log, 1);
    assert_true(wait_until(are_shared, &shares, TIMEOUT_MS));
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- a server that has just begun to answer --- */

static bool note_grace(const smq_fleet_info *info, void *user)
{
    *(int64_t *) user = info->grace_ms;
    return true;
}

static bool is_said_to_have_no_slot(void *arg)
{
    smq_health health = SMQ_HEALTH_INIT;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_client_health(arg, &health, &err), &err);
    return health.slotless[0] != '\0';
}

/* It may have forgotten owners for as long as its sessions last, but not of a topic that was made
 * since it began to answer. */
static void a_new_topic_waits_for_nobody_on_a_new_server(void **state)
{
    const smq_client_options options =
        SMQ_CLIENT_OPTIONS(.root = "/new", .session_timeout_ms = 60000);
    smq_client *client = cluster_client_with(&options);
    const char *made = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 2);
    const char *loaded = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 2);
    struct handler_log *log = handler_log_new(NULL), *none = handler_log_new(NULL);
    redisContext *redis = keys_connect();
    int64_t grace_ms = 0;
    const smq_fleet_visitor visitor = SMQ_FLEET_VISITOR(.fleet = note_grace, .user = &grace_ms);
    smq_consumer *worker, *waits;
    smq_error err = SMQ_ERROR_INIT;

    freeReplyObject(redisCommand(redis, "HSET topic{%s} life of-another-server", loaded));
    messages_send(client, made, (struct test_message){.body = "a"});
    messages_send(client, loaded, (struct test_message){.body = "b"});
    worker = handler_log_worker(client, made, log);
    handler_log_await(log, 1);
    waits = handler_log_worker(client, loaded, none);
    assert_true(wait_until(is_said_to_have_no_slot, client, TIMEOUT_MS));
    assert_int_equal(handler_log_count(none), 0);
    assert_ok(smq_fleet_describe(client, &visitor, &err), &err);
    assert_true(grace_ms > 0);
    handler_log_stop_worker(waits);
    handler_log_stop_worker(worker);
    redisFree(redis);
    handler_log_free(log);
    handler_log_free(none);
    smq_client_free(client);
}

static bool is_tree_there(void *arg)
{
    redisReply *reply = keys_command("tree{slotmq:/slotmq}", "EXISTS tree{slotmq:/slotmq}");
    const bool there = reply->integer == 1;

    (void) arg;
    freeReplyObject(reply);
    return there;
}

/* The client is in no topic when its fleet is lost, and has seen that before it joins one. */
static void a_tree_that_was_lost_between_two_topics_is_made_anew(void **state)
{
    const smq_client_options options = SMQ_CLIENT_OPTIONS(.session_timeout_ms = 1000);
    smq_client *client = cluster_client_with(&options);
    const char *before = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 4), *after;
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, before, log);

    (void) state;
    messages_send(client, before, (struct test_message){.body = "a"});
    handler_log_await(log, 1);
    handler_log_stop_worker(worker);
    freeReplyObject(keys_command("tree{slotmq:/slotmq}", "DEL tree{slotmq:/slotmq}"));
    assert_true(wait_until(is_tree_there, NULL, TIMEOUT_MS));
    after = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 4);
    worker = handler_log_worker(client, after, log);
    messages_send(client, after, (struct test_message){.body = "b"});
    handler_log_await(log, 2);
    handler_log_stop_worker(worker);
    smq_client_free(client);
    handler_log_free(log);
}

/* What a dead owner had claimed, with leases that end in an hour. */
static void claim_for_the_dead(redisContext *redis, const char *topic, int count)
{
    long long now = clock_wall_ms(), ends = now + 3600000;

    for (int i = 0; i < count; i++) {
        redisAppendCommand(redis, "ZADD prepare{%s_0} %lld %lldc1:m%d", topic, ends, now, i);
    }
    for (int i = 0; i < count; i++) {
        void *reply = NULL;

        assert_int_equal(redisGetReply(redis, &reply), REDIS_OK);
        freeReplyObject(reply);
    }
    freeReplyObject(redisCommand(
        redis, "HSET slot{%s_0} token 000000010000000000000001 owner dead base 0 claims 1", topic));
}

/* One call of the takeover gives 1,000 back: it is repeated until all are. */
static void a_takeover_brings_thousands_of_claims_back(void **state)
{
    enum { CLAIMS = 2500 };
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *log = handler_log_new(NULL);
    redisContext *redis = keys_connect();
    smq_consumer *worker;

    claim_for_the_dead(redis, topic, CLAIMS);
    assert_int_equal(messages_stats(client, topic).claimed, CLAIMS);
    worker = handler_log_worker(client, topic, log);
    handler_log_await(log, CLAIMS);
    messages_await_counts(client, topic, (struct message_counts){.done = CLAIMS});
    assert_int_equal(messages_stats(client, topic).lease_lost, CLAIMS);
    handler_log_stop_worker(worker);
    redisFree(redis);
    handler_log_free(log);
    smq_client_free(client);
}

/* A supervisor that starts the process again whenever it dies. */
struct supervised {
    struct members members;
    struct member *running;
    smq_client *client;
    int total;
};

static bool all_are_done_or_dead(void *arg)
{
    struct supervised *supervised = arg;
    smq_stats stats;

    if (process_ended(supervised->running->pid, NULL)) {
        supervised->running->pid = 0;
        supervised->running = members_start(&supervised->members);
    }
    stats = messages_stats(supervised->client, supervised->members.topic);
    return stats.waiting == 0 && stats.claimed == 0 && stats.dead == 1;
}

static void message_that_kills_its_process_is_dead_after_18_deliveries(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct supervised supervised = {.client = client};
    struct verdict verdict;
    smq_stats stats;

    members_init(&supervised.members, topic);
    supervised.members.session_ms = 1500; /* each death costs one */
    members_send(&supervised.members, client, "before", 5, 0, 10);
    members_send(&supervised.members, client, "poison", 1, 0, 1);
    members_send(&supervised.members, client, "after", 5, 0, 10);
    supervised.running = members_start(&supervised.members);
    if (!wait_until(all_are_done_or_dead, &supervised, TIMEOUT_MS)) {
        fail_msg("it still lives after %d deliveries",
                 members_runs(&supervised.members, "poison0"));
    }
    assert_int_equal(members_runs(&supervised.members, "poison0"), 18);
    stats = messages_stats(client, topic);
    assert_int_equal(stats.done, 20);
    assert_int_equal(stats.dead, 1);
    assert_int_equal(stats.retried, 0);
    verdict = members_judge(&supervised.members);
    assert_int_equal(verdict.handled, 20);
    assert_int_equal(verdict.overlaps, 0);
    member_leave(supervised.running);
    members_fini(&supervised.members);
    smq_client_free(client);
}

static void topic_of_another_fleet_is_refused(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    redisContext *redis = keys_connect();
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    freeReplyObject(redisCommand(redis, "HSET topic{%s} coord zookeeper:/elsewhere", topic));
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = (smq_handler_fn *) abort);
    assert_int_equal(smq_consumer_new(&worker, client, &options, &err), SMQ_OTHER_FLEET);
    assert_non_null(strstr(err.text, "ZooKeeper with the root /elsewhere"));
    assert_non_null(strstr(err.text, "give this process its zookeeper option"));
    redisFree(redis);
    smq_client_free(client);
}

TEST_GROUP(redis_alone)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_topic_waits_for_nobody_on_a_new_server),
        cmocka_unit_test(processes_share_the_slots),
        cmocka_unit_test(slots_of_a_process_that_is_killed_go_to_others),
        cmocka_unit_test(a_process_of_0_2_is_waited_for),
        cmocka_unit_test(a_tree_that_was_lost_between_two_topics_is_made_anew),
        cmocka_unit_test(a_takeover_brings_thousands_of_claims_back),
        cmocka_unit_test(message_that_kills_its_process_is_dead_after_18_deliveries),
        cmocka_unit_test(topic_of_another_fleet_is_refused),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
