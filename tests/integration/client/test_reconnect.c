/* test_reconnect.c - many clients lose their connections at the same time, and a process that
 * cannot open anything any more. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/certificates.h"
#include "support/group.h"
#include "support/long_form.h"
#include "support/server.h"
#include "support/wait.h"

enum {
    MASTERS = 3,
    SLOTS = 16,
    ROUNDS = 2,
    CROWD_MIN = 40,
    CLIENT_DESCRIPTORS = 6, /* of a client without connections, at most */
    OTHER_DESCRIPTORS = 256,
    DAY_S = 24 * 60 * 60
};

static char folder[] = "/tmp/slotmq-reconnect-XXXXXX";

/* Clients may use TLS, and need not. */
static int start(void **state)
{
    static const struct certificate all[] = {
        {"ca", NULL, NULL, DAY_S},
        {"server", "ca", "IP:127.0.0.1", DAY_S},
        {"client", "ca", NULL, DAY_S},
    };

    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        certificate_make(folder, &all[i]);
    }
    return cluster_start(&(struct servers_options){
        .redis = REDIS_CLUSTER, .masters = MASTERS, .tls_folder = folder});
}

static int end(void **state)
{
    folder_remove(folder);
    return cluster_end(state);
}

static int64_t kill_connections(void)
{
    int64_t killed = 0;

    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        redisReply *reply = keys_command_at(servers_node(cluster_servers(), i),
                                            "CLIENT KILL TYPE normal SKIPME yes");
        killed += reply->integer;
        freeReplyObject(reply);
    }
    return killed;
}

/* --- many clients -------------------------------------------------------------------------- */

/* Each has its connections, and sends one message a round. */
struct crowd {
    int count;
    smq_client **clients;
    smq_producer **producers;
    atomic_int ok, merged, other;
};

/* Thread: smq:call of each client. */
static void on_sent(const smq_receipt *receipt, void *user)
{
    struct crowd *crowd = user;

    atomic_fetch_add(receipt->status == SMQ_OK ? &crowd->ok : &crowd->other, 1);
    atomic_fetch_add(&crowd->merged, receipt->merged ? 1 : 0);
}

/* All send at the same time, to all masters. */
static void crowd_send(struct crowd *crowd, const char *topic, int round)
{
    for (int i = 0; i < crowd->count; i++) {
        for (int j = 0; j < SLOTS; j++) {
            char body[32];
            smq_message message;
            smq_error err;

            snprintf(body, sizeof(body), "%d-%d-%d", round, i, j);
            message = messages_text(body);
            assert_ok(smq_send_async(crowd->producers[i], topic, &message, on_sent, crowd, &err),
                      &err);
        }
    }
}

static void crowd_flush(struct crowd *crowd)
{
    for (int i = 0; i < crowd->count; i++) {
        smq_error err;

        assert_ok(smq_producer_flush(crowd->producers[i], TIMEOUT_MS, &err), &err);
    }
}

static void crowd_init(struct crowd *crowd, int count, const smq_client_options *options)
{
    smq_producer_options sending = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = TIMEOUT_MS);
    memset(crowd, 0, sizeof(*crowd));
    crowd->count = count;
    crowd->clients = calloc((size_t) count, sizeof(*crowd->clients));
    crowd->producers = calloc((size_t) count, sizeof(*crowd->producers));
    assert_non_null(crowd->clients);
    assert_non_null(crowd->producers);
    for (int i = 0; i < count; i++) {
        crowd->clients[i] = cluster_client_with(options);
        crowd->producers[i] = messages_producer(crowd->clients[i], &sending);
    }
}

static void crowd_fini(struct crowd *crowd)
{
    for (int i = 0; i < crowd->count; i++) {
        smq_producer_free(crowd->producers[i]);
        smq_client_free(crowd->clients[i]);
    }
    free(crowd->producers);
    free(crowd->clients);
}

/* As many as wanted, or as the descriptors are enough for: each client has a loop, and a connection
 * to each master.  Fewer than CROWD_MIN are no crowd, and fail the test. */
static int crowd_count(int wanted)
{
    struct rlimit limit;
    rlim_t most;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    most = limit.rlim_cur > OTHER_DESCRIPTORS
               ? (limit.rlim_cur - OTHER_DESCRIPTORS) / (MASTERS + CLIENT_DESCRIPTORS)
               : 0;
    if (most < CROWD_MIN) {
        fail_msg("%ju descriptors are not enough for %d clients; raise the hard limit",
                 (uintmax_t) limit.rlim_cur, CROWD_MIN);
        return CROWD_MIN; /* never: the test has ended, which no checker of code knows */
    }
    if ((rlim_t) wanted > most) {
        print_message("%ju clients in place of %d: there are no descriptors for more\n",
                      (uintmax_t) most, wanted);
    }
    return (rlim_t) wanted > most ? (int) most : wanted;
}

static void reconnect_crowd(const char *topic, int wanted, const smq_client_options *options)
{
    smq_topic_options topic_options = cluster_topic_options(topic, SMQ_TYPE_FIXED_TIME, SLOTS);
    int count = crowd_count(wanted);
    smq_client *client = cluster_client();
    struct crowd crowd;

    cluster_create_topic(client, &topic_options);
    crowd_init(&crowd, count, options);
    crowd_send(&crowd, topic, 0);
    crowd_flush(&crowd);
    for (int round = 1; round <= ROUNDS; round++) {
        assert_true(kill_connections() >= count);
        crowd_send(&crowd, topic, round);
        crowd_flush(&crowd);
    }
    assert_int_equal(crowd.other, 0);
    assert_int_equal(crowd.merged, 0);
    assert_int_equal(crowd.ok, (1 + ROUNDS) * count * SLOTS);
    assert_int_equal(messages_stats(client, topic).waiting, (1 + ROUNDS) * count * SLOTS);
    crowd_fini(&crowd);
    smq_client_free(client);
}

static void all_clients_reconnect_at_once(void **state)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;

    reconnect_crowd("crowd", long_form(SIZE_CLIENTS), &options);
}

/* Fewer, because handshakes take the processor of clients and servers. */
static void so_do_all_with_tls(void **state)
{
    int wanted = long_form(SIZE_CLIENTS) / 8;

    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = servers_redis_tls(cluster_servers()),
                           .tls_ca = certificate_path(folder, "ca.crt"),
                           .tls_cert = certificate_path(folder, "client.crt"),
                           .tls_key = certificate_path(folder, "client.key"));
    reconnect_crowd("secret", wanted > CROWD_MIN ? wanted : CROWD_MIN, &options);
}

/* --- no descriptor left -------------------------------------------------------------------- */

/* A producer and a worker of one client, and connections that can kill theirs. */
struct process {
    smq_client *client;
    smq_producer *producer;
    smq_consumer *worker;
    struct handler_log *log;
    redisContext *killers[MASTERS];
    atomic_int ok, disconnected;
    int sent;
};

/* Thread: smq:call. */
static void on_event(const smq_event *event, void *user)
{
    struct process *process = user;

    if (event->kind == SMQ_EVENT_DISCONNECTED) {
        print_message("%s\n", event->text);
        atomic_fetch_add(&process->disconnected, 1);
    }
}

static void process_init(struct process *process, const char *topic)
{
    smq_topic_options topic_options = cluster_topic_options(topic, SMQ_TYPE_FIXED_TIME, SLOTS);

    memset(process, 0, sizeof(*process));
    smq_client_options options = SMQ_CLIENT_OPTIONS(.event = on_event, .event_user = process);
    smq_producer_options sending = SMQ_PRODUCER_OPTIONS(.send_timeout_ms = TIMEOUT_MS);
    process->client = cluster_client_with(&options);
    cluster_create_topic(process->client, &topic_options);
    process->producer = messages_producer(process->client, &sending);
    process->log = handler_log_new(NULL);
    process->worker = handler_log_worker(process->client, topic, process->log);
    for (size_t i = 0; i < MASTERS; i++) {
        const struct server *server = servers_node(cluster_servers(), i);

        process->killers[i] = redisConnect("127.0.0.1", server_port(server));
        assert_non_null(process->killers[i]);
    }
}

static void process_fini(struct process *process)
{
    handler_log_stop_worker(process->worker);
    smq_producer_free(process->producer);
    smq_client_free(process->client);
    handler_log_free(process->log);
    for (size_t i = 0; i < MASTERS; i++) {
        redisFree(process->killers[i]);
    }
}

/* Thread: smq:call. */
static void on_process_sent(const smq_receipt *receipt, void *user)
{
    struct process *process = user;

    atomic_fetch_add(&process->ok, receipt->status == SMQ_OK ? 1 : 0);
}

static void process_send(struct process *process, const char *topic, int count)
{
    for (int i = 0; i < count; i++) {
        char body[16];
        smq_message message;
        smq_error err;

        snprintf(body, sizeof(body), "%d", process->sent++);
        message = messages_text(body);
        assert_ok(
            smq_send_async(process->producer, topic, &message, on_process_sent, process, &err),
            &err);
    }
}

static bool is_disconnected(void *arg)
{
    struct process *process = arg;

    return atomic_load(&process->disconnected) > 0;
}

/* From now on nothing can be opened; what is open stays. */
static struct rlimit exhaust(void)
{
    struct rlimit before, none;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), -1);
    return before;
}

static smq_status new_client(smq_error *err)
{
    smq_client *client = NULL;
    smq_status status;

    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = servers_redis(cluster_servers()), .connect_timeout_ms = 300);
    err->text[0] = '\0';
    status = smq_client_new(&client, &options, err);
    smq_client_free(client);
    return status;
}

/* A new client cannot be made, which it says; one that has lost its connections waits. */
static void a_process_continues_when_it_had_no_descriptors(void **state)
{
    enum { COUNT = 200 };
    struct process process;
    struct rlimit limit;
    bool disconnected;
    smq_status status;
    smq_error err = SMQ_ERROR_INIT;

    process_init(&process, "exhausted");
    process_send(&process, "exhausted", COUNT);
    /* answers that are not stored when its lease ends come again */
    messages_await_counts(process.client, "exhausted", (struct message_counts){.done = COUNT});
    limit = exhaust();
    for (size_t i = 0; i < MASTERS; i++) {
        freeReplyObject(redisCommand(process.killers[i], "CLIENT KILL TYPE normal SKIPME yes"));
    }
    process_send(&process, "exhausted", COUNT);
    status = new_client(&err);
    disconnected = wait_until(is_disconnected, &process, TIMEOUT_MS);
    messages_await_clock(clock_wall_ms() + long_form(SIZE_NO_DESCRIPTORS_MS));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    print_message("%s: %s\n", smq_status_name(status), err.text);
    assert_int_equal(status, SMQ_NO_MEMORY);
    assert_true(disconnected);
    assert_ok(smq_producer_flush(process.producer, TIMEOUT_MS, &err), &err);
    assert_int_equal(process.ok, 2 * COUNT);
    messages_await_counts(process.client, "exhausted",
                          (struct message_counts){.dead = 0, .done = INT64_C(2) * COUNT});
    assert_int_equal(handler_log_count(process.log), 2 * COUNT);
    process_fini(&process);
}

TEST_GROUP(reconnect)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_clients_reconnect_at_once),
        cmocka_unit_test(so_do_all_with_tls),
        cmocka_unit_test(a_process_continues_when_it_had_no_descriptors),
    };

    return cmocka_run_group_tests_name("reconnect", tests, start, end);
}
