/* test_standalone.c - several processes without ZooKeeper: one owns a topic, the others stand by.
 */
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

static void standby_takes_over_when_the_owner_stops(void **state)
{
    smq_client *client = cluster_client(), *other = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 4);
    struct handler_log *first = handler_log_new(NULL), *second = handler_log_new(NULL);
    smq_consumer *owner, *standby;

    owner = handler_log_worker(client, topic, first);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(first, 1);
    standby = handler_log_worker(other, topic, second);
    messages_send(client, topic, (struct test_message){.body = "b"});
    handler_log_await(first, 2);
    messages_await_counts(client, topic, (struct message_counts){.done = 2});
    assert_int_equal(handler_log_count(second), 0);
    handler_log_stop_worker(owner);
    messages_send(client, topic, (struct test_message){.body = "c"});
    handler_log_await(second, 1);
    assert_int_equal(handler_log_seen(second, 0).attempt, 1);
    assert_true(strcmp(handler_log_seen(second, 0).token, handler_log_seen(first, 0).token) > 0);
    handler_log_stop_worker(standby);
    handler_log_free(first);
    handler_log_free(second);
    smq_client_free(other);
    smq_client_free(client);
}

static bool somebody_runs(void *arg)
{
    return members_runs(arg, "hang") > 0;
}

/* The owner is killed in its handler; the standby gets the slots when the lease has ended. */
static void standby_takes_over_when_the_owner_is_killed(void **state)
{
    smq_client *client = cluster_client(), *other;
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 2);
    struct handler_log *log = handler_log_new(NULL);
    struct members members;
    struct member *owner;
    smq_consumer *standby;

    members_init(&members, topic);
    members.session_ms = 2000;
    members.work_us = 600000000;
    members_send(&members, client, "hang", 1, 0, 1);
    owner = members_start(&members);
    assert_true(wait_until(somebody_runs, &members, TIMEOUT_MS));
    smq_client_options options = SMQ_CLIENT_OPTIONS(.session_timeout_ms = 2000);
    other = cluster_client_with(&options);
    standby = handler_log_worker(other, topic, log);
    member_kill(owner);
    handler_log_await(log, 1);
    assert_string_equal(handler_log_seen(log, 0).body, "hang0 0");
    assert_int_equal(handler_log_seen(log, 0).attempt, 1); /* a lost process uses no retry */
    messages_await_counts(client, topic, (struct message_counts){.done = 1});
    assert_int_equal(messages_stats(client, topic).lease_lost, 1);
    handler_log_stop_worker(standby);
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
    return strstr(health.slotless, "another process consumes the topic") != NULL;
}

/* A member of a fleet in Redis stands by while a standalone process has the lease, and has the
 * topic when that ends.  The standalone one is refused then, until the topic is rebound. */
static void a_fleet_in_redis_takes_over_when_the_owner_stops(void **state)
{
    const smq_client_options in_redis = SMQ_CLIENT_OPTIONS(.coordination = SMQ_COORDINATION_REDIS);
    smq_client *client = cluster_client(), *fleet = cluster_client_with(&in_redis);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 4);
    struct handler_log *before = handler_log_new(NULL), *after = handler_log_new(NULL);
    smq_consumer *owner, *member, *refused = NULL;
    smq_error err = SMQ_ERROR_INIT;

    owner = handler_log_worker(client, topic, before);
    messages_send(client, topic, (struct test_message){.body = "a"});
    handler_log_await(before, 1);
    member = handler_log_worker(fleet, topic, after);
    assert_true(wait_until(is_said_to_stand_by, fleet, TIMEOUT_MS));
    messages_send(client, topic, (struct test_message){.body = "b"});
    handler_log_await(before, 2);
    assert_int_equal(handler_log_count(after), 0);
    handler_log_stop_worker(owner);
    messages_send(client, topic, (struct test_message){.body = "c"});
    handler_log_await(after, 1);
    assert_true(strcmp(handler_log_seen(after, 0).token, handler_log_seen(before, 1).token) > 0);
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = (smq_handler_fn *) abort);
    assert_int_equal(smq_consumer_new(&refused, client, &options, &err), SMQ_OTHER_FLEET);
    handler_log_stop_worker(member);
    assert_ok(smq_topic_rebind(client, topic, false, &err), &err);
    owner = handler_log_worker(client, topic, before);
    messages_send(client, topic, (struct test_message){.body = "d"});
    handler_log_await(before, 3);
    assert_true(strcmp(handler_log_seen(before, 2).token, handler_log_seen(after, 0).token) > 0);
    handler_log_stop_worker(owner);
    handler_log_free(before);
    handler_log_free(after);
    smq_client_free(fleet);
    smq_client_free(client);
}

struct ownership {
    smq_client *client;
    const char *topic, *owner;
    char token[32];
};

static bool keep_owner(const smq_slot_info *slot, void *user)
{
    struct ownership *ownership = user;

    if (slot->owner != NULL && strcmp(slot->owner, ownership->owner) == 0) {
        snprintf(ownership->token, sizeof(ownership->token), "%s", slot->token);
    }
    return true;
}

static bool is_owner(void *arg)
{
    struct ownership *ownership = arg;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_topic_slots(ownership->client, ownership->topic, keep_owner, ownership, &err),
              &err);
    return ownership->token[0] != '\0';
}

/* A failover lost the owner's lease, so Redis gives it to another with the same count. */
static void a_lease_that_redis_has_lost_makes_no_equal_token(void **state)
{
    smq_client_options named = SMQ_CLIENT_OPTIONS(.name = "second");
    smq_client *client = cluster_client(), *other = cluster_client_with(&named);
    struct ownership second = {.client = client, .owner = "second"};
    struct handler_log *before = handler_log_new(NULL), *after = handler_log_new(NULL);
    redisContext *redis = keys_connect();
    smq_consumer *owner, *successor;

    second.topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    owner = handler_log_worker(client, second.topic, before);
    messages_send(client, second.topic, (struct test_message){.body = "a"});
    handler_log_await(before, 1);
    freeReplyObject(
        redisCommand(redis, "HDEL topic{%s} lease_owner lease_until lease_epoch", second.topic));
    successor = handler_log_worker(other, second.topic, after);
    if (!wait_until(is_owner, &second, TIMEOUT_MS)) {
        fail_msg("the second owner shares the token of the first");
    }
    assert_true(strcmp(second.token, handler_log_seen(before, 0).token) > 0);
    messages_send(client, second.topic, (struct test_message){.body = "b"});
    handler_log_await(after, 1);
    assert_string_equal(handler_log_seen(after, 0).token, second.token);
    assert_int_equal(handler_log_count(before), 1);
    handler_log_stop_worker(owner);
    handler_log_stop_worker(successor);
    redisFree(redis);
    handler_log_free(before);
    handler_log_free(after);
    smq_client_free(other);
    smq_client_free(client);
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

/* A supervisor that starts the process again whenever it dies, and shortens the wait for its lease.
 */
struct supervised {
    struct members members;
    redisContext *redis;
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
        (void) keys_read_number(supervised->redis, "HSET topic{%s} lease_until 0",
                                supervised->members.topic);
        supervised->running = members_start(&supervised->members);
    }
    stats = messages_stats(supervised->client, supervised->members.topic);
    return stats.waiting == 0 && stats.claimed == 0 && stats.dead == 1;
}

static void message_that_kills_its_process_is_dead_after_18_deliveries(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, 1);
    struct supervised supervised = {.client = client, .redis = keys_connect()};
    struct verdict verdict;
    smq_stats stats;

    members_init(&supervised.members, topic);
    supervised.members.session_ms = 30000; /* never lost by a slow process */
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
    redisFree(supervised.redis);
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
    assert_non_null(strstr(err.text, "zookeeper:/elsewhere"));
    assert_non_null(strstr(err.text, "standalone"));
    redisFree(redis);
    smq_client_free(client);
}

TEST_GROUP(standalone)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standby_takes_over_when_the_owner_stops),
        cmocka_unit_test(standby_takes_over_when_the_owner_is_killed),
        cmocka_unit_test(a_fleet_in_redis_takes_over_when_the_owner_stops),
        cmocka_unit_test(a_lease_that_redis_has_lost_makes_no_equal_token),
        cmocka_unit_test(a_takeover_brings_thousands_of_claims_back),
        cmocka_unit_test(message_that_kills_its_process_is_dead_after_18_deliveries),
        cmocka_unit_test(topic_of_another_fleet_is_refused),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
