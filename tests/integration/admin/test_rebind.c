/* test_rebind.c - a topic is given from one coordination to another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 8 };

static void rebind(smq_client *client, const char *topic, bool force)
{
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_topic_rebind(client, topic, force, &err), &err);
}

/* It is refused, and says `why`. */
static void rebind_refused(smq_client *client, const char *topic, smq_status status,
                           const char *why)
{
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(smq_topic_rebind(client, topic, false, &err), status);
    if (strstr(err.text, why) == NULL || strstr(err.text, topic) == NULL) {
        fail_msg("it says \"%s\", not \"%s\"", err.text, why);
    }
}

/* A worker of this client is refused; the text names the verb, and what else would help. */
static void worker_refused_with(smq_client *client, const char *topic, const char *cure)
{
    smq_consumer *worker = NULL;
    smq_error err = SMQ_ERROR_INIT;

    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = topic, .handler = (smq_handler_fn *) abort);
    assert_int_equal(smq_consumer_new(&worker, client, &options, &err), SMQ_OTHER_FLEET);
    assert_non_null(strstr(err.text, "slotmq topic rebind"));
    assert_non_null(strstr(err.text, cure));
    assert_null(strchr(err.text, '\n'));
}

static void worker_refused(smq_client *client, const char *topic)
{
    worker_refused_with(client, topic, "");
}

/* The worker ends by itself: its topic is another fleet's. */
static void ends_as_other_fleet(smq_consumer *worker)
{
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(smq_consumer_wait(worker, TIMEOUT_MS, &err), SMQ_OTHER_FLEET);
    smq_consumer_free(worker);
}

/* Consume one message with a worker of this client; the token is put into `token`. */
static void consume_one(smq_client *client, const char *topic, const char *body, char token[32])
{
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);

    messages_send(client, topic, (struct test_message){.body = body});
    handler_log_await(log, 1);
    assert_string_equal(handler_log_seen(log, 0).body, body);
    snprintf(token, 32, "%s", handler_log_seen(log, 0).token);
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

/* A wrong root of ZooKeeper is a fleet of its own. */
static void from_a_mistyped_root_to_the_right_one(void **state)
{
    smq_client *mistyped, *fleet = cluster_fleet_client(0);
    const char *topic = cluster_typed_topic(fleet, SMQ_TYPE_FIXED_TIME, SLOTS);
    char address[512], token[32];

    snprintf(address, sizeof(address), "%s/slotmk", servers_zookeeper(cluster_servers()));
    smq_client_options options = SMQ_CLIENT_OPTIONS(.zookeeper = address);
    mistyped = cluster_client_with(&options);
    consume_one(mistyped, topic, "a", token);
    worker_refused(fleet, topic);
    rebind(fleet, topic, false);
    consume_one(fleet, topic, "a", token);
    worker_refused(mistyped, topic);
    smq_client_free(mistyped);
    smq_client_free(fleet);
}

static void refused_while_an_owner_or_a_lease_of_0_2_lives(void **state)
{
    smq_client *in_redis = cluster_client(), *fleet = cluster_fleet_client(0);
    const char *topic = cluster_typed_topic(in_redis, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(in_redis, topic, log);
    redisContext *redis;
    char key[64];

    messages_send(in_redis, topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1);
    rebind_refused(fleet, topic, SMQ_IN_WORK, "subscribed");
    worker_refused(fleet, topic); /* nothing was changed */
    handler_log_stop_worker(worker);
    /* the lease of a process that died */
    snprintf(key, sizeof(key), "topic{%s}", topic);
    redis = redisConnect("127.0.0.1", server_port(servers_node_of(cluster_servers(), key)));
    assert_int_equal(
        keys_read_number(redis, "HSET %s lease_owner host:1-abc lease_until 99999999999999", key),
        2);
    rebind_refused(fleet, topic, SMQ_IN_WORK, "host:1-abc");
    rebind(fleet, topic, true);
    redisFree(redis);
    handler_log_free(log);
    smq_client_free(fleet);
    smq_client_free(in_redis);
}

/* --- from one kind of fleet to the other --- */

enum { KINDS = 2, BEFORE = 200, SOME = 20, SESSION_MS = 2000 };

static smq_client *fleet_of(int kind)
{
    return kind == 0 ? cluster_fleet_client(SESSION_MS)
                     : cluster_client_with(&SMQ_CLIENT_OPTIONS(.session_timeout_ms = SESSION_MS));
}

static void from_one_kind_of_fleet_to_the_other_and_back(void **state)
{
    static const char *const cures[KINDS] = {"its zookeeper option", "that root and no zookeeper"};
    smq_client *fleets[KINDS] = {fleet_of(0), fleet_of(1)};
    const char *topic = cluster_typed_topic(fleets[0], SMQ_TYPE_FIXED_TIME, SLOTS);
    char tokens[3][32];

    (void) state;
    for (int i = 0; i < 3; i++) {
        if (i > 0) {
            worker_refused_with(fleets[i % KINDS], topic, cures[(i + 1) % KINDS]);
            rebind(fleets[i % KINDS], topic, false);
        }
        consume_one(fleets[i % KINDS], topic, "a", tokens[i]);
        assert_true(i == 0 || strcmp(tokens[i], tokens[i - 1]) > 0);
    }
    messages_await_counts(fleets[0], topic, (struct message_counts){.done = 3, .waiting = 0});
    smq_client_free(fleets[0]);
    smq_client_free(fleets[1]);
}

struct flow {
    smq_client *client;
    const char *topic;
    struct handler_log *log;
    int sent;
};

/* The new fleet does; until then, and for the owners that sleep, more messages come. */
static bool handles_some(void *arg)
{
    struct flow *flow = arg;

    messages_send_numbers(flow->client, flow->topic, flow->sent, SOME);
    flow->sent += SOME;
    return handler_log_count(flow->log) >= SOME;
}

/* By force, while messages come and are handled: none is lost, and the former fleet ends. */
static void moved_under_load(int from, int to)
{
    smq_client *fleets[KINDS] = {fleet_of(0), fleet_of(1)};
    const char *topic = cluster_typed_topic(fleets[0], SMQ_TYPE_FIXED_TIME, 1);
    struct handler_log *before = handler_log_new(NULL), *after = handler_log_new(NULL);
    smq_consumer *missed = handler_log_worker(fleets[from], topic, before), *worker;
    struct flow flow = {fleets[0], topic, after, BEFORE};

    messages_send_numbers(fleets[0], topic, 0, BEFORE);
    handler_log_await(before, SOME);
    rebind(fleets[to], topic, true);
    worker = handler_log_worker(fleets[to], topic, after);
    assert_true(wait_until(handles_some, &flow, TIMEOUT_MS));
    ends_as_other_fleet(missed);
    messages_await_counts(fleets[0], topic,
                          (struct message_counts){.done = flow.sent, .waiting = 0});
    assert_true(strcmp(handler_log_seen(after, 0).token, handler_log_seen(before, 0).token) > 0);
    handler_log_stop_worker(worker);
    handler_log_free(before);
    handler_log_free(after);
    smq_client_free(fleets[0]);
    smq_client_free(fleets[1]);
}

static void a_topic_moves_to_the_other_kind_under_load(void **state)
{
    (void) state;
    moved_under_load(0, 1);
    moved_under_load(1, 0);
}

struct attempt {
    smq_client *client;
    const char *topic;
};

static bool all_slots_are_counted(void *arg)
{
    const struct attempt *attempt = arg;
    smq_error err = SMQ_ERROR_INIT;
    const char *counted;
    int slots = 0;

    assert_int_equal(smq_topic_rebind(attempt->client, attempt->topic, false, &err), SMQ_IN_WORK);
    counted = strstr(err.text, "subscribed to ");
    if (counted != NULL) {
        assert_int_equal(sscanf(counted, "subscribed to %d of its 8 slots", &slots), 1);
        assert_in_range(slots, 1, SLOTS);
    }
    return slots == SLOTS;
}

/* Every slot of an idle worker counts, on whatever master it is. */
static void refused_while_a_fleet_listens(void **state)
{
    smq_client *in_redis = cluster_client(), *fleet = cluster_fleet_client(0);
    const char *topic = cluster_typed_topic(in_redis, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(fleet, topic, log);
    struct attempt attempt = {in_redis, topic};

    messages_send(in_redis, topic, (struct test_message){.body = "a"});
    handler_log_await(log, 1);
    assert_true(wait_until(all_slots_are_counted, &attempt, TIMEOUT_MS));
    handler_log_stop_worker(worker);
    rebind(in_redis, topic, false);
    handler_log_free(log);
    smq_client_free(fleet);
    smq_client_free(in_redis);
}

static bool hang_runs(void *arg)
{
    return members_runs(arg, "hang") > 0;
}

/* A killed process is not subscribed any more, but its claim is leased. */
static void refused_while_a_claim_is_leased(void **state)
{
    smq_client *in_redis = cluster_client(), *fleet = cluster_fleet_client(0);
    const char *topic = cluster_typed_topic(in_redis, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct members members;
    struct member *owner;

    members_init(&members, topic);
    members.zookeeper = true;
    members.work_us = 600000000;
    members_send(&members, fleet, "hang", 1, 0, 1);
    owner = members_start(&members);
    assert_true(wait_until(hang_runs, &members, TIMEOUT_MS));
    member_kill(owner);
    rebind_refused(in_redis, topic, SMQ_IN_WORK, "claimed in 1 of its 8 slots");
    rebind(in_redis, topic, true);
    members_fini(&members);
    smq_client_free(fleet);
    smq_client_free(in_redis);
}

/* By force: the owner that lives all the same is fenced, and ends. */
static void a_in_redis_owner_that_was_missed_is_fenced(void **state)
{
    smq_client *in_redis = cluster_client(), *fleet = cluster_fleet_client(0);
    const char *topic = cluster_typed_topic(in_redis, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *before = handler_log_new(NULL), *after = handler_log_new(NULL);
    smq_consumer *missed = handler_log_worker(in_redis, topic, before), *worker;

    messages_send(in_redis, topic, (struct test_message){.body = "a"});
    handler_log_await(before, 1);
    rebind(fleet, topic, true);
    worker = handler_log_worker(fleet, topic, after);
    ends_as_other_fleet(missed);
    messages_send(in_redis, topic, (struct test_message){.body = "b"});
    handler_log_await(after, 1);
    assert_int_equal(handler_log_count(before), 1);
    assert_true(strcmp(handler_log_seen(after, 0).token, handler_log_seen(before, 0).token) > 0);
    handler_log_stop_worker(worker);
    handler_log_free(before);
    handler_log_free(after);
    smq_client_free(fleet);
    smq_client_free(in_redis);
}

static void a_fleet_that_was_missed_is_fenced(void **state)
{
    smq_client *in_redis = cluster_client(), *fleet = cluster_fleet_client(0);
    const char *topic = cluster_typed_topic(in_redis, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *before = handler_log_new(NULL), *after = handler_log_new(NULL);
    smq_consumer *missed, *worker;

    handler_log_gate(before);
    handler_log_open(before, 1); /* a passes */
    missed = handler_log_worker(fleet, topic, before);
    messages_send(in_redis, topic, (struct test_message){.body = "a"});
    handler_log_await(before, 1);
    messages_send(in_redis, topic, (struct test_message){.body = "b"});
    handler_log_await(before, 2); /* its handler holds b */
    rebind(in_redis, topic, true);
    worker = handler_log_worker(in_redis, topic, after);
    handler_log_await(after, 1);
    assert_string_equal(handler_log_seen(after, 0).body, "b");
    assert_true(strcmp(handler_log_seen(after, 0).token, handler_log_seen(before, 1).token) > 0);
    handler_log_open(before, 1); /* too late: its answer changes nothing */
    ends_as_other_fleet(missed);
    messages_await_counts(in_redis, topic, (struct message_counts){.done = 2, .waiting = 0});
    handler_log_stop_worker(worker);
    handler_log_free(before);
    handler_log_free(after);
    smq_client_free(fleet);
    smq_client_free(in_redis);
}

/* A token may be of a larger generation than the topic: the root of a fleet has its own. */
static void the_new_owner_is_above_every_token(void **state)
{
    smq_client *in_redis = cluster_client();
    const char *topic = cluster_typed_topic(in_redis, SMQ_TYPE_FIXED_TIME, SLOTS);
    redisContext *redis = keys_connect_to(topic);
    char token[32];

    assert_int_equal(
        keys_read_number(redis, "HSET slot{%s_0} token 0000002a0000000000000007", topic), 0);
    rebind(in_redis, topic, false);
    consume_one(in_redis, topic, "a", token);
    assert_int_equal(strncmp(token, "0000002b", 8), 0);
    redisFree(redis);
    smq_client_free(in_redis);
}

static void what_cannot_be_rebound(void **state)
{
    smq_client *in_redis = cluster_client(), *nowhere;
    const char *shared = cluster_priority_topic(in_redis, true, 2),
               *topic = cluster_typed_topic(in_redis, SMQ_TYPE_FIXED_TIME, SLOTS);
    smq_error err = SMQ_ERROR_INIT;

    rebind_refused(in_redis, "nothing", SMQ_NO_TOPIC, "nothing");
    rebind_refused(in_redis, shared, SMQ_INVALID, "shared");
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.zookeeper = "127.0.0.1:1", .session_timeout_ms = 2000);
    nowhere = cluster_client_with(&options);
    assert_int_equal(smq_topic_rebind(nowhere, topic, true, &err), SMQ_UNAVAILABLE);
    smq_client_free(nowhere);
    smq_client_free(in_redis);
}

TEST_GROUP(rebind)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_a_mistyped_root_to_the_right_one),
        cmocka_unit_test(from_one_kind_of_fleet_to_the_other_and_back),
        cmocka_unit_test(a_topic_moves_to_the_other_kind_under_load),
        cmocka_unit_test(refused_while_an_owner_or_a_lease_of_0_2_lives),
        cmocka_unit_test(refused_while_a_fleet_listens),
        cmocka_unit_test(refused_while_a_claim_is_leased),
        cmocka_unit_test(a_in_redis_owner_that_was_missed_is_fenced),
        cmocka_unit_test(a_fleet_that_was_missed_is_fenced),
        cmocka_unit_test(the_new_owner_is_above_every_token),
        cmocka_unit_test(what_cannot_be_rebound),
    };

    return cmocka_run_group_tests(tests, cluster_start_fleet, cluster_end);
}
