/* test_listeners.c - subscriptions against scripted nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../integration/redis/listener.h"
#include "base/event.h"
#include "base/memory.h"
#include "nodes.h"
#include "redis/pubsub.h"
#include "support/group.h"

enum { TIMEOUT_MS = 20000, SHORT_MS = 2000 };

#define CHANNEL "wake{t}"
#define MESSAGE "*3\r\n$8\r\nsmessage\r\n$7\r\n" CHANNEL "\r\n$1\r\n1\r\n"
#define LEAVE   "*3\r\n$12\r\nsunsubscribe\r\n$7\r\n" CHANNEL "\r\n:0\r\n"

struct fixture {
    struct nodes nodes;
    struct listener listener;
};

static int set_up(void **state)
{
    struct fixture *fixture = memory_new(sizeof(*fixture));

    nodes_init(&fixture->nodes, CHANNEL);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    nodes_fini(&fixture->nodes);
    free(fixture);
    return 0;
}

static void start_with(struct fixture *fixture, int64_t timeout_ms)
{
    nodes_start(&fixture->nodes, timeout_ms);
    listener_new(&fixture->listener, &fixture->nodes.client, CHANNEL);
}

static void start(struct fixture *fixture)
{
    start_with(fixture, TIMEOUT_MS);
    assert_true(listener_wait_subscribed(&fixture->listener, 1));
}

/* The data connection takes no message: it is cut, as only the other one was meant. */
static void send_message(struct fixture *fixture)
{
    fake_node_send(fixture->nodes.a, MESSAGE);
}

static void test_messages_come_until_it_is_given_up(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    send_message(fixture);
    send_message(fixture);
    assert_true(listener_wait_messages(&fixture->listener, 2));
    listener_stop(&fixture->listener);
    assert_true(fake_node_wait(fixture->nodes.a, "SUNSUBSCRIBE " CHANNEL, 1));
    send_message(fixture);
    client_stop(&fixture->nodes.client);
    assert_int_equal(atomic_load(&fixture->listener.messages), 2);
    assert_int_equal(atomic_load(&fixture->listener.subscribed), 1);
}

static void test_two_may_listen_to_one_channel(void **state)
{
    struct fixture *fixture = *state;
    struct listener other;

    start(fixture);
    listener_new(&other, &fixture->nodes.client, CHANNEL);
    assert_true(listener_wait_subscribed(&other, 1));
    send_message(fixture);
    assert_true(listener_wait_messages(&fixture->listener, 1));
    assert_true(listener_wait_messages(&other, 1));
    listener_stop(&fixture->listener);
    assert_int_equal(fake_node_count(fixture->nodes.a, "SUNSUBSCRIBE"), 0);
    send_message(fixture);
    assert_true(listener_wait_messages(&other, 2));
    assert_int_equal(atomic_load(&fixture->listener.messages), 1);
    listener_stop(&other);
    assert_true(fake_node_wait(fixture->nodes.a, "SUNSUBSCRIBE", 1));
    client_stop(&fixture->nodes.client);
}

static void test_moved_is_followed(void **state)
{
    struct fixture *fixture = *state;

    fake_node_rule(fixture->nodes.a, "SSUBSCRIBE", fixture->nodes.moved_b);
    start(fixture);
    assert_int_equal(fake_node_count(fixture->nodes.b, "SSUBSCRIBE"), 1);
    client_stop(&fixture->nodes.client);
}

/* The hash slot leaves the node: it says so, and where to when it is asked. */
static void test_a_server_that_unsubscribes_us_is_asked_again(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    fake_node_rule(fixture->nodes.a, "SSUBSCRIBE", fixture->nodes.moved_b);
    fake_node_rule(fixture->nodes.a, "CLUSTER SLOTS", fixture->nodes.map_b);
    fake_node_rule(fixture->nodes.b, "CLUSTER SLOTS", fixture->nodes.map_b);
    fake_node_send(fixture->nodes.a, LEAVE);
    assert_true(listener_wait_subscribed(&fixture->listener, 2));
    assert_int_equal(fake_node_count(fixture->nodes.b, "SSUBSCRIBE " CHANNEL), 1);
    client_stop(&fixture->nodes.client);
}

/* The map says that the hash slot has left, and the node does not. */
/* The node has become a replica: it ends the subscription, and takes a new one.  Others learn it
 * later, so the first map is an old one. */
static void test_an_old_map_does_not_last(void **state)
{
    struct fixture *fixture = *state;
    struct nodes *nodes = &fixture->nodes;

    start(fixture);
    fake_node_rule(nodes->a, "CLUSTER SLOTS", nodes->map_b);
    nodes_step(nodes->a, "CLUSTER SLOTS", nodes->map_a);
    fake_node_send(nodes->a, LEAVE);
    assert_true(listener_wait_subscribed(&fixture->listener, 2));
    assert_true(fake_node_wait(nodes->b, "SSUBSCRIBE " CHANNEL, 1));
    assert_true(listener_wait_subscribed(&fixture->listener, 3));
    client_stop(&nodes->client);
}

/* What is in flight when the sign comes may be answered with an old map, and the next one, too. */
static void test_a_question_before_the_sign_does_not_count(void **state)
{
    struct fixture *fixture = *state;
    struct nodes *nodes = &fixture->nodes;

    start(fixture);
    fake_node_rule(nodes->a, "CLUSTER SLOTS", nodes->map_b);
    nodes_step(nodes->a, "CLUSTER SLOTS", NULL);
    nodes_step(nodes->a, "CLUSTER SLOTS", nodes->map_a);
    fake_node_send(nodes->a, LEAVE);
    assert_true(fake_node_wait(nodes->a, "CLUSTER SLOTS", 2));
    assert_true(listener_wait_subscribed(&fixture->listener, 2));
    fake_node_send(nodes->a, LEAVE);
    assert_true(listener_wait_subscribed(&fixture->listener, 3));
    fake_node_send(nodes->a, nodes->map_a);
    assert_true(fake_node_wait(nodes->b, "SSUBSCRIBE " CHANNEL, 1));
    client_stop(&nodes->client);
}

static void test_a_subscription_follows_the_map(void **state)
{
    struct fixture *fixture = *state;
    struct nodes *nodes = &fixture->nodes;

    start(fixture);
    fake_node_rule(nodes->a, "EVALSHA", nodes->moved_b);
    fake_node_rule(nodes->b, "EVALSHA", ":2\r\n");
    fake_node_rule(nodes->a, "CLUSTER SLOTS", nodes->map_b);
    fake_node_rule(nodes->b, "CLUSTER SLOTS", nodes->map_b);
    assert_int_equal(client_eval(&nodes->client, &nodes_script, CHANNEL, "x", 0).outcome,
                     REDIS_DONE);
    assert_true(listener_wait_subscribed(&fixture->listener, 2));
    assert_int_equal(fake_node_count(nodes->b, "SSUBSCRIBE " CHANNEL), 1);
    client_stop(&nodes->client);
}

static void leave(void *arg)
{
    fake_node_send(arg, LEAVE);
}

/* The node that the hash slot leaves is asked where to at once, not when subscriptions are looked
 * at next: that is 5 s after a ping.  The map is of no help.  When some commands have ended one
 * after another, what the client had to say before them has come, too; the first of them may be cut
 * off. */
static void test_a_slot_that_leaves_is_followed_at_once(void **state)
{
    struct fixture *fixture = *state;
    struct nodes *nodes = &fixture->nodes;

    start(fixture);
    fake_node_rule(nodes->a, "EVALSHA", ":1\r\n");
    assert_true(fake_node_wait(nodes->a, "PING", 1));
    fake_node_rule(nodes->a, "CLUSTER SLOTS", "-LOADING it is of no help\r\n");
    fake_node_rule(nodes->a, "SSUBSCRIBE", nodes->moved_b);
    client_call(&nodes->client, leave, nodes->a);
    for (int i = 0; i < 3; i++) {
        (void) client_eval(&nodes->client, &nodes_script, "k", "x", 0);
    }
    assert_int_equal(fake_node_count(nodes->a, "SSUBSCRIBE"), 2);
    assert_true(listener_wait_subscribed(&fixture->listener, 2));
    assert_int_equal(fake_node_count(nodes->b, "SSUBSCRIBE " CHANNEL), 1);
    client_stop(&nodes->client);
}

static void test_a_refused_subscription_is_tried_again(void **state)
{
    static const char *const texts[] = {"-NOPERM no permissions to access one of the channels\r\n",
                                        "-CLUSTERDOWN The cluster is down\r\n",
                                        "-TRYAGAIN later\r\n", "-MOVED 1 ?:1\r\n"};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        nodes_step(fixture->nodes.a, "SSUBSCRIBE", texts[i]);
    }
    start(fixture);
    assert_int_equal(fake_node_count(fixture->nodes.a, "SSUBSCRIBE"), 5);
    client_stop(&fixture->nodes.client);
}

static void test_a_lost_connection_is_made_again(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    fake_node_hang_up(fixture->nodes.a);
    assert_true(listener_wait_subscribed(&fixture->listener, 2));
    fake_node_stop(fixture->nodes.a);
    fake_node_start(fixture->nodes.a);
    assert_true(listener_wait_subscribed(&fixture->listener, 3));
    fake_node_send(fixture->nodes.a, "*100000000\r\n");
    assert_true(listener_wait_subscribed(&fixture->listener, 4));
    client_stop(&fixture->nodes.client);
}

struct heard {
    atomic_int warnings;
    char last[1024];
};

static void on_event(const smq_event *event, void *user)
{
    struct heard *heard = user;

    (void) snprintf(heard->last, sizeof(heard->last), "%s", event->text);
    if (event->kind == SMQ_EVENT_LOG) {
        atomic_fetch_add(&heard->warnings, 1);
    }
}

/* Subscribe to a node that hangs up on this many that want to; how often was it said? */
static int warnings_of(struct fixture *fixture, int failures)
{
    struct loop *call = NULL;
    struct heard heard = {0};
    smq_error err;

    assert_int_equal(loop_new(&call, "smq:call", &err), SMQ_OK);
    struct events *events = events_new(call, on_event, SMQ_LEVEL_WARN, &heard);
    for (int i = 0; i < failures; i++) {
        fake_node_step(fixture->nodes.a,
                       &(struct fake_step){.command = "SSUBSCRIBE", .close = true});
    }
    client_start_with(&fixture->nodes.client,
                      &(struct redis_options){.servers = fake_node_address(fixture->nodes.a),
                                              .connect_timeout_ms = TIMEOUT_MS,
                                              .request_timeout_ms = TIMEOUT_MS},
                      events);
    listener_new(&fixture->listener, &fixture->nodes.client, CHANNEL);
    assert_true(listener_wait_subscribed(&fixture->listener, 1));
    client_stop(&fixture->nodes.client);
    loop_free(call);
    events_free(events);
    if (atomic_load(&heard.warnings) > 0) {
        assert_non_null(strstr(heard.last, fake_node_address(fixture->nodes.a)));
        assert_non_null(strstr(heard.last, "consumers are not woken"));
    }
    return atomic_load(&heard.warnings);
}

static void test_a_lost_connection_that_is_back_soon_is_no_trouble(void **state)
{
    assert_int_equal(warnings_of(*state, 2), 0);
}

static void test_a_connection_that_cannot_be_had_is_said_once(void **state)
{
    assert_int_equal(warnings_of(*state, 6), 1);
}

/* Neither closed nor answering: only a time-out tells. */
static void test_a_silent_node_is_given_up(void **state)
{
    struct fixture *fixture = *state;

    nodes_step(fixture->nodes.a, "SSUBSCRIBE", NULL);
    start_with(fixture, SHORT_MS);
    assert_true(listener_wait_subscribed(&fixture->listener, 1));
    assert_int_equal(fake_node_count(fixture->nodes.a, "SSUBSCRIBE"), 2);
    client_stop(&fixture->nodes.client);
}

static void test_nonsense_is_ignored(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    fake_node_send(fixture->nodes.a,
                   "*0\r\n:1\r\n*2\r\n:1\r\n:2\r\n*2\r\n$8\r\nsmessage\r\n$1\r\n?\r\n"
                   "-ERR nobody asked\r\n*3\r\n$10\r\nssubscribe\r\n$1\r\n?\r\n:1\r\n");
    send_message(fixture);
    assert_true(listener_wait_messages(&fixture->listener, 1));
    client_stop(&fixture->nodes.client);
}

/* From within a notice: give up this one and the other, and listen again. */
static void give_up_both(struct listener *listener, enum redis_notice notice)
{
    struct listener *other = listener->user;

    if (notice == REDIS_NOTICE_MESSAGE) {
        redis_unsubscribe(other->client->redis, &other->subscription);
        redis_unsubscribe(listener->client->redis, &listener->subscription);
        redis_subscribe(listener->client->redis, &listener->subscription);
    }
}

static void test_a_notice_may_change_everything(void **state)
{
    struct fixture *fixture = *state;
    struct listener others[2];

    start(fixture);
    for (int i = 0; i < 2; i++) {
        listener_init(&others[i], &fixture->nodes.client, CHANNEL);
        others[i].told = give_up_both;
        others[i].user = &others[1 - i];
        listener_start(&others[i]);
        assert_true(listener_wait_subscribed(&others[i], 1));
    }
    send_message(fixture);
    assert_true(listener_wait_messages(&others[0], 1));
    assert_true(listener_wait_messages(&fixture->listener, 1));
    send_message(fixture);
    assert_true(listener_wait_messages(&others[0], 2));
    assert_int_equal(atomic_load(&others[1].messages), 0);
    client_stop(&fixture->nodes.client);
}

/* Of many that share their work one asks each second, but each of them once in a minute. */
static void test_many_ask_less_often_whether_they_are_heard(void **state)
{
    static const struct {
        uint64_t peers;
        int64_t ms;
    } rows[] = {{0, 5000},   {1, 5000},   {5, 5000},    {6, 6000},
                {59, 59000}, {60, 60000}, {250, 60000}, {UINT64_MAX, 60000}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(pubsub_ping_ms(rows[i].peers), rows[i].ms);
    }
}

static void test_closing_with_subscriptions(void **state)
{
    struct fixture *fixture = *state;

    start_with(fixture, TIMEOUT_MS); /* perhaps not yet confirmed */
    client_stop(&fixture->nodes.client);
    assert_null(fixture->listener.subscription.state);
}

TEST_GROUP(listeners)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_messages_come_until_it_is_given_up),
        TEST(test_two_may_listen_to_one_channel),
        TEST(test_moved_is_followed),
        TEST(test_a_server_that_unsubscribes_us_is_asked_again),
        TEST(test_an_old_map_does_not_last),
        TEST(test_a_question_before_the_sign_does_not_count),
        TEST(test_a_subscription_follows_the_map),
        TEST(test_a_slot_that_leaves_is_followed_at_once),
        TEST(test_a_refused_subscription_is_tried_again),
        TEST(test_a_lost_connection_is_made_again),
        TEST(test_a_lost_connection_that_is_back_soon_is_no_trouble),
        TEST(test_a_connection_that_cannot_be_had_is_said_once),
        TEST(test_a_silent_node_is_given_up),
        TEST(test_nonsense_is_ignored),
        TEST(test_a_notice_may_change_everything),
        TEST(test_many_ask_less_often_whether_they_are_heard),
        TEST(test_closing_with_subscriptions),
    };
#undef TEST

    return cmocka_run_group_tests_name("listeners", tests, NULL, NULL);
}
