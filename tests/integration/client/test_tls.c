/* test_tls.c - a cluster whose nodes, and those who connect to it, need certificates: messages are
 * sent and handled as without TLS, also over a failover, and the error names why trust is
 * missing. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/certificates.h"
#include "support/server.h"
#include "support/wait.h"

enum { YEAR_S = 365 * 24 * 60 * 60, SLOTS = 16, MESSAGES = 200 };

static char folder[] = "/tmp/slotmq-tls-XXXXXX";

static const char *path_of(const char *file)
{
    return certificate_path(folder, file);
}

static int start(void **state)
{
    static const struct certificate all[] = {
        {"ca", NULL, NULL, YEAR_S},
        {"other_ca", NULL, NULL, YEAR_S},
        {"server", "ca", "DNS:redis.example,IP:127.0.0.1", YEAR_S},
        {"client", "ca", NULL, YEAR_S},
        {"stranger", "other_ca", NULL, YEAR_S},
    };

    (void) state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        certificate_make(folder, &all[i]);
    }
    return cluster_start(
        &(struct servers_options){.redis = REDIS_CLUSTER, .replicas = 1, .tls_folder = folder});
}

static int end(void **state)
{
    folder_remove(folder);
    return cluster_end(state);
}

/* The files are those of `who`. */
static smq_client_options trusted(const char *who)
{
    char crt[64], key[64];
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;

    (void) snprintf(crt, sizeof(crt), "%s.crt", who);
    (void) snprintf(key, sizeof(key), "%s.key", who);
    options.redis = servers_redis_tls(cluster_servers());
    options.tls_ca = path_of("ca.crt");
    options.tls_cert = path_of(crt);
    options.tls_key = path_of(key);
    return options;
}

/* --- use --- */

static void send_some(smq_client *client, const char *topic, int from)
{
    for (int i = from; i < from + MESSAGES; i++) {
        char body[16], key[16];

        (void) snprintf(body, sizeof(body), "%d", i);
        (void) snprintf(key, sizeof(key), "key-%d", i);
        messages_send(client, topic, (struct test_message){.body = body, .key = key});
    }
}

static void messages_are_handled_over_tls_and_over_a_failover(void **state)
{
    smq_client_options options = trusted("client");
    smq_client *client = cluster_client_with(&options);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *log = handler_log_new(NULL);
    smq_worker *worker = handler_log_worker(client, topic, log);

    (void) state;
    send_some(client, topic, 0);
    handler_log_await(log, MESSAGES);
    server_kill(servers_node(cluster_servers(), 0));
    send_some(client, topic, MESSAGES);
    handler_log_await(log, 2 * MESSAGES);
    messages_await_counts(client, topic, (struct message_counts){0, 0, 0, 0, -1});
    assert_true(server_restart(servers_node(cluster_servers(), 0)));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* --- who is not trusted --- */

static smq_status connect_to(const char *redis, const smq_client_options *from, smq_error *err)
{
    smq_client_options options = *from;
    smq_client *client = NULL;
    smq_status status;

    options.redis = redis;
    options.connect_timeout_ms = 2000;
    status = smq_client_new(&client, &options, err);
    smq_client_free(client);
    return status;
}

static void errors_name_why_trust_is_missing(void **state)
{
    const char *tls = servers_redis_tls(cluster_servers());
    const char *plain = servers_redis(cluster_servers());
    smq_client_options options = trusted("client");
    char tls_to_plain[4096];
    smq_error err;

    (void) state;
    assert_ok(connect_to(tls, &options, &err), &err);
    options.tls_ca = path_of("other_ca.crt");
    assert_int_equal(connect_to(tls, &options, &err), SMQ_BAD_SERVER);
    assert_non_null(strstr(err.text, "its certificate cannot be trusted"));
    options = trusted("client");
    options.tls_name = "redis.example";
    assert_ok(connect_to(tls, &options, &err), &err);
    options.tls_name = "wrong.example";
    assert_int_equal(connect_to(tls, &options, &err), SMQ_BAD_SERVER);
    assert_non_null(strstr(err.text, "not for \"wrong.example\""));
    options = trusted("stranger");
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

/* --- rotation --- */

static void install(const char *certificate, const char *key)
{
    certificate_copy(folder, "now.crt", certificate);
    certificate_copy(folder, "now.key", key);
}

static void cut_connections(void)
{
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        freeReplyObject(keys_command_at(servers_node(cluster_servers(), i),
                                        "CLIENT KILL TYPE normal SKIPME yes"));
    }
}

struct sending {
    smq_producer *producer;
    const char *topic;
};

static smq_status send_one(const struct sending *sending, smq_error *err)
{
    smq_message message = messages_text("text");

    return smq_send(sending->producer, sending->topic, &message, NULL, err);
}

static bool is_sent(void *arg)
{
    smq_error err;

    return send_one(arg, &err) == SMQ_OK;
}

static void a_certificate_that_is_replaced_is_taken_at_the_next_connection(void **state)
{
    struct sending sending;
    smq_error err;

    (void) state;
    install("client.crt", "client.key");
    smq_client_options options = trusted("now");
    smq_client *client = cluster_client_with(&options);
    sending.topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    sending.producer = messages_producer(client, NULL);
    assert_ok(send_one(&sending, &err), &err);
    install("stranger.crt", "stranger.key");
    assert_ok(send_one(&sending, &err), &err); /* its connections live on */
    cut_connections();
    assert_int_equal(send_one(&sending, &err), SMQ_DENIED);
    assert_non_null(strstr(err.text, "it refuses the certificate of this client"));
    install("client.crt", "client.key");
    assert_true(wait_until(is_sent, &sending, TIMEOUT_MS));
    smq_producer_free(sending.producer);
    smq_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_handled_over_tls_and_over_a_failover),
        cmocka_unit_test(errors_name_why_trust_is_missing),
        cmocka_unit_test(a_certificate_that_is_replaced_is_taken_at_the_next_connection),
    };

    return cmocka_run_group_tests(tests, start, end);
}
