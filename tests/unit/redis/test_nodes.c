/* test_nodes.c - the whole client against scripted nodes: every answer that a server can give, and
 * every moment at which it can fall silent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/slot.h"
#include "nodes.h"
#include "support/group.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 20000, SHORT_MS = 1000, WAIT_MS = 30000 };

/* A command that time ended: not done, for the reason it waited for; but if its last try was on its
 * way just then, unknown. */
static void assert_ended_by_time(struct outcome outcome, const char *reason)
{
    if (outcome.outcome == REDIS_UNKNOWN) {
        outcome_assert_ended(outcome, REDIS_UNKNOWN, SMQ_UNKNOWN);
        return;
    }
    outcome_assert_ended(outcome, REDIS_NOT_DONE, SMQ_UNAVAILABLE);
    assert_non_null(strstr(outcome.text, reason));
}

static bool reached(void *arg)
{
    return atomic_load((atomic_int *) arg) >= 0;
}

/* --- redirects and repeats --- */

/* A says that B has the hash slot now, and the client follows. */
static void move_to_b(struct nodes *nodes)
{
    nodes_step(nodes->a, "EVALSHA", nodes->moved_b);
    fake_node_rule(nodes->a, "CLUSTER SLOTS", nodes->map_b);
    fake_node_rule(nodes->b, "CLUSTER SLOTS", nodes->map_b);
    outcome_assert_done(nodes_eval(nodes), "2");
}

static void test_moved_is_followed_and_remembered(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    move_to_b(nodes);
    outcome_assert_done(nodes_eval(nodes), "2");
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 1);
    assert_int_equal(fake_node_count(nodes->b, "ASKING"), 0);
    client_stop(&nodes->client);
}

/* A is a seed, so the client stays connected with it; B is nothing but a master of the map. */
static void test_a_node_that_left_the_cluster_is_disconnected(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    move_to_b(nodes);
    nodes_step(nodes->b, "EVALSHA", nodes->moved_a);
    fake_node_rule(nodes->a, "CLUSTER SLOTS", nodes->map_a);
    fake_node_rule(nodes->b, "CLUSTER SLOTS", nodes->map_a);
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_true(fake_node_wait_left(nodes->b));
    outcome_assert_done(nodes_eval(nodes), "1");
    client_stop(&nodes->client);
}

static void test_moved_without_a_host_means_the_same_host(void **state)
{
    struct nodes *nodes = *state;

    fake_node_rule(nodes->a, "CLUSTER SLOTS", nodes->map_b);
    nodes_start(nodes, TIMEOUT_MS);
    nodes_step(nodes->b, "EVALSHA", nodes->moved_a);
    outcome_assert_done(nodes_eval(nodes), "1");
    client_stop(&nodes->client);
}

static void test_moved_to_nowhere_is_asked_again(void **state)
{
    static const char *const texts[] = {"-MOVED 99999 127.0.0.1:1\r\n", "-MOVED\r\n",
                                        "-MOVED 1 ?:7000\r\n", "-MOVED 1 127.0.0.1:1\r\n"};
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        nodes_step(nodes->a, "EVALSHA", texts[i]);
        outcome_assert_done(nodes_eval(nodes), "1");
    }
    client_stop(&nodes->client);
}

static void test_nodes_that_point_at_each_other_do_not_spin(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    fake_node_rule(nodes->a, "EVALSHA", nodes->moved_b);
    fake_node_rule(nodes->b, "EVALSHA", nodes->moved_a);
    struct outcome outcome = client_eval(&nodes->client, &nodes_script, "k", "x", SHORT_MS);
    assert_ended_by_time(outcome, "MOVED");
    assert_in_range(fake_node_count(nodes->a, "EVALSHA"), 2, 400);
    client_stop(&nodes->client);
}

static void test_ask_is_followed_once(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    nodes_step(nodes->a, "EVALSHA", nodes->ask_b);
    outcome_assert_done(nodes_eval(nodes), "2");
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_count(nodes->b, "ASKING"), 1);
    client_stop(&nodes->client);
}

/* The hash slot returned in between: ASK is for one try only, then MOVED counts. */
static void test_ask_is_answered_by_moved(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    nodes_step(nodes->a, "EVALSHA", nodes->ask_b);
    nodes_step(nodes->b, "EVALSHA", nodes->moved_a);
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 2);
    assert_int_equal(fake_node_count(nodes->b, "EVALSHA"), 1);
    client_stop(&nodes->client);
}

static void test_asking_comes_before_every_try(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    nodes_step(nodes->a, "EVALSHA", nodes->ask_b);
    nodes_step(nodes->a, "EVALSHA", nodes->ask_b);
    nodes_step(nodes->a, "EVALSHA", nodes->ask_b);
    nodes_step(nodes->b, "EVALSHA", "-NOSCRIPT No matching script.\r\n");
    nodes_step(nodes->b, "EVALSHA", "-TRYAGAIN Multiple keys request\r\n");
    outcome_assert_done(nodes_eval(nodes), "2");
    assert_int_equal(fake_node_count(nodes->b, "EVALSHA"), 3);
    /* nothing but the greeting, SCRIPT LOAD, and ASKING directly before each EVALSHA */
    for (size_t i = 0, asked = 0; fake_node_command(nodes->b, "", i) != NULL; i++) {
        const char *words = fake_node_command(nodes->b, "", i);
        if (strncmp(words, "EVALSHA", 7) == 0) {
            assert_string_equal(fake_node_command(nodes->b, "", i - 1), "ASKING");
            assert_in_range(++asked, 1, 3);
        }
    }
    client_stop(&nodes->client);
}

static void test_what_was_not_executed_is_repeated(void **state)
{
    static const char *const texts[] = {
        "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
        "-CLUSTERDOWN The cluster is down\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n",
        "-MASTERDOWN Link with MASTER is down\r\n",
        "-READONLY You can't write against a read only replica.\r\n",
        "-BUSY Redis is busy running a script.\r\n",
        "-NOREPLICAS Not enough good replicas to write.\r\n",
    };
    enum { COUNT = sizeof(texts) / sizeof(texts[0]) };
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    for (size_t i = 0; i < COUNT; i++) {
        nodes_step(nodes->a, "EVALSHA", texts[i]);
    }
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), COUNT + 1);
    client_stop(&nodes->client);
}

static void test_the_reason_of_waiting_is_told(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    fake_node_rule(nodes->a, "EVALSHA", "-CLUSTERDOWN Hash slot not served\r\n");
    struct outcome outcome = client_eval(&nodes->client, &nodes_script, "k", "x", SHORT_MS);
    assert_ended_by_time(outcome, "CLUSTERDOWN Hash slot not served");
    client_stop(&nodes->client);
}

static void test_errors_are_told_apart(void **state)
{
    static const struct {
        const char *reply;
        enum redis_outcome outcome;
        smq_status status;
    } cases[] = {
        {"-OOM command not allowed\r\n", REDIS_NOT_DONE, SMQ_FULL},
        {"-MISCONF Redis is configured to save RDB\r\n", REDIS_NOT_DONE, SMQ_UNAVAILABLE},
        {"-NOPERM this user has no permissions\r\n", REDIS_NOT_DONE, SMQ_DENIED},
        {"-CROSSSLOT Keys in request\r\n", REDIS_NOT_DONE, SMQ_INTERNAL},
        {"-ERR non local key script: e0e1f9fa, on @user_script:1.\r\n", REDIS_PARTLY, SMQ_INTERNAL},
        {"-MYERROR nobody knows it\r\n", REDIS_PARTLY, SMQ_INTERNAL},
        {"-UNBLOCKED force unblock\r\n", REDIS_UNKNOWN, SMQ_UNKNOWN},
    };
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        nodes_step(nodes->a, "EVALSHA", cases[i].reply);
        outcome_assert_ended(nodes_eval(nodes), cases[i].outcome, cases[i].status);
    }
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), sizeof(cases) / sizeof(cases[0]));
    client_stop(&nodes->client);
}

/* --- scripts --- */

static void test_a_script_is_loaded_once_and_again_when_it_is_gone(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    outcome_assert_done(nodes_eval(nodes), "1");
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_count(nodes->a, "SCRIPT LOAD return 1"), 1);
    nodes_step(nodes->a, "EVALSHA", "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_count(nodes->a, "SCRIPT LOAD return 1"), 2);
    assert_string_equal(fake_node_command(nodes->a, "EVALSHA", 0), "EVALSHA e0e1f9fa 1 k x");
    client_stop(&nodes->client);
}

static void test_a_script_that_cannot_be_loaded_says_why(void **state)
{
    static const struct {
        const char *reply;
        smq_status status;
    } cases[] = {
        {"-NOPERM this user has no permissions to run the 'script|load' command\r\n", SMQ_DENIED},
        {"-ERR Error compiling script (new function)\r\n", SMQ_INTERNAL},
    };
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    fake_node_rule(nodes->a, "EVALSHA", "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_node_rule(nodes->a, "SCRIPT LOAD", cases[i].reply);
        struct outcome outcome = nodes_eval(nodes);
        outcome_assert_ended(outcome, REDIS_NOT_DONE, cases[i].status);
        assert_non_null(strstr(outcome.text, "script count cannot be loaded"));
    }
    client_stop(&nodes->client);
}

/* --- lost replies --- */

static void test_a_lost_reply_is_unknown_and_never_repeated(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    fake_node_step(nodes->a, &(struct fake_step){.command = "EVALSHA", .close = true});
    outcome_assert_ended(nodes_eval(nodes), REDIS_UNKNOWN, SMQ_UNKNOWN);
    assert_int_equal(fake_node_count(nodes->a, "EVALSHA"), 1);
    outcome_assert_done(nodes_eval(nodes), "1"); /* over a new connection */
    client_stop(&nodes->client);
}

static void test_half_a_reply_is_unknown(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    fake_node_step(nodes->a, &(struct fake_step){
                                 .command = "EVALSHA", .reply = "*2\r\n:1\r\n", .close = true});
    outcome_assert_ended(nodes_eval(nodes), REDIS_UNKNOWN, SMQ_UNKNOWN);
    client_stop(&nodes->client);
}

static void test_bad_replies_cost_the_connection_only(void **state)
{
    static const char *const texts[] = {
        "hello\r\n", "*100000000\r\n",     "*65\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
        "$-5\r\n",   ":1\r\n:2\r\n:3\r\n", /* the first is good, the rest nobody asked for */
    };
    enum { COUNT = sizeof(texts) / sizeof(texts[0]) };
    struct nodes *nodes = *state;

    nodes_start(nodes, TIMEOUT_MS);
    for (size_t i = 0; i < COUNT; i++) {
        nodes_step(nodes->a, "EVALSHA", texts[i]);
        struct outcome outcome = nodes_eval(nodes);
        if (i + 1 < COUNT) {
            outcome_assert_ended(outcome, REDIS_UNKNOWN, SMQ_UNKNOWN);
        }
        (void) nodes_eval(nodes);
    }
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_in_range(fake_node_connections(nodes->a), COUNT, COUNT + 2);
    client_stop(&nodes->client);
}

static void test_silence_ends_unknown(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, 2000);
    nodes_step(nodes->a, "EVALSHA", NULL);
    outcome_assert_ended(nodes_eval(nodes), REDIS_UNKNOWN, SMQ_UNKNOWN);
    outcome_assert_done(client_eval(&nodes->client, &nodes_script, "k", "x", TIMEOUT_MS), "1");
    assert_int_equal(fake_node_connections(nodes->a), 2); /* the silent one was given up */
    client_stop(&nodes->client);
}

enum { DRIP_MAX = 1000000, DRIP_TIMEOUT_MS = 3000 };

/* A reply that comes byte by byte. */
struct drip {
    struct fake_node *node;
    const atomic_int *ended;
    int sent;
};

static bool drip_until_ended(void *arg)
{
    struct drip *drip = arg;

    fake_node_send(drip->node, "x");
    drip->sent++;
    return atomic_load(drip->ended) >= 0;
}

/* It is too slow for its command, but who sends it lives: the connection serves the next one. */
static void test_a_slow_reply_is_not_silence(void **state)
{
    struct nodes *nodes = *state;
    struct pending slow = {0};
    atomic_int ended = -1;
    struct drip drip = {.node = nodes->a, .ended = &ended};
    char *rest = memory_new(DRIP_MAX + 3);

    nodes_start(nodes, DRIP_TIMEOUT_MS);
    outcome_assert_done(client_eval(&nodes->client, &nodes_script, "k", "x", DRIP_TIMEOUT_MS), "1");
    nodes_step(nodes->a, "EVALSHA", "$1000000\r\n");
    nodes_step(nodes->a, "CLUSTER SLOTS", NULL); /* the time-out makes the client ask: in order */
    slow.ended = &ended;
    client_post_eval(&nodes->client, &slow, &nodes_script, "k", "x", DRIP_TIMEOUT_MS);
    assert_true(fake_node_wait(nodes->a, "EVALSHA", 2));
    assert_true(wait_until(drip_until_ended, &drip, WAIT_MS));
    outcome_assert_ended(slow.outcome, REDIS_UNKNOWN, SMQ_UNKNOWN);
    assert_true(fake_node_wait(nodes->a, "CLUSTER SLOTS", 2));
    memset(rest, 'x', (size_t) (DRIP_MAX - drip.sent));
    memcpy(rest + DRIP_MAX - drip.sent, "\r\n", 3);
    fake_node_send(nodes->a, rest);
    fake_node_send(nodes->a, nodes->map_a);
    outcome_assert_done(client_eval(&nodes->client, &nodes_script, "k", "x", TIMEOUT_MS), "1");
    assert_int_equal(fake_node_connections(nodes->a), 1);
    free(rest);
    client_stop(&nodes->client);
}

/* One who waits only briefly must not cut off the others. */
static void test_a_short_time_out_does_not_cut_the_connection(void **state)
{
    struct nodes *nodes = *state;
    struct pending other = {0};
    atomic_int ended = -1;

    nodes_start(nodes, TIMEOUT_MS);
    outcome_assert_done(nodes_eval(nodes), "1");
    nodes_step(nodes->a, "EVALSHA", NULL);
    nodes_step(nodes->a, "EVALSHA", NULL);
    nodes_step(nodes->a, "CLUSTER SLOTS", NULL); /* the time-out makes the client ask: in order */
    other.ended = &ended;
    client_post_eval(&nodes->client, &other, &nodes_script, "other", "x", TIMEOUT_MS);
    assert_true(fake_node_wait(nodes->a, "EVALSHA", 2));
    struct outcome outcome = client_eval(&nodes->client, &nodes_script, "k", "x", SHORT_MS);
    outcome_assert_ended(outcome, REDIS_UNKNOWN, SMQ_UNKNOWN);
    fake_node_send(nodes->a, ":7\r\n:8\r\n");
    assert_true(wait_until(reached, &ended, WAIT_MS));
    outcome_assert_done(other.outcome, "7");
    assert_int_equal(fake_node_connections(nodes->a), 1);
    client_stop(&nodes->client);
}

static void test_order_is_kept_across_a_move(void **state)
{
    enum { COUNT = 200 };
    struct nodes *nodes = *state;
    struct pending *pending = calloc(COUNT, sizeof(*pending));
    atomic_int left = -COUNT;

    nodes_start(nodes, TIMEOUT_MS);
    for (int i = 0; i < COUNT; i++) {
        char text[16];
        (void) snprintf(text, sizeof(text), "n%d.", i);
        pending[i].ended = &left;
        if (i == COUNT / 2) {
            fake_node_rule(nodes->a, "CLUSTER SLOTS", nodes->map_b);
            fake_node_rule(nodes->b, "CLUSTER SLOTS", nodes->map_b);
            fake_node_rule(nodes->a, "EVALSHA", nodes->moved_b);
        }
        client_post_eval(&nodes->client, &pending[i], &nodes_script, "k", text, 0);
    }
    assert_true(wait_until(reached, &left, WAIT_MS));
    int next = 0;
    for (int node = 0; node < 2; node++) {
        struct fake_node *at = node == 0 ? nodes->a : nodes->b;
        for (size_t i = 0; fake_node_command(at, "EVALSHA e0e1f9fa 1 k n", i) != NULL; i++) {
            int number = atoi(fake_node_command(at, "EVALSHA e0e1f9fa 1 k n", i) + 22);
            if (number == next) {
                next++;
            } else {
                assert_int_equal(number, next); /* A was asked, and sent us to B */
            }
        }
        next -= node == 0 && next < COUNT ? 1 : 0; /* the last at A was redirected */
    }
    assert_int_equal(next, COUNT);
    client_stop(&nodes->client);
    free(pending);
}

struct seen {
    struct fake_node *node;
    const char *command;
};

static bool is_seen(void *arg)
{
    const struct seen *seen = arg;

    return fake_node_command(seen->node, seen->command, 0) != NULL;
}

/* Nothing is answered: the second one waits for the first, and the third one for none of them. */
static void test_commands_apart_do_not_wait_for_others(void **state)
{
    static const char *const words[] = {"first", "second", "third"};
    struct nodes *nodes = *state;
    struct seen second = {nodes->a, "EVALSHA e0e1f9fa 1 k second"};
    struct seen third = {nodes->a, "EVALSHA e0e1f9fa 1 k third"};
    struct pending pending[3] = {0};
    atomic_int ended = -3;

    nodes_start(nodes, TIMEOUT_MS);
    nodes_step(nodes->a, "EVALSHA", NULL);
    nodes_step(nodes->a, "EVALSHA", NULL);
    for (int i = 0; i < 3; i++) {
        pending[i].ended = &ended;
        pending[i].command.apart = i == 2;
        client_post_eval(&nodes->client, &pending[i], &nodes_script, "k", words[i], 0);
    }
    assert_true(wait_until(is_seen, &third, WAIT_MS));
    assert_false(is_seen(&second));
    client_stop(&nodes->client);
    assert_true(reached(&ended));
}

/* A command that does not wait for a server. */
struct impatient {
    struct redis_command command;
    struct nodes *nodes;
    struct outcome outcome;
    atomic_int ended;
};

static void on_impatient_done(const struct redis_result *result, void *user)
{
    struct impatient *impatient = user;

    impatient->outcome.outcome = result->outcome;
    impatient->outcome.status = result->status;
    (void) snprintf(impatient->outcome.text, sizeof(impatient->outcome.text), "%s", result->text);
    atomic_store(&impatient->ended, 0);
}

static void send_impatient(void *arg)
{
    struct impatient *impatient = arg;

    redis_command_init(&impatient->command, &nodes_script, slot_hash("k", 1), on_impatient_done,
                       impatient);
    impatient->command.once = true;
    redis_arg_string(&impatient->command, "k");
    redis_send(impatient->nodes->client.redis, &impatient->command);
}

static struct outcome eval_once(struct nodes *nodes)
{
    struct impatient impatient = {.nodes = nodes};

    atomic_init(&impatient.ended, -1);
    client_call(&nodes->client, send_impatient, &impatient);
    assert_true(wait_until(reached, &impatient.ended, WAIT_MS));
    redis_command_fini(&impatient.command);
    return impatient.outcome;
}

static bool is_refused_once(void *arg)
{
    return eval_once(arg).outcome == REDIS_NOT_DONE;
}

/* Without waiting, each of these ends long before the time-out of the test. */
static void test_some_commands_do_not_wait(void **state)
{
    struct nodes *nodes = *state;

    nodes_start(nodes, 1000000);
    assert_int_equal(eval_once(nodes).outcome, REDIS_DONE);
    nodes_step(nodes->a, "EVALSHA", "-CLUSTERDOWN The cluster is down\r\n");
    outcome_assert_ended(eval_once(nodes), REDIS_NOT_DONE, SMQ_UNAVAILABLE);
    nodes_step(nodes->a, "EVALSHA", nodes->moved_b);
    assert_int_equal(eval_once(nodes).outcome, REDIS_DONE);
    fake_node_stop(nodes->a);
    fake_node_stop(nodes->b);
    assert_true(wait_until(is_refused_once, nodes, WAIT_MS));
    outcome_assert_ended(eval_once(nodes), REDIS_NOT_DONE, SMQ_UNAVAILABLE);
    client_stop(&nodes->client);
}

/* One in flight, one behind it, one whose server is away. */
static void test_closing_tells_what_is_known(void **state)
{
    struct nodes *nodes = *state;
    struct pending pending[3] = {0};
    atomic_int ended = -3;
    int slot = slot_hash("k", 1);
    char text[256];

    (void) snprintf(text, sizeof(text),
                    "*2\r\n*3\r\n:0\r\n:%d\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n"
                    "*3\r\n:%d\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n",
                    slot, fake_node_port(nodes->a), slot + 1);
    fake_node_rule(nodes->a, "CLUSTER SLOTS", text);
    fake_node_rule(nodes->a, "EVALSHA", NULL);
    nodes_start(nodes, TIMEOUT_MS);
    for (int i = 0; i < 3; i++) {
        pending[i].ended = &ended;
        client_post_eval(&nodes->client, &pending[i], &nodes_script, i < 2 ? "k" : "foo", "x", 0);
    }
    assert_true(slot_hash("foo", 3) > slot);
    assert_true(fake_node_wait(nodes->a, "EVALSHA", 1));
    client_stop(&nodes->client);
    assert_int_equal(atomic_load(&ended), 0);
    outcome_assert_ended(pending[0].outcome, REDIS_UNKNOWN, SMQ_UNKNOWN);
    outcome_assert_ended(pending[1].outcome, REDIS_NOT_DONE, SMQ_CLOSED);
    outcome_assert_ended(pending[2].outcome, REDIS_NOT_DONE, SMQ_CLOSED);
}

/* --- what tells the cluster from others --- */

struct fingerprint_seen {
    struct client *client;
    struct fingerprint fingerprint;
    atomic_int times;
};

static void on_fingerprint(const struct fingerprint *fingerprint, void *user)
{
    struct fingerprint_seen *seen = user;

    seen->fingerprint = *fingerprint;
    atomic_fetch_add(&seen->times, 1);
}

static void watch(void *arg)
{
    struct fingerprint_seen *seen = arg;

    redis_watch_fingerprint(seen->client->redis, on_fingerprint, seen);
}

static void forget(void *arg)
{
    struct fingerprint_seen *seen = arg;

    redis_watch_fingerprint(seen->client->redis, NULL, NULL);
}

static bool was_told_twice(void *arg)
{
    return atomic_load(&((struct fingerprint_seen *) arg)->times) == 2;
}

/* A node serves everything and has this id. */
static void map_with_id(char *out, size_t size, const struct fake_node *node, const char *id)
{
    (void) snprintf(out, size,
                    "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$2\r\n%s\r\n",
                    fake_node_port(node), id);
}

static bool has_fingerprint(struct fingerprint_seen *seen, const char *id)
{
    struct fingerprint wanted = {0};

    fingerprint_add(&wanted, id, strlen(id));
    return fingerprint_equal(&seen->fingerprint, &wanted);
}

static void test_a_fingerprint_is_told_now_and_when_it_changes(void **state)
{
    struct nodes *nodes = *state;
    struct fingerprint_seen seen = {.client = &nodes->client};
    char of_a[128], of_b[128];

    map_with_id(of_a, sizeof(of_a), nodes->a, "ia");
    map_with_id(of_b, sizeof(of_b), nodes->b, "ib");
    fake_node_rule(nodes->a, "CLUSTER SLOTS", of_a);
    nodes_start(nodes, TIMEOUT_MS);
    client_call(&nodes->client, watch, &seen);
    assert_int_equal(seen.times, 1);
    assert_true(has_fingerprint(&seen, "ia"));

    nodes_step(nodes->a, "EVALSHA", nodes->moved_a); /* which asks for the map: it is the same */
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_true(fake_node_wait(nodes->a, "CLUSTER SLOTS", 2));
    nodes_step(nodes->a, "EVALSHA", nodes->moved_b);
    fake_node_rule(nodes->a, "CLUSTER SLOTS", of_b);
    fake_node_rule(nodes->b, "CLUSTER SLOTS", of_b);
    outcome_assert_done(nodes_eval(nodes), "2");
    assert_true(wait_until(was_told_twice, &seen, WAIT_MS));
    client_call(&nodes->client, forget, &seen);
    assert_int_equal(seen.times, 2);
    assert_true(has_fingerprint(&seen, "ib"));
    client_stop(&nodes->client);
}

static void test_a_single_server_has_no_fingerprint(void **state)
{
    struct nodes *nodes = *state;
    struct fingerprint_seen seen = {.client = &nodes->client};

    fake_node_rule(nodes->a, "CLUSTER SLOTS",
                   "-ERR This instance has cluster support disabled\r\n");
    nodes_start(nodes, TIMEOUT_MS);
    client_call(&nodes->client, watch, &seen);
    outcome_assert_done(nodes_eval(nodes), "1");
    client_call(&nodes->client, forget, &seen);
    assert_int_equal(seen.times, 0);
    client_stop(&nodes->client);
}

TEST_GROUP(nodes)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, nodes_set_up, nodes_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_moved_is_followed_and_remembered),
        TEST(test_a_node_that_left_the_cluster_is_disconnected),
        TEST(test_moved_without_a_host_means_the_same_host),
        TEST(test_moved_to_nowhere_is_asked_again),
        TEST(test_nodes_that_point_at_each_other_do_not_spin),
        TEST(test_ask_is_followed_once),
        TEST(test_ask_is_answered_by_moved),
        TEST(test_asking_comes_before_every_try),
        TEST(test_what_was_not_executed_is_repeated),
        TEST(test_the_reason_of_waiting_is_told),
        TEST(test_errors_are_told_apart),
        TEST(test_a_script_is_loaded_once_and_again_when_it_is_gone),
        TEST(test_a_script_that_cannot_be_loaded_says_why),
        TEST(test_a_lost_reply_is_unknown_and_never_repeated),
        TEST(test_half_a_reply_is_unknown),
        TEST(test_bad_replies_cost_the_connection_only),
        TEST(test_silence_ends_unknown),
        TEST(test_a_slow_reply_is_not_silence),
        TEST(test_a_short_time_out_does_not_cut_the_connection),
        TEST(test_order_is_kept_across_a_move),
        TEST(test_commands_apart_do_not_wait_for_others),
        TEST(test_some_commands_do_not_wait),
        TEST(test_closing_tells_what_is_known),
        TEST(test_a_fingerprint_is_told_now_and_when_it_changes),
        TEST(test_a_single_server_has_no_fingerprint),
    };
#undef TEST

    return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
