/* test_takeover_replicas.c - what new owners wait for, on three masters with one replica each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { MASTERS = 3, SLOTS = 16, BRIEF_MS = 1000, LONGEST_MS = 600000 };

static int start(void **state)
{
    struct servers_options options = {
        .redis = REDIS_CLUSTER, .masters = MASTERS, .replicas = 1, .node_timeout_ms = 1000};

    return cluster_start(&options);
}

/* --- what the client reports --- */

static struct {
    pthread_mutex_t lock;
    int gained, without_replicas, lost_tokens;
    char token[64]; /* of the slot that was gained last */
} reported = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    pthread_mutex_lock(&reported.lock);
    if (event->kind == SMQ_EVENT_SLOT_GAINED) {
        reported.gained++;
        snprintf(reported.token, sizeof(reported.token), "%s", event->token);
    }
    if (event->level == SMQ_LEVEL_WARN && strstr(event->text, "lower takeover_replicas") != NULL) {
        print_message("%s\n", event->text);
        reported.without_replicas++;
    }
    reported.lost_tokens += strstr(event->text, "Redis has lost the token") != NULL ? 1 : 0;
    pthread_mutex_unlock(&reported.lock);
}

static int report_of(const int *number)
{
    int value;

    pthread_mutex_lock(&reported.lock);
    value = *number;
    pthread_mutex_unlock(&reported.lock);
    return value;
}

static bool is_gained(void *arg)
{
    return report_of(&reported.gained) >= *(const int *) arg;
}

static int set_up(void **state)
{
    reported.gained = reported.without_replicas = reported.lost_tokens = 0;
    return 0;
}

/* --- a topic whose owners wait for one replica --- */

/* `master` and `replica` are those of slot 0. */
struct stage {
    smq_client *client;
    const char *topic;
    char slot[64];
    struct server *master, *replica;
    struct handler_log *log;
};

/* The replica that a master began with. */
static struct server *replica_of(const struct server *master)
{
    size_t number = 0;

    while (servers_node(cluster_servers(), number) != master) {
        number++;
    }
    return servers_node(cluster_servers(), (number + MASTERS) % ((size_t) 2 * MASTERS));
}

/* That of the fleet. */
static struct server *tree_master(void)
{
    return servers_node_of(cluster_servers(), "tree{slotmq:/slotmq}");
}

/* Slot 0 is not on the tree's master, whose replica knows of the grant. */
static void stage_init_with(struct stage *stage, int32_t slots, smq_client_options client)
{
    client.event = on_event;
    client.event_level = SMQ_LEVEL_DEBUG;
    smq_topic_options topic =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = slots, .takeover_replicas = 1);
    stage->client = cluster_client_with(&client);
    do {
        stage->topic = cluster_topic(stage->client, &topic);
        snprintf(stage->slot, sizeof(stage->slot), "slot{%s_0}", stage->topic);
        stage->master = servers_node_of(cluster_servers(), stage->slot);
    } while (stage->master == tree_master());
    stage->log = handler_log_new(NULL);
    stage->replica = replica_of(stage->master);
}

static void stage_init(struct stage *stage, int32_t slots, int64_t request_timeout_ms)
{
    stage_init_with(stage, slots, SMQ_CLIENT_OPTIONS(.request_timeout_ms = request_timeout_ms));
}

static void stage_fini(struct stage *stage)
{
    handler_log_free(stage->log);
    smq_client_free(stage->client);
}

/* The token of slot 0 as one server has it; "" if it has none. */
static void token_at(char out[64], const struct stage *stage, const struct server *server)
{
    redisContext *redis = redisConnect("127.0.0.1", server_port(server));
    redisReply *reply;

    assert_non_null(redis);
    assert_int_equal(redis->err, 0);
    freeReplyObject(redisCommand(redis, "READONLY"));
    reply = redisCommand(redis, "HGET %s token", stage->slot);
    assert_non_null(reply);
    snprintf(out, 64, "%s", reply->type == REDIS_REPLY_STRING ? reply->str : "");
    freeReplyObject(reply);
    redisFree(redis);
}

/* Does a WAIT block a connection of the master? */
static bool is_blocked(void *arg)
{
    const struct stage *stage = arg;
    redisReply *reply = keys_command_at(stage->master, "INFO clients");
    bool blocked = strstr(reply->str, "blocked_clients:0") == NULL;

    freeReplyObject(reply);
    return blocked;
}

/* Is the token stored, and does a WAIT of the new owner block its connection? */
static bool is_waiting(void *arg)
{
    const struct stage *stage = arg;
    bool waiting = is_blocked(arg);
    char token[64];

    token_at(token, stage, stage->master);
    return waiting && token[0] != '\0';
}

static void no_handler_begins_before_the_replica_knows_the_owner(void **state)
{
    struct stage stage;
    smq_consumer *worker;
    char token[64];

    stage_init(&stage, 1, LONGEST_MS);
    messages_send(stage.client, stage.topic, (struct test_message){.body = "a"});
    server_pause(stage.replica);
    worker = handler_log_worker(stage.client, stage.topic, stage.log);
    assert_true(wait_until(is_waiting, &stage, TIMEOUT_MS));
    assert_int_equal(report_of(&reported.gained), 0);
    assert_int_equal(handler_log_count(stage.log), 0);
    server_resume(stage.replica);
    handler_log_await(stage.log, 1);
    token_at(token, &stage, stage.replica);
    assert_string_equal(token, handler_log_seen(stage.log, 0).token);
    assert_int_equal(report_of(&reported.without_replicas), 0);
    handler_log_stop_worker(worker);
    stage_fini(&stage);
}

/* A worker that is stopped while it waits neither begins nor keeps the slot. */
/* The grant of a fleet in Redis is known by a replica of the tree's master, too, which has no slot
 * of the topic. */
static void no_handler_begins_before_a_replica_knows_the_grant(void **state)
{
    struct server *master = tree_master();
    struct server *replica = replica_of(master);
    const smq_client_options client =
        SMQ_CLIENT_OPTIONS(.request_timeout_ms = LONGEST_MS, .session_timeout_ms = 2000);
    struct stage stage;
    smq_consumer *worker;

    (void) state;
    stage_init_with(&stage, 1, client);
    server_pause(replica);
    worker = handler_log_worker(stage.client, stage.topic, stage.log);
    messages_send(stage.client, stage.topic, (struct test_message){.body = "a"});
    stage.master = master;
    assert_true(wait_until(is_blocked, &stage, TIMEOUT_MS));
    assert_int_equal(handler_log_count(stage.log), 0);
    server_resume(replica);
    handler_log_await(stage.log, 1);
    assert_int_equal(report_of(&reported.without_replicas), 0);
    handler_log_stop_worker(worker);
    stage_fini(&stage);
}

static void a_stop_does_not_wait_for_the_handlers(void **state)
{
    struct stage stage;
    smq_consumer *worker;

    stage_init(&stage, 1, LONGEST_MS);
    messages_send(stage.client, stage.topic, (struct test_message){.body = "a"});
    server_pause(stage.replica);
    worker = handler_log_worker(stage.client, stage.topic, stage.log);
    assert_true(wait_until(is_waiting, &stage, TIMEOUT_MS));
    smq_consumer_stop(worker);
    server_resume(stage.replica);
    handler_log_stop_worker(worker);
    assert_int_equal(handler_log_count(stage.log), 0);
    assert_int_equal(messages_stats(stage.client, stage.topic).waiting, 1);
    stage_fini(&stage);
}

static bool has_no_replica(void *arg)
{
    redisReply *reply = keys_command_at(arg, "ROLE");
    bool none = reply->elements == 3 && reply->element[2]->elements == 0;

    freeReplyObject(reply);
    return none;
}

static bool has_a_replica(void *arg)
{
    return !has_no_replica(arg);
}

/* The slots of other servers have their replicas, and the messages of all are handled. */
static void a_missing_replica_is_said_once_and_stops_nobody(void **state)
{
    struct stage stage;
    smq_consumer *worker;

    stage_init(&stage, SLOTS, BRIEF_MS);
    messages_send_numbers(stage.client, stage.topic, 0, 4 * SLOTS);
    server_stop(stage.replica);
    assert_true(wait_until(has_no_replica, stage.master, TIMEOUT_MS));
    worker = handler_log_worker(stage.client, stage.topic, stage.log);
    handler_log_await(stage.log, 4 * SLOTS);
    assert_true(wait_until(is_gained, &(int){SLOTS}, TIMEOUT_MS));
    assert_int_equal(report_of(&reported.without_replicas), 1);
    handler_log_stop_worker(worker);
    assert_true(server_restart(stage.replica));
    assert_true(wait_until(has_a_replica, stage.master, TIMEOUT_MS));
    worker = handler_log_worker(stage.client, stage.topic, stage.log);
    assert_true(wait_until(is_gained, &(int){2 * SLOTS}, TIMEOUT_MS));
    assert_int_equal(report_of(&reported.without_replicas), 1);
    handler_log_stop_worker(worker);
    stage_fini(&stage);
}

/* What the window of a failover is about: an owner whose handlers have begun is still the owner. */
static void an_owner_outlives_the_master_of_its_slot(void **state)
{
    struct stage stage;
    smq_consumer *worker;
    char token[64];

    stage_init(&stage, 1, LONGEST_MS);
    worker = handler_log_worker(stage.client, stage.topic, stage.log);
    assert_true(wait_until(is_gained, &(int){1}, TIMEOUT_MS));
    server_kill(stage.master);
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    token_at(token, &stage, stage.replica);
    assert_string_equal(token, reported.token);
    messages_send(stage.client, stage.topic, (struct test_message){.body = "a"});
    handler_log_await(stage.log, 1);
    assert_string_equal(handler_log_seen(stage.log, 0).token, token);
    assert_int_equal(report_of(&reported.lost_tokens), 0);
    assert_true(server_restart(stage.master));
    handler_log_stop_worker(worker);
    stage_fini(&stage);
}

TEST_GROUP(takeover_replicas)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(no_handler_begins_before_the_replica_knows_the_owner, set_up),
        cmocka_unit_test_setup(no_handler_begins_before_a_replica_knows_the_grant, set_up),
        cmocka_unit_test_setup(a_stop_does_not_wait_for_the_handlers, set_up),
        cmocka_unit_test_setup(a_missing_replica_is_said_once_and_stops_nobody, set_up),
        cmocka_unit_test_setup(an_owner_outlives_the_master_of_its_slot, set_up),
    };

    return cmocka_run_group_tests_name("takeover_replicas", tests, start, cluster_end);
}
