/* test_replicas.c - commands that replicas must have, too, against scripted nodes: every answer to
 * WAIT, and every moment at which a node can fall silent or hang up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "model/slot.h"
#include "nodes.h"
#include "support/group.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 20000, SHORT_MS = 1000, LATE_MS = 2000, WAIT_MS = 30000, MANY = 50 };

#define NO_REPLICA  "$46\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
#define ONE_REPLICA "$49\r\n# Replication\r\nrole:master\r\ns0:ip=a,state=online,\r\n"

/* A command, and what came of it; `ends` counts up when all of that is known. */
struct send {
    struct redis_command command;
    struct redis_await await;
    struct client *client;
    const char *key;
    int64_t timeout_ms; /* of the command */
    int64_t until_ms;   /* that the replicas have, from now */
    int64_t again_ms;   /* more for them */
    bool awaited;
    enum redis_outcome outcome;
    smq_status status;
    char text[512];
    atomic_int ends;
};

static int set_up(void **state)
{
    struct nodes *nodes;

    (void) nodes_set_up(state);
    nodes = *state;
    fake_node_rule(nodes->a, "WAIT", ":1\r\n");
    fake_node_rule(nodes->b, "WAIT", ":1\r\n");
    return 0;
}

static void keep(struct send *send, const struct redis_result *result)
{
    send->outcome = result->outcome;
    send->status = result->status;
    (void) snprintf(send->text, sizeof(send->text), "%s", result->text);
}

static void on_awaited(const struct redis_result *result, void *user)
{
    struct send *send = user;

    if (result->outcome == REDIS_NOT_DONE && send->again_ms > 0) {
        send->await.until_ms += send->again_ms;
        send->again_ms = 0;
        redis_await_again(&send->await);
        return;
    }
    keep(send, result);
    atomic_fetch_add(&send->ends, 1);
}

static void on_done(const struct redis_result *result, void *user)
{
    struct send *send = user;

    keep(send, result);
    if (result->outcome == REDIS_DONE && send->command.replicas > 0) {
        send->awaited = true;
        send->await.done = on_awaited;
        send->await.user = send;
        redis_await(&send->await, &send->command);
        return;
    }
    atomic_fetch_add(&send->ends, 1);
}

static void begin(void *arg)
{
    struct send *send = arg;

    send->command.until_ms = clock_now_ms() + send->until_ms;
    send->command.timeout_ms = send->timeout_ms;
    redis_send(send->client->redis, &send->command);
}

static void send_init(struct send *send, struct nodes *nodes, const char *key, int replicas,
                      int64_t timeout_ms)
{
    memset(send, 0, sizeof(*send));
    send->client = &nodes->client;
    send->timeout_ms = timeout_ms;
    send->until_ms = timeout_ms;
    redis_command_init(&send->command, &nodes_script, slot_hash(key, strlen(key)), on_done, send);
    send->command.replicas = replicas;
    redis_arg_string(&send->command, key);
}

static bool has_ended(void *arg)
{
    struct send *send = arg;

    return atomic_load(&send->ends) > 0;
}

static void await_end(struct send *send)
{
    assert_true(wait_until(has_ended, send, WAIT_MS));
    assert_int_equal(atomic_load(&send->ends), 1);
    redis_command_fini(&send->command);
    print_message("%s\n", send->text);
}

static void post(struct send *send, struct nodes *nodes, const char *key, int replicas,
                 int64_t timeout_ms)
{
    send_init(send, nodes, key, replicas, timeout_ms);
    client_call(&nodes->client, begin, send);
}

static struct send eval(struct nodes *nodes, int replicas, int64_t timeout_ms)
{
    struct send send;

    post(&send, nodes, "k", replicas, timeout_ms);
    await_end(&send);
    return send;
}

/* Give the replicas little time. */
static struct send eval_briefly(struct nodes *nodes, int replicas, int64_t again_ms)
{
    struct send send;

    send_init(&send, nodes, "k", replicas, TIMEOUT_MS);
    send.until_ms = SHORT_MS;
    send.again_ms = again_ms;
    client_call(&nodes->client, begin, &send);
    await_end(&send);
    return send;
}

static void assert_ended(const struct send *send, enum redis_outcome outcome, smq_status status,
                         const char *text)
{
    assert_int_equal(send->outcome, outcome);
    assert_int_equal(send->status, status);
    assert_non_null(strstr(send->text, text));
}

static void assert_acknowledged(const struct send *send)
{
    assert_true(send->awaited);
    assert_string_equal(send->text, "");
    assert_ended(send, REDIS_DONE, SMQ_OK, "");
}

/* --- enough --- */

static void test_wait_comes_behind_the_command_on_its_connection(void **state)
{
    struct nodes *nodes = *state;
    struct send send;
    size_t i = 0;

    nodes_start(nodes, TIMEOUT_MS);
    for (int round = 0; round < 3; round++) {
        send = eval(nodes, 1, TIMEOUT_MS);
        assert_acknowledged(&send);
    }
    assert_int_equal(fake_node_connections(nodes->a), 2);
    assert_int_equal(fake_node_count(nodes->a, "SCRIPT LOAD"), 1);
    while (strncmp(fake_node_command(nodes->a, "", i), "EVALSHA", 7) != 0) {
        i++;
    }
    assert_int_equal(strncmp(fake_node_command(nodes->a, "", i + 1), "WAIT 1 ", 7), 0);
    assert_true(atoi(fake_node_command(nodes->a, "", i + 1) + 7) > 0);
    client_stop(&nodes->client);
}

static void begin_all(void *arg)
{
    struct send *sends = arg;

    for (int i = 0; i < MANY; i++) {
        begin(&sends[i]);
    }
}

static void test_one_wait_speaks_of_all_commands_of_a_turn(void **state)
{
    struct nodes *nodes = *state;
    struct send *sends = memory_new(MANY * sizeof(*sends));
    char key[16];

    nodes_start(nodes, TIMEOUT_MS);
    for (int i = 0; i < MANY; i++) {
        (void) snprintf(key, sizeof(key), "key%d", i);
        send_init(&sends[i], nodes, key, 1, TIMEOUT_MS);
    }
    client_call(&nodes->client, begin_all, sends);
    for (int i = 0; i < MANY; i++) {
        await_end(&sends[i]);
        assert_acknowledged(&sends[i]);
    }
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), MANY);
    assert_int_equal(fake_node_count(nodes->a, "WAIT 1 "), 1);
    client_stop(&nodes->client);
    free(sends);
}

/* The loop is late: it sees the acknowledgement when its time has ended. */
static void test_an_acknowledgement_that_has_come_counts(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    fake_node_rule(nodes->a, "WAIT 1", NULL);
    nodes_start(nodes, LATE_MS);
    post(&send, nodes, "k", 1, LATE_MS);
    assert_true(fake_node_wait(nodes->a, "WAIT 1", 1));
    nodes_delay(nodes, ":1\r\n", (int64_t) 2 * LATE_MS); /* of the await, and of the connection */
    await_end(&send);
    assert_acknowledged(&send);
    client_stop(&nodes->client);
}

static void test_each_number_of_replicas_has_its_connection(void **state)
{
    struct nodes *nodes = *state;
    struct send two, one;

    fake_node_rule(nodes->a, "WAIT 2", NULL);
    nodes_start(nodes, TIMEOUT_MS);
    post(&two, nodes, "k", 2, TIMEOUT_MS);
    assert_true(fake_node_wait(nodes->a, "WAIT 2", 1));
    one = eval(nodes, 1, TIMEOUT_MS);
    assert_acknowledged(&one);
    client_stop(&nodes->client);
    await_end(&two);
    assert_ended(&two, REDIS_UNKNOWN, SMQ_UNKNOWN, "ended before");
}

static void test_redirects_and_scripts_are_healed_there_too(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    nodes_start(nodes, TIMEOUT_MS);
    nodes_step(nodes->a, "EVALSHA", "-NOSCRIPT No matching script.\r\n");
    nodes_step(nodes->a, "EVALSHA", nodes->ask_b);
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_acknowledged(&send);
    assert_int_equal(fake_node_count(nodes->b, "ASKING"), 1);
    assert_int_equal(fake_node_count(nodes->b, "WAIT 1 "), 1);
    nodes_step(nodes->a, "EVALSHA", nodes->moved_b);
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_acknowledged(&send);
    assert_int_equal(fake_node_count(nodes->b, "WAIT 1 "), 2);
    client_stop(&nodes->client);
}

/* --- fewer --- */

static void test_fewer_in_time_is_told_and_not_written_again(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    fake_node_rule(nodes->a, "WAIT 2", ":2\r\n");
    nodes_start(nodes, TIMEOUT_MS);
    send = eval(nodes, 2, TIMEOUT_MS); /* connects, which may take long */
    assert_acknowledged(&send);
    fake_node_rule(nodes->a, "WAIT 2", ":1\r\n");
    send = eval_briefly(nodes, 2, 0);
    assert_ended(&send, REDIS_NOT_DONE, SMQ_TIMED_OUT, "1 of 2 replicas acknowledged");
    assert_true(send.awaited);
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 2);
    fake_node_rule(nodes->a, "WAIT 2", ":2\r\n");
    send = eval(nodes, 2, TIMEOUT_MS);
    assert_acknowledged(&send);
    client_stop(&nodes->client);
}

static void test_who_has_time_is_waited_for_again(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    nodes_start(nodes, TIMEOUT_MS);
    for (int i = 0; i < 3; i++) {
        nodes_step(nodes->a, "WAIT 1", ":0\r\n");
    }
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_acknowledged(&send);
    assert_int_equal(fake_node_count(nodes->a, "WAIT 1 "), 4);
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 1);
    client_stop(&nodes->client);
}

static void test_more_time_may_be_given(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    nodes_start(nodes, TIMEOUT_MS);
    send = eval(nodes, 1, TIMEOUT_MS); /* connects, which may take long */
    assert_acknowledged(&send);
    fake_node_rule(nodes->a, "WAIT 1", ":0\r\n");
    send = eval_briefly(nodes, 1, SHORT_MS);
    assert_ended(&send, REDIS_NOT_DONE, SMQ_TIMED_OUT, "0 of 1 replicas acknowledged");
    assert_int_equal(send.again_ms, 0);
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 2);
    client_stop(&nodes->client);
}

/* What replicas cannot have is not written, and nobody else waits for it. */
static void test_only_those_with_replicas_wait(void **state)
{
    struct nodes *nodes = *state;
    struct send slow, behind, other;

    fake_node_rule(nodes->a, "WAIT 1", NULL);
    nodes_start(nodes, TIMEOUT_MS);
    post(&slow, nodes, "k", 1, TIMEOUT_MS);
    assert_true(fake_node_wait(nodes->a, "WAIT 1 ", 1));
    post(&behind, nodes, "other", 1, SHORT_MS);
    other = eval(nodes, 0, TIMEOUT_MS);
    assert_ended(&other, REDIS_DONE, SMQ_OK, "");
    await_end(&behind);
    assert_ended(&behind, REDIS_NOT_DONE, SMQ_UNAVAILABLE, "not done within");
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 2);
    assert_int_equal(atomic_load(&slow.ends), 0);
    client_stop(&nodes->client);
    await_end(&slow);
    assert_ended(&slow, REDIS_UNKNOWN, SMQ_UNKNOWN, "ended before");
}

static void test_a_node_without_replicas_is_not_written_to(void **state)
{
    struct nodes *nodes = *state;
    struct send first, send;

    fake_node_rule(nodes->a, "INFO replication", NO_REPLICA);
    nodes_start(nodes, TIMEOUT_MS);
    post(&first, nodes, "first", 1, TIMEOUT_MS);
    assert_true(fake_node_wait(nodes->a, "INFO replication", 2)); /* so one answer was read */
    send = eval(nodes, 1, SHORT_MS);
    assert_ended(&send, REDIS_NOT_DONE, SMQ_UNAVAILABLE,
                 "NOREPLICAS: it has 0 replicas in sync, but 1 must acknowledge");
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 0);
    fake_node_rule(nodes->a, "INFO replication", ONE_REPLICA);
    await_end(&first);
    assert_acknowledged(&first);
    client_stop(&nodes->client);
}

static void test_who_may_not_look_waits_nevertheless(void **state)
{
    static const char *const infos[] = {"-NOPERM this user has no permissions\r\n",
                                        "$25\r\n# Replication\r\nrole:slave\r\n", ":7\r\n"};
    struct nodes *nodes = *state;

    fake_node_rule(nodes->a, "WAIT", ":3\r\n");
    nodes_start(nodes, TIMEOUT_MS);
    for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++) {
        fake_node_rule(nodes->a, "INFO replication", infos[i]);
        struct send send = eval(nodes, (int) i + 1, TIMEOUT_MS);
        assert_acknowledged(&send);
    }
    client_stop(&nodes->client);
}

/* --- bad answers, and none --- */

static void test_a_refused_wait_is_known_before_anything_is_written(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    fake_node_rule(nodes->a, "WAIT", "-NOPERM this user has no permissions to run 'wait'\r\n");
    nodes_start(nodes, TIMEOUT_MS);
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_ended(&send, REDIS_NOT_DONE, SMQ_DENIED, "NOPERM");
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 0);
    client_stop(&nodes->client);
}

/* The second WAIT is not answered, so nothing newer is known than what the first was answered. */
static void test_a_refused_wait_is_the_reason_until_it_is_allowed(void **state)
{
    struct nodes *nodes = *state;
    struct send first, send;

    nodes_step(nodes->a, "WAIT", "-ERR WAIT cannot be used with replica instances\r\n");
    fake_node_rule(nodes->a, "WAIT", NULL);
    nodes_start(nodes, TIMEOUT_MS);
    post(&first, nodes, "first", 1, TIMEOUT_MS);
    assert_true(fake_node_wait(nodes->a, "WAIT 0 0", 2));
    send = eval(nodes, 1, SHORT_MS);
    assert_ended(&send, REDIS_NOT_DONE, SMQ_UNAVAILABLE, "replica instances");
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 0);
    client_stop(&nodes->client);
    await_end(&first);
    assert_ended(&first, REDIS_NOT_DONE, SMQ_CLOSED, "closing");
}

/* With ever longer pauses: if all were as short as the first, there would be fifty a second. */
static void test_a_refused_wait_is_tried_again_ever_less_often(void **state)
{
    struct nodes *nodes = *state;
    struct send first, send;

    fake_node_rule(nodes->a, "WAIT", "-ERR WAIT cannot be used with replica instances\r\n");
    nodes_start(nodes, TIMEOUT_MS);
    post(&first, nodes, "first", 1, TIMEOUT_MS);
    assert_true(fake_node_wait(nodes->a, "WAIT 0 0", 2));
    size_t before = fake_node_connections(nodes->a);
    send = eval(nodes, 1, SHORT_MS);
    assert_ended(&send, REDIS_NOT_DONE, SMQ_UNAVAILABLE, "replica instances");
    assert_true(fake_node_connections(nodes->a) - before < 20);
    client_stop(&nodes->client);
    await_end(&first);
    assert_ended(&first, REDIS_NOT_DONE, SMQ_CLOSED, "closing");
}

static void test_what_is_no_count_ends_unknown(void **state)
{
    static const struct {
        const char *reply, *text;
    } cases[] = {
        {"-UNBLOCKED force unblock from blocking operation, instance state changed\r\n",
         "UNBLOCKED"},
        {"-ERR something\r\n", "ERR something"},
        {"+OK\r\n", "as Redis does"},
        {":-1\r\n", "as Redis does"},
        {"*1\r\n:1\r\n", "as Redis does"},
        {"*9\r\n", "ended before"},
        {"hello\r\n", "ended before"},
    };
    struct nodes *nodes = *state;
    struct send send;

    nodes_start(nodes, TIMEOUT_MS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        nodes_step(nodes->a, "WAIT 1", cases[i].reply);
        send = eval(nodes, 1, TIMEOUT_MS);
        assert_ended(&send, REDIS_UNKNOWN, SMQ_UNKNOWN, cases[i].text);
        assert_true(send.awaited);
        send = eval(nodes, 1, TIMEOUT_MS); /* over a new connection */
        assert_acknowledged(&send);
    }
    client_stop(&nodes->client);
}

static void test_a_connection_lost_before_the_count_is_unknown(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    nodes_start(nodes, TIMEOUT_MS);
    fake_node_step(nodes->a, &(struct fake_step){.command = "WAIT 1", .close = true});
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_ended(&send, REDIS_UNKNOWN, SMQ_UNKNOWN, "ended before its replicas acknowledged");
    assert_true(send.awaited);
    fake_node_step(nodes->a, &(struct fake_step){.command = "EVALSHA", .close = true});
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_ended(&send, REDIS_UNKNOWN, SMQ_UNKNOWN, "the connection ended");
    assert_false(send.awaited);
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_acknowledged(&send);
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 3);
    client_stop(&nodes->client);
}

/* The server says that too few replicas have it, and closes the connection before WAIT is sent
 * again: a failover may have lost what was written. */
static void test_a_connection_lost_after_a_low_count_is_unknown(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    nodes_start(nodes, TIMEOUT_MS);
    fake_node_step(nodes->a,
                   &(struct fake_step){.command = "WAIT 1", .reply = ":0\r\n", .close = true});
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_ended(&send, REDIS_UNKNOWN, SMQ_UNKNOWN, "ended before its replicas acknowledged");
    assert_true(send.awaited);
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_acknowledged(&send);
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 2);
    client_stop(&nodes->client);
}

/* Between two WAITs nothing is in flight, and still the end of the client ends what is awaited. */
static void test_the_end_of_the_client_ends_what_waits_for_the_next_count(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    nodes_start(nodes, TIMEOUT_MS);
    fake_node_rule(nodes->a, "WAIT 1", ":0\r\n");
    post(&send, nodes, "k", 1, TIMEOUT_MS);
    assert_true(fake_node_wait(nodes->a, "WAIT 1 ", 3));
    client_stop(&nodes->client);
    await_end(&send);
    assert_ended(&send, REDIS_UNKNOWN, SMQ_UNKNOWN, "before its replicas acknowledged");
}

static void test_silence_ends_in_time_and_costs_the_connection(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    nodes_start(nodes, (int64_t) 2 * SHORT_MS);
    nodes_step(nodes->a, "WAIT 1", NULL);
    send = eval_briefly(nodes, 1, 0);
    assert_ended(&send, REDIS_NOT_DONE, SMQ_TIMED_OUT, "its replicas did not reply in time");
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_acknowledged(&send);
    assert_int_equal(fake_node_connections(nodes->a), 3);
    nodes_step(nodes->a, "WAIT 1", NULL); /* with time left: the connection goes first */
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_ended(&send, REDIS_UNKNOWN, SMQ_UNKNOWN, "ended before");
    client_stop(&nodes->client);
}

static void test_a_silent_greeting_costs_the_connection(void **state)
{
    struct nodes *nodes = *state;
    struct send send;

    nodes_start(nodes, SHORT_MS);
    nodes_step(nodes->a, "INFO replication", NULL);
    send = eval(nodes, 1, TIMEOUT_MS);
    assert_acknowledged(&send);
    assert_int_equal(fake_node_connections(nodes->a), 3);
    client_stop(&nodes->client);
}

TEST_GROUP(replicas)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, nodes_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_wait_comes_behind_the_command_on_its_connection),
        TEST(test_one_wait_speaks_of_all_commands_of_a_turn),
        TEST(test_an_acknowledgement_that_has_come_counts),
        TEST(test_each_number_of_replicas_has_its_connection),
        TEST(test_redirects_and_scripts_are_healed_there_too),
        TEST(test_fewer_in_time_is_told_and_not_written_again),
        TEST(test_who_has_time_is_waited_for_again),
        TEST(test_more_time_may_be_given),
        TEST(test_only_those_with_replicas_wait),
        TEST(test_a_node_without_replicas_is_not_written_to),
        TEST(test_who_may_not_look_waits_nevertheless),
        TEST(test_a_refused_wait_is_known_before_anything_is_written),
        TEST(test_a_refused_wait_is_the_reason_until_it_is_allowed),
        TEST(test_a_refused_wait_is_tried_again_ever_less_often),
        TEST(test_what_is_no_count_ends_unknown),
        TEST(test_a_connection_lost_before_the_count_is_unknown),
        TEST(test_a_connection_lost_after_a_low_count_is_unknown),
        TEST(test_the_end_of_the_client_ends_what_waits_for_the_next_count),
        TEST(test_silence_ends_in_time_and_costs_the_connection),
        TEST(test_a_silent_greeting_costs_the_connection),
    };
#undef TEST

    return cmocka_run_group_tests_name("replicas", tests, NULL, NULL);
}
