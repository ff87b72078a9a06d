/* test_reach.c - when a client says that no node answers it, and what it asks before. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "nodes.h"
#include "redis/reach.h"
#include "support/group.h"
#include "support/wait.h"

/* --- counting --- */

enum { QUIET_MS = 2000, LOST_MS = 10000, TICK_MS = 1000 };

static const struct reach_timings timings = {
    .tick = TICK_MS, .quiet = QUIET_MS, .idle = 5000, .lost = LOST_MS};

/* One look at the clock, and what follows. */
struct look {
    int64_t now_ms, heard_ms;
    enum reach_step step;
};

struct story {
    const char *name;
    struct look looks[16]; /* until now_ms is 0 */
};

static void a_client_is_lost_after_it_has_asked_in_vain(void **state)
{
    static const struct story stories[] = {
        {"answers come all the time",
         {{1000, 900, REACH_NONE}, {2000, 1900, REACH_NONE}, {3000, 2990, REACH_NONE}}},
        {"it is idle, asks, and is answered in the same millisecond",
         {{1000, 500, REACH_NONE},
          {2000, 500, REACH_NONE},
          {3000, 500, REACH_TRY},
          {4000, 3000, REACH_NONE},
          {5000, 3000, REACH_TRY},
          {6000, 5001, REACH_NONE}}},
        {"nothing answers: 10 s from the first question on, not from the last answer",
         {{1000, 900, REACH_NONE},
          {2900, 900, REACH_TRY},
          {5900, 900, REACH_ASK},
          {8900, 900, REACH_ASK},
          {11900, 900, REACH_ASK},
          {12899, 900, REACH_ASK},
          {12900, 900, REACH_LOST},
          {13900, 900, REACH_ASK},
          {14900, 14000, REACH_BACK},
          {15900, 15800, REACH_NONE}}},
        {"one answer in time begins it again",
         {{3000, 100, REACH_TRY},
          {6000, 100, REACH_ASK},
          {9000, 100, REACH_ASK},
          {12000, 11999, REACH_NONE},
          {14000, 11999, REACH_TRY},
          {17000, 11999, REACH_ASK},
          {20000, 11999, REACH_ASK},
          {23000, 11999, REACH_ASK},
          {24000, 11999, REACH_LOST}}},
        {"the process was stopped before it had asked",
         {{1000, 900, REACH_NONE},
          {61000, 900, REACH_TRY},
          {64000, 900, REACH_ASK},
          {67000, 900, REACH_ASK},
          {70000, 900, REACH_ASK},
          {71000, 900, REACH_LOST}}},
        {"the process was stopped while it asked",
         {{3000, 100, REACH_TRY},
          {6000, 100, REACH_ASK},
          {66000, 100, REACH_ASK},
          {69000, 100, REACH_ASK},
          {72000, 100, REACH_ASK},
          {75000, 100, REACH_ASK},
          {76000, 100, REACH_LOST}}},
        {"the process was stopped, and the answer was there when it woke",
         {{3000, 100, REACH_TRY}, {63000, 100, REACH_ASK}, {64000, 63000, REACH_NONE}}},
        {"it stays lost after a stop, until something answers",
         {{3000, 100, REACH_TRY},
          {6000, 100, REACH_ASK},
          {9000, 100, REACH_ASK},
          {12000, 100, REACH_ASK},
          {13000, 100, REACH_LOST},
          {73000, 100, REACH_ASK},
          {76000, 100, REACH_ASK},
          {79000, 100, REACH_ASK},
          {82000, 100, REACH_ASK},
          {84000, 100, REACH_ASK},
          {85000, 84500, REACH_BACK}}},
    };

    for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
        struct reach_count count = {0};

        print_message("%s\n", stories[i].name);
        for (const struct look *at = stories[i].looks; at->now_ms != 0; at++) {
            assert_int_equal(reach_count_step(&count, &timings, at->heard_ms, at->now_ms),
                             at->step);
        }
    }
}

/* --- a client and two nodes --- */

enum { TIMEOUT_MS = 300, WAIT_MS = 30000 };

struct watched {
    struct client *client;
    atomic_int lost, back;
};

static void on_changed(bool reached, void *user)
{
    struct watched *watched = user;

    assert_true(redis_is_reached(watched->client->redis) == reached);
    atomic_fetch_add(reached ? &watched->back : &watched->lost, 1);
}

static void watch(void *arg)
{
    struct watched *watched = arg;

    redis_watch_reach(watched->client->redis, on_changed, watched);
}

static bool is_lost(void *arg)
{
    return atomic_load(&((struct watched *) arg)->lost) == 1;
}

static bool is_back(void *arg)
{
    return atomic_load(&((struct watched *) arg)->back) == 1;
}

static struct reach_timings usual;

static int set_up(void **state)
{
    usual = reach_timings;
    reach_timings = (struct reach_timings){.tick = 20, .quiet = 40, .idle = 60, .lost = 400};
    return nodes_set_up(state);
}

static int tear_down(void **state)
{
    reach_timings = usual;
    return nodes_tear_down(state);
}

static void start_watching(struct nodes *nodes, struct watched *watched)
{
    nodes_start(nodes, TIMEOUT_MS);
    watched->client = &nodes->client;
    client_call(&nodes->client, watch, watched);
}

static void an_idle_client_asks_and_stays(void **state)
{
    struct nodes *nodes = *state;
    struct watched watched = {0};

    start_watching(nodes, &watched);
    assert_true(fake_node_wait(nodes->a, "PING", 30));
    assert_int_equal(atomic_load(&watched.lost), 0);
    assert_int_equal(fake_node_connections(nodes->a), 1);
    client_stop(&nodes->client);
}

static void a_node_that_is_gone_is_found_again(void **state)
{
    struct nodes *nodes = *state;
    struct watched watched = {0};

    start_watching(nodes, &watched);
    fake_node_stop(nodes->a);
    assert_true(wait_until(is_lost, &watched, WAIT_MS));
    fake_node_start(nodes->a);
    assert_true(wait_until(is_back, &watched, WAIT_MS));
    outcome_assert_done(nodes_eval(nodes), "1");
    client_stop(&nodes->client);
}

/* Its connections stay, and it takes new ones, but nothing comes. */
static void a_node_that_is_silent_is_lost(void **state)
{
    struct nodes *nodes = *state;
    struct watched watched = {0};

    start_watching(nodes, &watched);
    fake_node_rule(nodes->a, "PING", NULL);
    fake_node_rule(nodes->a, "INFO", NULL);
    fake_node_rule(nodes->a, "CLUSTER SLOTS", NULL);
    assert_true(wait_until(is_lost, &watched, WAIT_MS));
    fake_node_rule(nodes->a, "INFO", "$32\r\n# Server\r\nredis_version:7.0.15\r\n\r\n");
    assert_true(wait_until(is_back, &watched, WAIT_MS));
    client_stop(&nodes->client);
}

/* A refusal is an answer. */
static void a_node_that_refuses_is_reached(void **state)
{
    struct nodes *nodes = *state;
    struct watched watched = {0};

    start_watching(nodes, &watched);
    fake_node_rule(nodes->a, "PING", "-NOPERM this user has no permissions\r\n");
    assert_true(fake_node_wait(nodes->a, "PING", 30));
    assert_int_equal(atomic_load(&watched.lost), 0);
    client_stop(&nodes->client);
}

/* The client knows of B by a subscription or a command; here by a redirect. */
static void a_client_that_one_of_two_nodes_answers_is_not_lost(void **state)
{
    struct nodes *nodes = *state;
    struct watched watched = {0};

    start_watching(nodes, &watched);
    nodes_step(nodes->a, "EVALSHA", nodes->ask_b);
    outcome_assert_done(nodes_eval(nodes), "2");
    fake_node_rule(nodes->b, "PING", NULL);
    assert_true(fake_node_wait(nodes->b, "PING", 1));
    assert_true(fake_node_wait(nodes->a, "PING", fake_node_count(nodes->a, "PING") + 30));
    assert_int_equal(atomic_load(&watched.lost), 0);
    client_stop(&nodes->client);
}

TEST_GROUP(reach)
{
#define WITH_NODES(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_is_lost_after_it_has_asked_in_vain),
        WITH_NODES(an_idle_client_asks_and_stays),
        WITH_NODES(a_node_that_is_gone_is_found_again),
        WITH_NODES(a_node_that_is_silent_is_lost),
        WITH_NODES(a_node_that_refuses_is_reached),
        WITH_NODES(a_client_that_one_of_two_nodes_answers_is_not_lost),
    };
#undef WITH_NODES

    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
