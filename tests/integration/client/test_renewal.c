/* test_renewal.c - certificates that are renewed in the wrong order, while all connections are cut:
 * workers and sends wait, an event says once why, and when it has the time a send does, too. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/heard.h"
#include "integration/fixture/messages.h"
#include "integration/fixture/tls_cluster.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 16, MESSAGES = 50, ALL = 2 * MESSAGES, SEND_MS = 2000, BOUND_MS = 2 * SEND_MS };

/* The files of the clients. */
static void install(const char *who)
{
    char file[64];

    (void) snprintf(file, sizeof(file), "%s.crt", who);
    tls_cluster_copy("now.crt", file);
    (void) snprintf(file, sizeof(file), "%s.key", who);
    tls_cluster_copy("now.key", file);
}

static int start(void **state)
{
    if (tls_cluster_start(0, NULL) != 0) {
        return -1;
    }
    install("client");
    tls_cluster_copy("now_ca.crt", "ca.crt");
    return 0;
}

static smq_client *client_of(struct heard *heard)
{
    smq_client_options options = tls_cluster_options("now");

    options.tls_ca = tls_cluster_path("now_ca.crt");
    heard_listen(heard, &options);
    return cluster_client_with(&options);
}

static smq_producer *producer_of(smq_client *client, int64_t send_timeout_ms)
{
    smq_producer_options options = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = send_timeout_ms);
    return messages_producer(client, &options);
}

/* --- what goes wrong, and how it is put right --- */

static void client_too_early(void)
{
    install("stranger");
}

static void client_right(void)
{
    install("client");
}

static void server_too_early(void)
{
    tls_cluster_show("renewed");
}

static void authority_follows(void)
{
    tls_cluster_copy("now_ca.crt", "other_ca.crt");
}

static void authority_away(void)
{
    assert_int_equal(unlink(tls_cluster_path("now_ca.crt")), 0);
}

static void authority_back(void)
{
    tls_cluster_copy("now_ca.crt", "ca.crt");
}

static void server_expired(void)
{
    tls_cluster_show("expired");
}

static void server_right(void)
{
    tls_cluster_show("server");
}

static const struct trouble {
    const char *name;
    void (*begin)(void), (*end)(void);
    const char *said;
} troubles[] = {
    {"the client's certificate comes before the servers trust it", client_too_early, client_right,
     "it refuses the certificate of this client (tls_cert)"},
    {"the servers' certificate comes before the clients trust it", server_too_early,
     authority_follows, "its certificate cannot be trusted"},
    {"the authorities come late", authority_away, authority_back, "tls_ca"},
    {"the servers' certificate expires", server_expired, server_right,
     "its certificate cannot be trusted: certificate has expired"},
};

static void put_right(void)
{
    install("client");
    tls_cluster_copy("now_ca.crt", "ca.crt");
    tls_cluster_show("server");
}

/* --- workers and sends live through it --- */

static void on_sent(const smq_receipt *receipt, void *user)
{
    atomic_fetch_add((atomic_int *) user, receipt->status != SMQ_OK);
}

static void send_without_waiting(smq_producer *producer, const char *topic, atomic_int *failed)
{
    smq_error err;

    for (int i = 0; i < MESSAGES; i++) {
        char body[16], key[16];
        smq_message message;

        (void) snprintf(body, sizeof(body), "%d", i);
        (void) snprintf(key, sizeof(key), "key-%d", i);
        message = messages_text(body);
        message.key = smq_text(key);
        assert_ok(smq_send_async(producer, topic, &message, on_sent, failed, &err), &err);
    }
}

static void live_through(const struct trouble *trouble)
{
    struct heard *heard = heard_new("it is tried again");
    smq_client *client = client_of(heard);
    smq_producer *producer = producer_of(client, TIMEOUT_MS);
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    atomic_int failed = 0;
    smq_error err;

    print_message("%s\n", trouble->name);
    send_without_waiting(producer, topic, &failed);
    handler_log_await(log, MESSAGES);
    trouble->begin();
    tls_cluster_cut();
    send_without_waiting(producer, topic, &failed);
    heard_await_error(heard, trouble->said);
    trouble->end();
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    handler_log_await(log, ALL);
    messages_await_counts(client, topic, (struct message_counts){.done = ALL});
    assert_int_equal(atomic_load(&failed), 0);
    assert_int_equal(atomic_load(&heard->stopped), 0);
    assert_int_equal(atomic_load(&heard->errors), 1);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_producer_free(producer);
    smq_client_free(client);
    heard_free(heard);
    put_right();
}

static void certificates_that_come_late_end_no_worker_and_no_send(void **state)
{
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
        live_through(&troubles[i]);
    }
}

/* --- a send whose time has ended --- */

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

static void fail_in_time(const struct trouble *trouble)
{
    struct heard *heard = heard_new("it is tried again");
    smq_client *client = client_of(heard);
    struct sending sending = {.producer = producer_of(client, SEND_MS)};
    smq_error err = SMQ_ERROR_INIT;

    print_message("%s\n", trouble->name);
    sending.topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    assert_ok(send_one(&sending, &err), &err);
    trouble->begin();
    assert_ok(send_one(&sending, &err), &err); /* its connections live on */
    tls_cluster_cut();
    int64_t began_ms = clock_now_ms();
    assert_int_equal(send_one(&sending, &err), SMQ_UNAVAILABLE);
    int64_t took_ms = clock_now_ms() - began_ms;
    if (strstr(err.text, trouble->said) == NULL) {
        fail_msg("%s", err.text);
    }
    print_message("after %lld ms: %s\n", (long long) took_ms, err.text);
    assert_true(took_ms <= BOUND_MS);
    trouble->end();
    assert_true(wait_until(is_sent, &sending, TIMEOUT_MS));
    smq_producer_free(sending.producer);
    smq_client_free(client);
    heard_free(heard);
    put_right();
}

static void a_send_whose_time_has_ended_says_what_is_wrong(void **state)
{
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
        fail_in_time(&troubles[i]);
    }
}

TEST_GROUP(renewal)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certificates_that_come_late_end_no_worker_and_no_send),
        cmocka_unit_test(a_send_whose_time_has_ended_says_what_is_wrong),
    };

    return cmocka_run_group_tests_name("renewal", tests, start, tls_cluster_end);
}
