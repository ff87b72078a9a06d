/* test_connect.c - making a client: servers that are away, silent, refusing, or not fit. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/port.h"
#include "support/process.h"

static smq_status try(const smq_client_options *options, smq_error *err)
{
    smq_client *client = (smq_client *) 1;
    smq_status status;

    err->text[0] = '\0';
    status = smq_client_new(&client, options, err);
    if (status == SMQ_OK) {
        smq_client_free(client);
    } else {
        assert_null(client);
        assert_int_equal(err->status, status);
        assert_true(err->text[0] != '\0');
    }
    return status;
}

static smq_client_options options_of(const char *redis)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = redis);
    return options;
}

static void hear_nothing(const smq_event *event, void *user)
{
    (void) event;
    (void) user;
}

static void bad_options_are_refused(void **state)
{
    smq_client_options options = options_of("127.0.0.1:1");
    smq_error err;

    assert_int_equal(smq_client_new(NULL, &options, &err), SMQ_INVALID);
    assert_int_equal(try(NULL, &err), SMQ_INVALID);
    options.struct_size = 0;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options.struct_size = sizeof(options) + 1;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options = options_of(NULL);
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options = options_of("127.0.0.1:1");
    options.poll_events = true;
    options.event = hear_nothing;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "event and poll_events are both given"));
    options = options_of("host:port:more");
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options = options_of("127.0.0.1:1");
    options.connect_timeout_ms = -1;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "connect_timeout_ms"));
    options = options_of("127.0.0.1:1");
    options.request_timeout_ms = 1;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options = options_of("127.0.0.1:1");
    options.session_timeout_ms = 1;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options = options_of("127.0.0.1:1");
    options.name = "a/b";
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options.name = "";
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options = options_of("127.0.0.1:1");
    options.zookeeper = "not a server";
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options.zookeeper = NULL;
    options.zookeeper_auth = "user:password";
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options = options_of("127.0.0.1:1");
    options.root = "/r";
    options.zookeeper = "127.0.0.1:2";
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "the option root belongs to a fleet in Redis"));
    options.coordination = SMQ_COORDINATION_REDIS;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "both given; give one"));
    options.zookeeper = NULL;
    options.root = "no/path";
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "root is \"no/path\", and must be a path"));
    options.root = "";
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "root is \"\", and must be a path"));
    options.root = NULL;
    options.session_timeout_ms = 999;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "session_timeout_ms is 1000 .. 60000, not 999"));
    options.session_timeout_ms = 60001;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options = options_of("127.0.0.1:1");
    options.on_coordination_loss = (smq_coordination_loss) 9;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    options = options_of("127.0.0.1:1");
    options.event_level = (smq_level) 9;
    assert_int_equal(try(&options, &err), SMQ_INVALID);
    smq_client_free(NULL);
}

static void nobody_there_is_said_with_the_server(void **state)
{
    char redis[64];
    struct port port;
    smq_client_options options;
    smq_error err;

    assert_true(port_reserve(&port, false));
    snprintf(redis, sizeof(redis), "127.0.0.1:%d", port.number);
    options = options_of(redis);
    options.connect_timeout_ms = 2000;
    assert_int_equal(try(&options, &err), SMQ_UNAVAILABLE);
    assert_non_null(strstr(err.text, redis));
    port_release(&port);
}

static void a_silent_server_is_given_up_in_time(void **state)
{
    char redis[128];
    struct server *server = servers_node(cluster_servers(), 0);
    smq_client_options options;
    smq_error err;

    snprintf(redis, sizeof(redis), "redis://:secret@127.0.0.1:%d", server_port(server));
    options = options_of(redis);
    options.connect_timeout_ms = 300;
    server_pause(server);
    assert_int_equal(try(&options, &err), SMQ_UNAVAILABLE);
    server_resume(server);
    assert_null(strstr(err.text, "secret"));
    assert_non_null(strstr(err.text, server_address(server)));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
}

static void a_wrong_password_is_denied(void **state)
{
    char redis[128];
    smq_client_options options;
    smq_error err;

    snprintf(redis, sizeof(redis), "redis://user:secret@127.0.0.1:%d",
             server_port(servers_node(cluster_servers(), 0)));
    options = options_of(redis);
    assert_int_equal(try(&options, &err), SMQ_DENIED);
    assert_null(strstr(err.text, "secret"));
}

static void a_server_that_evicts_is_refused(void **state)
{
    const struct server *server = servers_node(cluster_servers(), 1);
    smq_client_options options = options_of(servers_redis(cluster_servers()));
    smq_error err;

    freeReplyObject(
        keys_command_at(server, "CONFIG SET maxmemory 100mb maxmemory-policy allkeys-lru"));
    options = options_of(server_address(server));
    assert_int_equal(try(&options, &err), SMQ_BAD_SERVER);
    assert_non_null(strstr(err.text, "noeviction"));
    freeReplyObject(keys_command_at(server, "CONFIG SET maxmemory-policy noeviction"));
    assert_int_equal(try(&options, &err), SMQ_OK);
    freeReplyObject(keys_command_at(server, "CONFIG SET maxmemory 0"));
}

/* Messages of all slots reach their nodes. */
static void send_by_one_seed(const char *name)
{
    smq_client_options options = options_of(server_address(servers_node(cluster_servers(), 2)));
    smq_client *client = NULL;
    smq_producer *producer;
    smq_topic_options topic = cluster_topic_options(name, SMQ_TYPE_FIXED_TIME, 16);
    smq_error err;

    assert_ok(smq_client_new(&client, &options, &err), &err);
    cluster_create_topic(client, &topic);
    producer = messages_producer(client, NULL);
    for (int i = 0; i < 50; i++) {
        char body[16];
        smq_message message;

        snprintf(body, sizeof(body), "%d", i);
        message = messages_text(body);
        (void) messages_send_by(producer, name, &message);
    }
    smq_client_free(client);
    smq_producer_free(producer);
}

static void one_seed_is_enough(void **state)
{
    send_by_one_seed("seed");
}

static void prefer_endpoints(const char *type)
{
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        freeReplyObject(keys_command_at(servers_node(cluster_servers(), i),
                                        "CONFIG SET cluster-preferred-endpoint-type %s", type));
    }
}

static void nodes_without_the_name_that_they_prefer_are_reached(void **state)
{
    prefer_endpoints("hostname");
    send_by_one_seed("unnamed");
    prefer_endpoints("ip");
}

static void child_of_fork_may_exit(void **state)
{
    char address[64];
    const char *const argv[] = {FORKER_PROGRAM, address, NULL};
    struct process_options options = {.argv = argv, .err = 2};
    int status = -1;
    pid_t pid;

    /* by name: an address needs nobody to resolve it */
    snprintf(address, sizeof(address), "localhost:%d",
             server_port(servers_node(cluster_servers(), 0)));
    pid = process_start(&options);
    assert_true(pid > 0);
    assert_true(process_wait(pid, &status, TIMEOUT_MS));
    assert_int_equal(status, 0);
}

/* An application that has no callback, only the descriptor. */
static void events_are_polled(void **state)
{
    smq_client_options options = options_of(NULL);
    smq_client *client = cluster_client(), *polled;
    const smq_event *events[8];
    struct pollfd wait = {.events = POLLIN};
    bool connected = false;
    size_t count = 0;
    smq_error err;

    options.poll_events = true;
    options.event_level = SMQ_LEVEL_DEBUG;
    polled = cluster_client_with(&options);
    wait.fd = smq_client_fd(polled);
    while (!connected) {
        assert_int_equal(poll(&wait, 1, TIMEOUT_MS), 1);
        assert_ok(smq_client_poll_events(polled, events, 8, &count, 0, &err), &err);
        assert_true(count > 0); /* no wake is empty */
        for (size_t i = 0; i < count; i++) {
            connected = connected || events[i]->kind == SMQ_EVENT_CONNECTED;
        }
    }
    assert_int_equal(smq_client_poll_events(polled, NULL, 8, &count, 0, &err), SMQ_INVALID);
    assert_int_equal(smq_client_poll_events(polled, events, 0, &count, 0, &err), SMQ_INVALID);
    assert_int_equal(smq_client_poll_events(polled, events, 8, &count, -7, &err), SMQ_INVALID);
    smq_client_free(polled);
    assert_int_equal(smq_client_fd(client), -1);
    assert_int_equal(smq_client_poll_events(client, events, 8, &count, 0, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "poll_events"));
    smq_client_free(client);
}

TEST_GROUP(connect)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(nobody_there_is_said_with_the_server),
        cmocka_unit_test(a_silent_server_is_given_up_in_time),
        cmocka_unit_test(a_wrong_password_is_denied),
        cmocka_unit_test(a_server_that_evicts_is_refused),
        cmocka_unit_test(one_seed_is_enough),
        cmocka_unit_test(nodes_without_the_name_that_they_prefer_are_reached),
        cmocka_unit_test(child_of_fork_may_exit),
        cmocka_unit_test(events_are_polled),
    };

    return cmocka_run_group_tests_name("connect", tests, cluster_start_masters, cluster_end);
}
