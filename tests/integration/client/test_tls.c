/* test_tls.c - a cluster whose nodes, and those who connect to it, need certificates: messages are
 * sent and handled as without TLS, also over a failover, and the error names why trust is
 * missing. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/heard.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "integration/fixture/tls_cluster.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 16, MESSAGES = 200, ROUNDS = 4, ALL = ROUNDS * MESSAGES, CONNECT_MS = 4000 };

static int start_replicated(void **state)
{
    return tls_cluster_start(1, NULL);
}

/* --- use --- */

static void send_some(smq_producer *producer, const char *topic, int from)
{
    for (int i = from; i < from + MESSAGES; i++) {
        char body[16], key[16];
        smq_message message;

        (void) snprintf(body, sizeof(body), "%d", i);
        (void) snprintf(key, sizeof(key), "key-%d", i);
        message = messages_text(body);
        message.key = smq_text(key);
        (void) messages_send_by(producer, topic, &message);
    }
}

/* Messages of all slots are sent and handled. */
static void send_and_handle(smq_client *client)
{
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_producer *producer = messages_producer(client, NULL);

    send_some(producer, topic, 0);
    handler_log_await(log, MESSAGES);
    messages_await_counts(client, topic, (struct message_counts){.done = MESSAGES});
    smq_producer_free(producer);
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

static void messages_are_handled_over_tls_and_over_a_failover(void **state)
{
    smq_client_options options = tls_cluster_options("client");
    smq_client *client = cluster_client_with(&options);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_producer *producer = messages_producer(client, NULL);

    send_some(producer, topic, 0);
    handler_log_await(log, MESSAGES);
    server_kill(servers_node(cluster_servers(), 0));
    send_some(producer, topic, MESSAGES);
    handler_log_await(log, 2 * MESSAGES);
    messages_await_counts(client, topic, (struct message_counts){.done = -1});
    assert_true(server_restart(servers_node(cluster_servers(), 0)));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    smq_producer_free(producer);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* The connections for WAIT are beside those for other commands. */
static void sends_await_replicas_over_tls(void **state)
{
    smq_client_options options = tls_cluster_options("client");
    smq_client *client = cluster_client_with(&options);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    smq_producer *producer;

    smq_producer_options replicated =
        SMQ_PRODUCER_OPTIONS(.replicas = 1, .send_timeout_ms = TIMEOUT_MS);
    producer = messages_producer(client, &replicated);
    send_some(producer, topic, 0);
    messages_await_counts(client, topic, (struct message_counts){.waiting = MESSAGES});
    smq_producer_free(producer);
    smq_client_free(client);
}

/* --- names --- */

/* Does the node know the names of all, itself included? */
static bool node_names_all(const struct server *node)
{
    redisReply *map = keys_command_at(node, "CLUSTER SLOTS");
    bool all = true;

    for (size_t i = 0; i < map->elements; i++) {
        const redisReply *host = map->element[i]->element[2]->element[0];

        all = all && host->type == REDIS_REPLY_STRING && strcmp(host->str, "localhost") == 0;
    }
    freeReplyObject(map);
    return all;
}

static bool all_are_named(void *arg)
{
    (void) arg;
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        if (!node_names_all(servers_node(cluster_servers(), i))) {
            return false;
        }
    }
    return true;
}

/* "rediss://localhost:7002", of one of them. */
static void name_a_server(char *out, size_t size)
{
    const char *all = servers_redis_tls(cluster_servers()); /* "rediss://127.0.0.1:7002,..." */
    const char *port = strrchr(all, ':');

    (void) snprintf(out, size, "rediss://localhost%s", port);
}

/* The certificate is for no address, so a client that goes by addresses trusts no node. */
static void names_that_nodes_announce_are_what_certificates_are_for(void **state)
{
    static const char *const config[] = {"cluster-announce-hostname localhost",
                                         "cluster-preferred-endpoint-type hostname", NULL};
    smq_client_options options;
    smq_client *client = NULL;
    char redis[64];
    smq_error err;

    assert_int_equal(tls_cluster_start(0, config), 0);
    assert_true(wait_until(all_are_named, NULL, TIMEOUT_MS));
    tls_cluster_show("named");
    options = tls_cluster_options("client");
    assert_int_equal(smq_client_new(&client, &options, &err), SMQ_BAD_SERVER);
    name_a_server(redis, sizeof(redis));
    options.redis = redis;
    client = cluster_client_with(&options);
    send_and_handle(client);
    smq_client_free(client);
    assert_int_equal(tls_cluster_end(NULL), 0);
}

/* --- sessions --- */

static bool is_subscribed(void *arg)
{
    size_t subscribed = 0;

    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        redisReply *channels =
            keys_command_at(servers_node(cluster_servers(), i), "PUBSUB SHARDCHANNELS wake{%s_*",
                            (const char *) arg);

        subscribed += channels->elements;
        freeReplyObject(channels);
    }
    return subscribed == SLOTS;
}

/* Redis 7.0 gives sessions all the same, and ends every handshake that resumes one: once is enough.
 * Other servers may give none. */
static void servers_that_refuse_their_sessions_are_offered_none(void **state)
{
    static const char *const config[] = {"tls-session-caching no", NULL};
    struct heard *heard = heard_new("alert internal error");
    struct handler_log *log = handler_log_new(NULL);
    smq_client_options options;
    smq_client *client;
    smq_producer *producer;
    smq_consumer *worker;
    const char *topic;
    int refused = 0;

    assert_int_equal(tls_cluster_start(0, config), 0);
    options = tls_cluster_options("client");
    heard_listen(heard, &options);
    client = cluster_client_with(&options);
    producer = messages_producer(client, NULL);
    topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    worker = handler_log_worker(client, topic, log);
    for (int i = 1; i <= ROUNDS; i++) {
        assert_true(wait_until(is_subscribed, (void *) topic, TIMEOUT_MS));
        refused = i == 1 ? atomic_load(&heard->marked) : refused;
        send_some(producer, topic, 0);
        handler_log_await(log, i * MESSAGES);
        if (i < ROUNDS) {
            tls_cluster_cut();
        }
    }
    messages_await_counts(client, topic, (struct message_counts){.done = ALL});
    assert_int_equal(atomic_load(&heard->errors), 0);
    print_message("%d sessions were refused at first\n", refused);
    assert_int_equal(atomic_load(&heard->marked), refused);
    smq_producer_free(producer);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
    heard_free(heard);
    assert_int_equal(tls_cluster_end(NULL), 0);
}

/* --- who is not trusted --- */

/* In the time that it may take. */
static smq_status connect_to(const char *redis, const smq_client_options *from, smq_error *err)
{
    smq_client_options options = *from;
    smq_client *client = NULL;
    int64_t began_ms = clock_now_ms();
    smq_status status;

    options.redis = redis;
    options.connect_timeout_ms = CONNECT_MS;
    status = smq_client_new(&client, &options, err);
    assert_true(clock_now_ms() - began_ms <= CONNECT_MS);
    smq_client_free(client);
    return status;
}

static void errors_name_why_trust_is_missing(void **state)
{
    const char *tls = servers_redis_tls(cluster_servers());
    const char *plain = servers_redis(cluster_servers());
    smq_client_options options = tls_cluster_options("client");
    char tls_to_plain[4096];
    smq_error err;

    assert_ok(connect_to(tls, &options, &err), &err);
    options.tls_ca = tls_cluster_path("other_ca.crt");
    assert_int_equal(connect_to(tls, &options, &err), SMQ_BAD_SERVER);
    assert_non_null(strstr(err.text, "its certificate cannot be trusted"));
    options = tls_cluster_options("client");
    options.tls_name = "redis.example";
    assert_ok(connect_to(tls, &options, &err), &err);
    options.tls_name = "wrong.example";
    assert_int_equal(connect_to(tls, &options, &err), SMQ_BAD_SERVER);
    assert_non_null(strstr(err.text, "not for \"wrong.example\""));
    options = tls_cluster_options("stranger");
    assert_int_equal(connect_to(tls, &options, &err), SMQ_DENIED);
    assert_non_null(strstr(err.text, "tls_cert"));
    options.tls_cert = options.tls_key = NULL;
    assert_int_equal(connect_to(tls, &options, &err), SMQ_DENIED);
    assert_non_null(strstr(err.text, "certificate required"));
    (void) snprintf(tls_to_plain, sizeof(tls_to_plain), "rediss://%s", plain);
    assert_true(connect_to(tls_to_plain, &options, &err) != SMQ_OK);
    assert_non_null(strstr(err.text, "speak TLS"));
    assert_int_equal(connect_to(plain, &options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "tls_ca is for TLS"));
}

static void a_certificate_that_has_expired_is_named(void **state)
{
    smq_client_options options = tls_cluster_options("client");
    smq_error err;

    tls_cluster_show("expired");
    assert_int_equal(connect_to(servers_redis_tls(cluster_servers()), &options, &err),
                     SMQ_BAD_SERVER);
    assert_non_null(strstr(err.text, "its certificate cannot be trusted: certificate has expired"));
    tls_cluster_show("server");
}

TEST_GROUP(tls)
{
    const struct CMUnitTest replicated[] = {
        cmocka_unit_test(messages_are_handled_over_tls_and_over_a_failover),
        cmocka_unit_test(sends_await_replicas_over_tls),
        cmocka_unit_test(errors_name_why_trust_is_missing),
        cmocka_unit_test(a_certificate_that_has_expired_is_named),
    };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(names_that_nodes_announce_are_what_certificates_are_for),
        cmocka_unit_test(servers_that_refuse_their_sessions_are_offered_none),
    };
    int failed =
        cmocka_run_group_tests_name("replicated", replicated, start_replicated, tls_cluster_end);

    return failed + cmocka_run_group_tests_name("others", others, NULL, NULL);
}
