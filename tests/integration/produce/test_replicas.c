/* test_replicas.c - sends that replicas must have, too, on three masters with one replica each. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { MASTERS = 3, SLOTS = 8, SHORT_MS = 1500, LONG_MS = 60000, LONGEST_MS = 600000 };

static int start(void **state)
{
    struct servers_options options = {
        .redis = REDIS_CLUSTER, .masters = MASTERS, .replicas = 1, .node_timeout_ms = 1000};

    return cluster_start(&options);
}

/* A topic, a producer that asks for a replica, and the replica of slot 0. */
struct sending {
    smq_client *client;
    smq_producer *producer, *plain;
    const char *topic;
    char store[64];
    struct server *replica;
};

static smq_producer *producer_with(smq_client *client, int32_t replicas, int64_t send_timeout_ms)
{
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    smq_producer_options options =
        SMQ_PRODUCER_OPTIONS(.replicas = replicas, .send_timeout_ms = send_timeout_ms);
    assert_ok(smq_producer_new(&producer, client, &options, &err), &err);
    return producer;
}

static size_t replica_number(const char *key)
{
    struct server *master = servers_node_of(cluster_servers(), key);
    size_t number = 0;

    while (number < MASTERS && servers_node(cluster_servers(), number) != master) {
        number++;
    }
    assert_true(number < MASTERS);
    return number;
}

static void sending_init(struct sending *sending, int32_t slots, int64_t send_timeout_ms)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = slots);
    memset(sending, 0, sizeof(*sending));
    sending->client = cluster_client();
    sending->topic = cluster_topic(sending->client, &options);
    sending->producer = producer_with(sending->client, 1, send_timeout_ms);
    sending->plain = producer_with(sending->client, 0, 0);
    snprintf(sending->store, sizeof(sending->store), "%s_0", sending->topic);
    sending->replica = servers_node(cluster_servers(), MASTERS + replica_number(sending->store));
}

static void sending_fini(struct sending *sending)
{
    smq_producer_free(sending->producer);
    smq_producer_free(sending->plain);
    smq_client_free(sending->client);
}

static smq_status send_by(smq_producer *producer, const char *topic, const char *body,
                          smq_receipt *receipt, smq_error *err)
{
    smq_message message = SMQ_MESSAGE(.body = smq_text(body));
    err->text[0] = '\0';
    return smq_send(producer, topic, &message, receipt, err);
}

static void must_send(smq_producer *producer, const char *topic, const char *body)
{
    smq_error err;

    assert_ok(send_by(producer, topic, body, NULL, &err), &err);
}

static redisContext *reading(const struct server *server)
{
    redisContext *context = redisConnect("127.0.0.1", server_port(server));

    assert_non_null(context);
    assert_int_equal(context->err, 0);
    freeReplyObject(redisCommand(context, "READONLY"));
    return context;
}

struct stored {
    redisContext *context;
    const char *store;
    int64_t count; /* of the set; -1: the server refused to say */
};

static bool is_told(void *arg)
{
    struct stored *stored = arg;

    stored->count = keys_read_number(stored->context, "ZCARD %s", stored->store);
    return stored->count >= 0;
}

/* How many messages are stored in slot 0 of a server, master or replica.  One that was just started
 * refuses reads until it knows the state of its cluster, also if it has all data already. */
static int64_t waiting_at(const struct server *server, const char *store)
{
    struct stored stored = {.context = reading(server), .store = store};

    assert_true(wait_until(is_told, &stored, LONG_MS));
    redisFree(stored.context);
    return stored.count - 1;
}

/* --- enough ---------------------------------------------------------------------------------- */

static void what_is_acknowledged_is_on_the_replica(void **state)
{
    struct sending sending;
    redisContext *replicas[MASTERS] = {NULL};
    smq_receipt receipt;
    smq_error err;

    sending_init(&sending, SLOTS, 0);
    for (size_t i = 0; i < MASTERS; i++) {
        replicas[i] = reading(servers_node(cluster_servers(), MASTERS + i));
    }
    for (int i = 0; i < 300; i++) {
        char body[32], store[64];

        snprintf(body, sizeof(body), "message-%d", i);
        assert_ok(send_by(sending.producer, sending.topic, body, &receipt, &err), &err);
        snprintf(store, sizeof(store), "%s_%d", sending.topic, (int) receipt.slot);
        assert_true(keys_read_number(replicas[replica_number(store)], "ZRANK %s %s", store, body) >=
                    0);
    }
    for (size_t i = 0; i < MASTERS; i++) {
        redisFree(replicas[i]);
    }
    sending_fini(&sending);
}

struct receipts {
    pthread_mutex_t lock;
    int ok, other;
};

static void on_sent(const smq_receipt *receipt, void *user)
{
    struct receipts *receipts = user;

    pthread_mutex_lock(&receipts->lock);
    receipts->ok += receipt->status == SMQ_OK ? 1 : 0;
    receipts->other += receipt->status != SMQ_OK ? 1 : 0;
    pthread_mutex_unlock(&receipts->lock);
}

static int total(struct receipts *receipts)
{
    pthread_mutex_lock(&receipts->lock);
    int count = receipts->ok + receipts->other;
    pthread_mutex_unlock(&receipts->lock);
    return count;
}

static void send_async(smq_producer *producer, const char *topic, int from, int count,
                       struct receipts *receipts)
{
    for (int i = from; i < from + count; i++) {
        smq_message message = SMQ_MESSAGE_INIT;
        char body[32];
        smq_error err;

        snprintf(body, sizeof(body), "message-%d", i);
        message.body = smq_text(body);
        assert_ok(smq_send_async(producer, topic, &message, on_sent, receipts, &err), &err);
    }
}

static void many_are_acknowledged_together(void **state)
{
    enum { COUNT = 50000 };
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sending sending;
    smq_error err;

    sending_init(&sending, SLOTS, LONG_MS);
    send_async(sending.producer, sending.topic, 0, COUNT, &receipts);
    assert_ok(smq_producer_flush(sending.producer, LONG_MS, &err), &err);
    assert_int_equal(receipts.ok, COUNT);
    assert_int_equal(messages_stats(sending.client, sending.topic).waiting, COUNT);
    sending_fini(&sending);
}

/* --- fewer ----------------------------------------------------------------------------------- */

static void a_replica_that_stands_still_makes_it_unknown(void **state)
{
    struct sending sending;
    smq_receipt receipt;
    smq_error err;

    sending_init(&sending, 1, SHORT_MS);
    must_send(sending.producer, sending.topic, "before");
    server_pause(sending.replica);
    assert_int_equal(send_by(sending.producer, sending.topic, "meanwhile", &receipt, &err),
                     SMQ_UNKNOWN);
    print_message("%s\n", err.text);
    assert_int_equal(receipt.status, SMQ_UNKNOWN);
    assert_non_null(strstr(err.text, "stored, but"));
    assert_non_null(strstr(err.text, "0 of 1 replicas acknowledged"));
    assert_int_equal(messages_stats(sending.client, sending.topic).waiting, 2);
    server_resume(sending.replica);
    must_send(sending.producer, sending.topic, "after");
    assert_int_equal(waiting_at(sending.replica, sending.store), 3);
    sending_fini(&sending);
}

/* Consumers and other producers of the same node continue; what waits is stored once. */
static void others_do_not_wait_for_the_replica(void **state)
{
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct handler_log *log = handler_log_new(NULL);
    struct sending sending;
    smq_consumer *worker;
    redisContext *redis;
    char slot[64];
    smq_error err;

    sending_init(&sending, 1, LONGEST_MS);
    must_send(sending.producer, sending.topic, "before");
    worker = handler_log_worker(sending.client, sending.topic, log);
    handler_log_await(log, 1);
    server_pause(sending.replica);
    send_async(sending.producer, sending.topic, 0, 5, &receipts);
    handler_log_await(log, 2); /* stored, and handled, but not acknowledged */
    for (int i = 0; i < 20; i++) {
        char body[16];
        snprintf(body, sizeof(body), "plain-%d", i);
        must_send(sending.plain, sending.topic, body);
    }
    assert_int_equal(total(&receipts), 0);
    server_resume(sending.replica);
    assert_ok(smq_producer_flush(sending.producer, LONG_MS, &err), &err);
    assert_int_equal(receipts.ok, 5);
    handler_log_await(log, 1 + 5 + 20);
    messages_await_counts(sending.client, sending.topic, (struct message_counts){0, 0, 0, 0, 26});
    redis = keys_connect_to(sending.topic);
    snprintf(slot, sizeof(slot), "slot{%s_0}", sending.topic);
    assert_int_equal(keys_read_number(redis, "HGET %s sent", slot), 26);
    redisFree(redis);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    sending_fini(&sending);
}

static void more_replicas_than_there_are_is_said(void **state)
{
    struct sending sending;
    smq_producer *greedy;
    smq_receipt receipt;
    smq_error err;

    sending_init(&sending, 1, 0);
    greedy = producer_with(sending.client, 2, SHORT_MS);
    assert_int_equal(send_by(greedy, sending.topic, "x", &receipt, &err), SMQ_UNAVAILABLE);
    print_message("%s\n", err.text);
    assert_int_equal(receipt.status, SMQ_UNAVAILABLE);
    assert_non_null(strstr(err.text, "it has 1 replicas in sync, but 2 must acknowledge"));
    assert_int_equal(messages_stats(sending.client, sending.topic).waiting, 0);
    smq_producer_free(greedy);
    sending_fini(&sending);
}

struct link {
    redisContext *redis;
    int64_t replicas;
};

static bool has_replicas(void *arg)
{
    const struct link *link = arg;
    redisReply *reply = redisCommand(link->redis, "ROLE");
    bool so = reply->elements == 3 && (int64_t) reply->element[2]->elements == link->replicas;

    freeReplyObject(reply);
    return so;
}

static void a_lost_replica_is_said_and_its_return_is_noticed(void **state)
{
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sending sending;
    struct link link;
    smq_producer *brief;
    smq_error err;

    sending_init(&sending, 1, LONGEST_MS);
    brief = producer_with(sending.client, 1, SHORT_MS);
    link = (struct link){.redis = keys_connect_to(sending.topic)};
    server_stop(sending.replica);
    assert_true(wait_until(has_replicas, &link, LONG_MS));
    assert_int_equal(send_by(brief, sending.topic, "x", NULL, &err), SMQ_UNAVAILABLE);
    assert_non_null(strstr(err.text, "it has 0 replicas in sync"));
    send_async(sending.producer, sending.topic, 0, 3, &receipts);
    assert_true(server_restart(sending.replica));
    assert_ok(smq_producer_flush(sending.producer, LONGEST_MS, &err), &err);
    assert_int_equal(receipts.ok, 3);
    assert_int_equal(waiting_at(sending.replica, sending.store), 3);
    redisFree(link.redis);
    smq_producer_free(brief);
    sending_fini(&sending);
}

/* --- failover -------------------------------------------------------------------------------- */

struct some {
    struct receipts *receipts;
    int count;
};

static bool has_some(void *arg)
{
    const struct some *some = arg;

    return total(some->receipts) >= some->count;
}

/* What was not acknowledged is repeated; the new master gets its replica when the old one is back.
 */
static void what_was_acknowledged_outlives_its_master(void **state)
{
    enum { COUNT = 10000 };
    struct receipts receipts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sending sending;
    struct some some = {.receipts = &receipts, .count = COUNT / 2};
    struct server *master;
    smq_error err;

    sending_init(&sending, SLOTS, LONGEST_MS);
    send_async(sending.producer, sending.topic, 0, COUNT, &receipts);
    assert_true(wait_until(has_some, &some, LONG_MS));
    send_async(sending.producer, sending.topic, COUNT, COUNT, &receipts);
    master = servers_node_of(cluster_servers(), sending.store);
    server_kill(master);
    send_async(sending.producer, sending.topic, 2 * COUNT, COUNT, &receipts);
    assert_true(servers_wait(cluster_servers(), LONG_MS));
    assert_true(server_restart(master));
    assert_ok(smq_producer_flush(sending.producer, LONGEST_MS, &err), &err);
    assert_int_equal(receipts.ok, 3 * COUNT);
    assert_int_equal(messages_stats(sending.client, sending.topic).waiting, 3 * COUNT);
    assert_int_equal(waiting_at(master, sending.store), waiting_at(sending.replica, sending.store));
    sending_fini(&sending);
}

/* --- a graceful failover --- */

static atomic_int warnings_of_wait;

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    if (event->level <= SMQ_LEVEL_WARN && strstr(event->text, "WAIT") != NULL) {
        print_message("%s: %s\n", event->id, event->text);
        atomic_fetch_add(&warnings_of_wait, 1);
    }
}

/* The other server of a pair, whichever of them is the master now. */
static struct server *replica_of(const struct server *master)
{
    size_t number = 0;

    while (servers_node(cluster_servers(), number) != master) {
        number++;
    }
    return servers_node(cluster_servers(), (number + MASTERS) % ((size_t) 2 * MASTERS));
}

struct failover {
    smq_producer *producer;
    const char *topic;
    redisContext *replica;
    int sent;
};

static void send_some(struct failover *failover)
{
    smq_error err;

    for (int i = 0; i < 20; i++) {
        char body[16];

        snprintf(body, sizeof(body), "%d", failover->sent++);
        smq_message message = SMQ_MESSAGE(.body = smq_text(body));
        (void) smq_send_async(failover->producer, failover->topic, &message, NULL, NULL, &err);
    }
}

static bool is_master(void *arg)
{
    struct failover *failover = arg;
    redisReply *reply = redisCommand(failover->replica, "ROLE");
    bool master;

    assert_non_null(reply);
    master = strcmp(reply->element[0]->str, "master") == 0;
    freeReplyObject(reply);
    send_some(failover);
    return master;
}

/* The connection for WAIT of the former master is of no use any more; that is nobody's concern. */
static void graceful_failover_is_not_warned_of(void **state)
{
    struct failover failover = {0};
    smq_client *client;
    char store[64];
    redisReply *reply;
    smq_error err;

    smq_client_options options = SMQ_CLIENT_OPTIONS(.event = on_event);
    client = cluster_client_with(&options);
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME);
    failover.topic = cluster_topic(client, &topic);
    failover.producer = producer_with(client, 1, LONG_MS);
    must_send(failover.producer, failover.topic, "before");
    snprintf(store, sizeof(store), "%s_0", failover.topic);
    failover.replica = reading(replica_of(servers_node_of(cluster_servers(), store)));
    reply = redisCommand(failover.replica, "CLUSTER FAILOVER");
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
    assert_true(wait_until(is_master, &failover, TIMEOUT_MS));
    send_some(&failover);
    assert_ok(smq_producer_flush(failover.producer, TIMEOUT_MS, &err), &err);
    redisFree(failover.replica);
    smq_producer_free(failover.producer);
    smq_client_free(client);
    assert_int_equal(atomic_load(&warnings_of_wait), 0);
}

TEST_GROUP(replicas)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_acknowledged_is_on_the_replica),
        cmocka_unit_test(many_are_acknowledged_together),
        cmocka_unit_test(a_replica_that_stands_still_makes_it_unknown),
        cmocka_unit_test(others_do_not_wait_for_the_replica),
        cmocka_unit_test(more_replicas_than_there_are_is_said),
        cmocka_unit_test(a_lost_replica_is_said_and_its_return_is_noticed),
        cmocka_unit_test(what_was_acknowledged_outlives_its_master),
        cmocka_unit_test(graceful_failover_is_not_warned_of),
    };

    return cmocka_run_group_tests_name("replicas", tests, start, cluster_end);
}
