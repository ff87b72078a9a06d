/* test_nodes.c - the whole client against scripted nodes: every answer that a server can give, and
 * every moment at which it can fall silent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netdb.h>
#include <netinet/in.h>

#include "../../integration/redis/client.h"
#include "base/memory.h"
#include "fake_node.h"
#include "model/slot.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 20000, SHORT_MS = 150, WAIT_MS = 30000 };

static const struct script script = {
    .name = "count", .text = "return 1", .text_len = 8, .sha1 = "e0e1f9fa", .keys = 1};

/* Two nodes of a cluster, of which A serves everything, and a buffer for each text. */
struct fixture {
    struct fake_node *a, *b;
    struct client client;
    char map_a[128], map_b[128], moved_b[64], moved_a[64], ask_b[64];
};

static void map_text(char *out, size_t size, const struct fake_node *node)
{
    (void) snprintf(out, size, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n",
                    fake_node_port(node));
}

static int set_up(void **state)
{
    struct fixture *fixture = memory_new(sizeof(*fixture));
    int slot = slot_hash("k", 1);

    fixture->a = fake_node_new();
    fixture->b = fake_node_new();
    map_text(fixture->map_a, sizeof(fixture->map_a), fixture->a);
    map_text(fixture->map_b, sizeof(fixture->map_b), fixture->b);
    (void) snprintf(fixture->moved_b, sizeof(fixture->moved_b), "-MOVED %d %s\r\n", slot,
                    fake_node_address(fixture->b));
    (void) snprintf(fixture->moved_a, sizeof(fixture->moved_a), "-MOVED %d :%d\r\n", slot,
                    fake_node_port(fixture->a));
    (void) snprintf(fixture->ask_b, sizeof(fixture->ask_b), "-ASK %d %s\r\n", slot,
                    fake_node_address(fixture->b));
    fake_node_rule(fixture->a, "CLUSTER SLOTS", fixture->map_a);
    fake_node_rule(fixture->b, "CLUSTER SLOTS", fixture->map_a);
    fake_node_rule(fixture->a, "EVALSHA", ":1\r\n");
    fake_node_rule(fixture->b, "EVALSHA", ":2\r\n");
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    fake_node_free(fixture->a);
    fake_node_free(fixture->b);
    free(fixture);
    return 0;
}

static void start_with(struct fixture *fixture, int64_t timeout_ms)
{
    client_start(&fixture->client, fake_node_address(fixture->a), timeout_ms);
    assert_string_equal(fixture->client.ready_text, "");
    assert_int_equal(fixture->client.ready, SMQ_OK);
}

static void start(struct fixture *fixture)
{
    start_with(fixture, TIMEOUT_MS);
}

static struct outcome eval(struct fixture *fixture)
{
    return client_eval(&fixture->client, &script, "k", "x", 0);
}

static void assert_done(struct outcome outcome, const char *text)
{
    assert_string_equal(outcome.text, text);
    assert_int_equal(outcome.outcome, REDIS_DONE);
    assert_int_equal(outcome.status, SMQ_OK);
}

static void assert_ended(struct outcome outcome, enum redis_outcome expected, smq_status status)
{
    print_message("%s\n", outcome.text);
    assert_int_equal(outcome.outcome, expected);
    assert_int_equal(outcome.status, status);
    assert_string_not_equal(outcome.text, "");
}

static void step(struct fake_node *node, const char *command, const char *reply)
{
    fake_node_step(node, &(struct fake_step){.command = command, .reply = reply});
}

static bool reached(void *arg)
{
    return atomic_load((atomic_int *) arg) >= 0;
}

static bool is_done(void *arg)
{
    return eval(arg).outcome == REDIS_DONE;
}

/* --- redirects and repeats --- */

static void test_moved_is_followed_and_remembered(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    step(fixture->a, "EVALSHA", fixture->moved_b);
    fake_node_rule(fixture->a, "CLUSTER SLOTS", fixture->map_b);
    fake_node_rule(fixture->b, "CLUSTER SLOTS", fixture->map_b);
    assert_done(eval(fixture), "2");
    assert_done(eval(fixture), "2");
    assert_int_equal(fake_node_count(fixture->a, "EVALSHA"), 1);
    assert_int_equal(fake_node_count(fixture->b, "ASKING"), 0);
    client_stop(&fixture->client);
}

static void test_moved_without_a_host_means_the_same_host(void **state)
{
    struct fixture *fixture = *state;

    fake_node_rule(fixture->a, "CLUSTER SLOTS", fixture->map_b);
    start(fixture);
    step(fixture->b, "EVALSHA", fixture->moved_a);
    assert_done(eval(fixture), "1");
    client_stop(&fixture->client);
}

static void test_moved_to_nowhere_is_asked_again(void **state)
{
    static const char *const texts[] = {"-MOVED 99999 127.0.0.1:1\r\n", "-MOVED\r\n",
                                        "-MOVED 1 ?:7000\r\n", "-MOVED 1 127.0.0.1:1\r\n"};
    struct fixture *fixture = *state;

    start(fixture);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        step(fixture->a, "EVALSHA", texts[i]);
        assert_done(eval(fixture), "1");
    }
    client_stop(&fixture->client);
}

static void test_nodes_that_point_at_each_other_do_not_spin(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    fake_node_rule(fixture->a, "EVALSHA", fixture->moved_b);
    fake_node_rule(fixture->b, "EVALSHA", fixture->moved_a);
    struct outcome outcome = client_eval(&fixture->client, &script, "k", "x", 500);
    assert_ended(outcome, REDIS_NOT_DONE, SMQ_UNAVAILABLE);
    assert_non_null(strstr(outcome.text, "MOVED"));
    assert_in_range(fake_node_count(fixture->a, "EVALSHA"), 2, 200);
    client_stop(&fixture->client);
}

static void test_ask_is_followed_once(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    step(fixture->a, "EVALSHA", fixture->ask_b);
    assert_done(eval(fixture), "2");
    assert_done(eval(fixture), "1");
    assert_int_equal(fake_node_count(fixture->b, "ASKING"), 1);
    client_stop(&fixture->client);
}

static void test_asking_comes_before_every_try(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    step(fixture->a, "EVALSHA", fixture->ask_b);
    step(fixture->a, "EVALSHA", fixture->ask_b);
    step(fixture->a, "EVALSHA", fixture->ask_b);
    step(fixture->b, "EVALSHA", "-NOSCRIPT No matching script.\r\n");
    step(fixture->b, "EVALSHA", "-TRYAGAIN Multiple keys request\r\n");
    assert_done(eval(fixture), "2");
    assert_int_equal(fake_node_count(fixture->b, "EVALSHA"), 3);
    /* nothing but the greeting, SCRIPT LOAD, and ASKING directly before each EVALSHA */
    for (size_t i = 0, asked = 0; fake_node_command(fixture->b, "", i) != NULL; i++) {
        const char *words = fake_node_command(fixture->b, "", i);
        if (strncmp(words, "EVALSHA", 7) == 0) {
            assert_string_equal(fake_node_command(fixture->b, "", i - 1), "ASKING");
            assert_in_range(++asked, 1, 3);
        }
    }
    client_stop(&fixture->client);
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
    struct fixture *fixture = *state;

    start(fixture);
    for (size_t i = 0; i < COUNT; i++) {
        step(fixture->a, "EVALSHA", texts[i]);
    }
    assert_done(eval(fixture), "1");
    assert_int_equal(fake_node_count(fixture->a, "EVALSHA"), COUNT + 1);
    client_stop(&fixture->client);
}

static void test_the_reason_of_waiting_is_told(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    fake_node_rule(fixture->a, "EVALSHA", "-CLUSTERDOWN Hash slot not served\r\n");
    struct outcome outcome = client_eval(&fixture->client, &script, "k", "x", SHORT_MS);
    assert_ended(outcome, REDIS_NOT_DONE, SMQ_UNAVAILABLE);
    assert_non_null(strstr(outcome.text, "CLUSTERDOWN Hash slot not served"));
    client_stop(&fixture->client);
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
        {"-NOAUTH Authentication required.\r\n", REDIS_NOT_DONE, SMQ_DENIED},
        {"-CROSSSLOT Keys in request\r\n", REDIS_NOT_DONE, SMQ_INTERNAL},
        {"-ERR non local key script: e0e1f9fa, on @user_script:1.\r\n", REDIS_PARTLY, SMQ_INTERNAL},
        {"-MYERROR nobody knows it\r\n", REDIS_PARTLY, SMQ_INTERNAL},
        {"-UNBLOCKED force unblock\r\n", REDIS_UNKNOWN, SMQ_UNKNOWN},
    };
    struct fixture *fixture = *state;

    start(fixture);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        step(fixture->a, "EVALSHA", cases[i].reply);
        assert_ended(eval(fixture), cases[i].outcome, cases[i].status);
    }
    assert_int_equal(fake_node_count(fixture->a, "EVALSHA"), sizeof(cases) / sizeof(cases[0]));
    client_stop(&fixture->client);
}

/* --- scripts --- */

static void test_a_script_is_loaded_once_and_again_when_it_is_gone(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    assert_done(eval(fixture), "1");
    assert_done(eval(fixture), "1");
    assert_int_equal(fake_node_count(fixture->a, "SCRIPT LOAD return 1"), 1);
    step(fixture->a, "EVALSHA", "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    assert_done(eval(fixture), "1");
    assert_int_equal(fake_node_count(fixture->a, "SCRIPT LOAD return 1"), 2);
    assert_string_equal(fake_node_command(fixture->a, "EVALSHA", 0), "EVALSHA e0e1f9fa 1 k x");
    client_stop(&fixture->client);
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
    struct fixture *fixture = *state;

    start(fixture);
    fake_node_rule(fixture->a, "EVALSHA", "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_node_rule(fixture->a, "SCRIPT LOAD", cases[i].reply);
        struct outcome outcome = eval(fixture);
        assert_ended(outcome, REDIS_NOT_DONE, cases[i].status);
        assert_non_null(strstr(outcome.text, "script count cannot be loaded"));
    }
    client_stop(&fixture->client);
}

/* --- lost replies --- */

static void test_a_lost_reply_is_unknown_and_never_repeated(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    fake_node_step(fixture->a, &(struct fake_step){.command = "EVALSHA", .close = true});
    assert_ended(eval(fixture), REDIS_UNKNOWN, SMQ_UNKNOWN);
    assert_int_equal(fake_node_count(fixture->a, "EVALSHA"), 1);
    assert_done(eval(fixture), "1"); /* over a new connection */
    client_stop(&fixture->client);
}

static void test_half_a_reply_is_unknown(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    fake_node_step(fixture->a, &(struct fake_step){
                                   .command = "EVALSHA", .reply = "*2\r\n:1\r\n", .close = true});
    assert_ended(eval(fixture), REDIS_UNKNOWN, SMQ_UNKNOWN);
    client_stop(&fixture->client);
}

static void test_bad_replies_cost_the_connection_only(void **state)
{
    static const char *const texts[] = {
        "hello\r\n", "*100000000\r\n",     "*65\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
        "$-5\r\n",   ":1\r\n:2\r\n:3\r\n", /* the first is good, the rest nobody asked for */
    };
    enum { COUNT = sizeof(texts) / sizeof(texts[0]) };
    struct fixture *fixture = *state;

    start(fixture);
    for (size_t i = 0; i < COUNT; i++) {
        step(fixture->a, "EVALSHA", texts[i]);
        struct outcome outcome = eval(fixture);
        if (i + 1 < COUNT) {
            assert_ended(outcome, REDIS_UNKNOWN, SMQ_UNKNOWN);
        }
        (void) eval(fixture);
    }
    assert_done(eval(fixture), "1");
    assert_in_range(fake_node_connections(fixture->a), COUNT, COUNT + 2);
    client_stop(&fixture->client);
}

static void test_silence_ends_unknown(void **state)
{
    struct fixture *fixture = *state;

    start_with(fixture, 1000);
    step(fixture->a, "EVALSHA", NULL);
    assert_ended(eval(fixture), REDIS_UNKNOWN, SMQ_UNKNOWN);
    assert_done(eval(fixture), "1");
    assert_int_equal(fake_node_connections(fixture->a), 2); /* the silent one was given up */
    client_stop(&fixture->client);
}

/* One who waits only briefly must not cut off the others. */
static void test_a_short_time_out_does_not_cut_the_connection(void **state)
{
    struct fixture *fixture = *state;
    struct pending other = {0};
    atomic_int ended = -1;

    start(fixture);
    assert_done(eval(fixture), "1");
    step(fixture->a, "EVALSHA", NULL);
    step(fixture->a, "EVALSHA", NULL);
    other.ended = &ended;
    client_post_eval(&fixture->client, &other, &script, "other", "x", TIMEOUT_MS);
    assert_true(fake_node_wait(fixture->a, "EVALSHA", 2));
    struct outcome outcome = client_eval(&fixture->client, &script, "k", "x", SHORT_MS);
    assert_ended(outcome, REDIS_UNKNOWN, SMQ_UNKNOWN);
    fake_node_send(fixture->a, ":7\r\n:8\r\n");
    assert_true(wait_until(reached, &ended, WAIT_MS));
    assert_done(other.outcome, "7");
    assert_int_equal(fake_node_connections(fixture->a), 1);
    client_stop(&fixture->client);
}

static void test_order_is_kept_across_a_move(void **state)
{
    enum { COUNT = 200 };
    struct fixture *fixture = *state;
    struct pending *pending = calloc(COUNT, sizeof(*pending));
    atomic_int left = -COUNT;

    start(fixture);
    for (int i = 0; i < COUNT; i++) {
        char text[16];
        (void) snprintf(text, sizeof(text), "n%d.", i);
        pending[i].ended = &left;
        if (i == COUNT / 2) {
            fake_node_rule(fixture->a, "CLUSTER SLOTS", fixture->map_b);
            fake_node_rule(fixture->b, "CLUSTER SLOTS", fixture->map_b);
            fake_node_rule(fixture->a, "EVALSHA", fixture->moved_b);
        }
        client_post_eval(&fixture->client, &pending[i], &script, "k", text, 0);
    }
    assert_true(wait_until(reached, &left, WAIT_MS));
    int next = 0;
    for (int node = 0; node < 2; node++) {
        struct fake_node *at = node == 0 ? fixture->a : fixture->b;
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
    client_stop(&fixture->client);
    free(pending);
}

/* --- connecting --- */

static void expect_refusal(const char *servers, smq_status status, const char *text)
{
    struct client client;

    client_start(&client, servers, TIMEOUT_MS);
    print_message("%s\n", client.ready_text);
    assert_int_equal(client.ready, status);
    assert_non_null(strstr(client.ready_text, text));
    assert_null(strstr(client.ready_text, "hunter2"));
    client_stop(&client);
}

static void test_refused_credentials(void **state)
{
    struct fixture *fixture = *state;
    char servers[128];

    (void) snprintf(servers, sizeof(servers), "redis://me:hunter2@%s",
                    fake_node_address(fixture->a));
    step(fixture->a, "AUTH", "-WRONGPASS invalid username-password pair\r\n");
    expect_refusal(servers, SMQ_DENIED, "WRONGPASS");
    assert_string_equal(fake_node_command(fixture->a, "AUTH", 0), "AUTH me hunter2");
    step(fixture->a, "INFO", "-NOAUTH Authentication required.\r\n");
    expect_refusal(fake_node_address(fixture->a), SMQ_DENIED, "NOAUTH");
    step(fixture->a, "INFO", "-DENIED Redis is running in protected mode\r\n");
    expect_refusal(fake_node_address(fixture->a), SMQ_DENIED, "protected mode");
    fake_node_rule(fixture->a, "CLUSTER SLOTS",
                   "-NOPERM no permissions to run 'cluster|slots'\r\n");
    expect_refusal(fake_node_address(fixture->a), SMQ_DENIED, "NOPERM");
}

static void test_servers_that_will_not_do(void **state)
{
    struct fixture *fixture = *state;
    char servers[128];

    step(fixture->a, "INFO", "$31\r\n# Server\r\nredis_version:6.2.7\r\n\r\n");
    expect_refusal(fake_node_address(fixture->a), SMQ_BAD_SERVER, "6.2.7 is too old");
    step(fixture->a, "INFO",
         "$77\r\n# Server\r\nredis_version:7.0.15\r\nmaxmemory:100\r\n"
         "maxmemory_policy:allkeys-lru\r\n\r\n");
    expect_refusal(fake_node_address(fixture->a), SMQ_BAD_SERVER, "noeviction");

    /* two servers that are no cluster: which of them would hold a message? */
    fake_node_rule(fixture->a, "CLUSTER SLOTS",
                   "-ERR This instance has cluster support disabled\r\n");
    fake_node_rule(fixture->b, "CLUSTER SLOTS",
                   "-ERR This instance has cluster support disabled\r\n");
    (void) snprintf(servers, sizeof(servers), "%s,%s", fake_node_address(fixture->a),
                    fake_node_address(fixture->b));
    expect_refusal(servers, SMQ_BAD_SERVER, "name the nodes of one cluster, or one server");
}

/* One master of the map evicts, the seed does not. */
static void test_every_master_is_checked(void **state)
{
    struct fixture *fixture = *state;

    fake_node_rule(fixture->a, "CLUSTER SLOTS", fixture->map_b);
    step(fixture->b, "INFO", "$31\r\n# Server\r\nredis_version:6.2.7\r\n\r\n");
    expect_refusal(fake_node_address(fixture->a), SMQ_BAD_SERVER, fake_node_address(fixture->b));
}

static void test_a_server_that_accepts_and_says_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct client client;

    step(fixture->a, "INFO", NULL);
    client_start(&client, fake_node_address(fixture->a), 300);
    assert_int_equal(client.ready, SMQ_UNAVAILABLE);
    assert_string_not_equal(client.ready_text, "");
    client_stop(&client);
}

static void test_a_denied_info_is_no_obstacle(void **state)
{
    struct fixture *fixture = *state;

    fake_node_rule(fixture->a, "INFO", "-NOPERM no permissions to run the 'info' command\r\n");
    start(fixture);
    assert_done(eval(fixture), "1");
    client_stop(&fixture->client);
}

static void test_a_full_server_is_tried_again(void **state)
{
    struct fixture *fixture = *state;
    char servers[128];

    (void) snprintf(servers, sizeof(servers), "redis://me:hunter2@%s",
                    fake_node_address(fixture->a));
    client_start(&fixture->client, servers, TIMEOUT_MS);
    assert_int_equal(fixture->client.ready, SMQ_OK);
    fake_node_step(fixture->a,
                   &(struct fake_step){.command = "AUTH",
                                       .reply = "-ERR max number of clients reached\r\n",
                                       .close = true});
    fake_node_hang_up(fixture->a);
    assert_done(eval(fixture), "1");
    client_stop(&fixture->client);
}

/* What is wrong with a server may be set right while we run. */
static void test_a_server_that_is_set_right_serves_again(void **state)
{
    struct fixture *fixture = *state;

    start(fixture);
    step(fixture->a, "INFO", "$31\r\n# Server\r\nredis_version:6.2.7\r\n\r\n");
    fake_node_hang_up(fixture->a);
    assert_true(wait_until(is_done, fixture, WAIT_MS));
    assert_int_equal(fake_node_count(fixture->a, "INFO"), 3);
    client_stop(&fixture->client);
}

static void test_commands_wait_for_a_server_that_is_away(void **state)
{
    struct fixture *fixture = *state;
    struct pending pending = {0};
    atomic_int ended = -1;

    start(fixture);
    fake_node_stop(fixture->a);
    struct outcome outcome = client_eval(&fixture->client, &script, "k", "x", SHORT_MS);
    assert_int_not_equal(outcome.outcome, REDIS_DONE);
    outcome = client_eval(&fixture->client, &script, "k", "x", SHORT_MS);
    assert_ended(outcome, REDIS_NOT_DONE, SMQ_UNAVAILABLE);
    assert_non_null(strstr(outcome.text, fake_node_address(fixture->a)));
    pending.ended = &ended;
    client_post_eval(&fixture->client, &pending, &script, "k", "x", WAIT_MS);
    fake_node_start(fixture->a);
    assert_true(wait_until(reached, &ended, WAIT_MS));
    assert_done(pending.outcome, "1");
    client_stop(&fixture->client);
}

/* A name with two addresses, of which the first answers nothing. */
struct addrinfo_pair {
    struct addrinfo info[2];
    struct sockaddr_in address[2];
};

__attribute__((visibility("default"))) int getaddrinfo(const char *host, const char *port,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **out)
{
    struct addrinfo_pair *pair = memory_new(sizeof(*pair));
    bool two = strcmp(host, "two.example") == 0;

    for (int i = 0; i < 2; i++) {
        pair->address[i].sin_family = AF_INET;
        pair->address[i].sin_port = htons((uint16_t) atoi(port));
        inet_pton(AF_INET, two ? (i == 0 ? "127.0.0.2" : "127.0.0.1") : host,
                  &pair->address[i].sin_addr);
        pair->info[i].ai_family = AF_INET;
        pair->info[i].ai_socktype = hints->ai_socktype;
        pair->info[i].ai_addr = (struct sockaddr *) &pair->address[i];
        pair->info[i].ai_addrlen = sizeof(pair->address[i]);
    }
    pair->info[0].ai_next = two ? &pair->info[1] : NULL;
    *out = pair->info;
    return 0;
}

__attribute__((visibility("default"))) void freeaddrinfo(struct addrinfo *info)
{
    free(info);
}

static void test_every_address_of_a_name_is_tried(void **state)
{
    struct fixture *fixture = *state;
    char servers[64];

    (void) snprintf(servers, sizeof(servers), "two.example:%d", fake_node_port(fixture->a));
    client_start(&fixture->client, servers, TIMEOUT_MS);
    assert_string_equal(fixture->client.ready_text, "");
    assert_int_equal(fixture->client.ready, SMQ_OK);
    assert_done(eval(fixture), "1");
    client_stop(&fixture->client);
}

/* --- maps --- */

static void test_a_cluster_that_does_not_exist_yet(void **state)
{
    struct fixture *fixture = *state;
    struct client client;

    fake_node_rule(fixture->a, "CLUSTER SLOTS", "*0\r\n");
    client_start(&client, fake_node_address(fixture->a), 300);
    assert_int_equal(client.ready, SMQ_UNAVAILABLE);
    assert_non_null(strstr(client.ready_text, "create the cluster first"));
    client_stop(&client);
}

static void test_an_isolated_seed_does_not_hide_the_cluster(void **state)
{
    struct fixture *fixture = *state;
    char servers[128];

    fake_node_rule(fixture->a, "CLUSTER SLOTS", "*0\r\n");
    fake_node_rule(fixture->b, "CLUSTER SLOTS", fixture->map_b);
    (void) snprintf(servers, sizeof(servers), "%s,%s", fake_node_address(fixture->a),
                    fake_node_address(fixture->b));
    client_start(&fixture->client, servers, TIMEOUT_MS);
    assert_int_equal(fixture->client.ready, SMQ_OK);
    assert_done(eval(fixture), "2");
    client_stop(&fixture->client);
}

static void test_a_bad_map_does_not_replace_a_good_one(void **state)
{
    static const char *const texts[] = {
        "*0\r\n", "*1\r\n*3\r\n:0\r\n:100\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n", "+what\r\n",
        "-ERR This instance has cluster support disabled\r\n"};
    struct fixture *fixture = *state;

    start(fixture);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        fake_node_rule(fixture->a, "CLUSTER SLOTS", texts[i]);
        step(fixture->a, "EVALSHA", "-CLUSTERDOWN The cluster is down\r\n");
        assert_done(eval(fixture), "1");
        assert_true(fake_node_wait(fixture->a, "CLUSTER SLOTS", i + 2));
        assert_done(eval(fixture), "1");
    }
    client_stop(&fixture->client);
}

static void test_a_part_of_a_map_is_better_than_none(void **state)
{
    struct fixture *fixture = *state;
    int slot = slot_hash("k", 1);
    char text[128];

    (void) snprintf(text, sizeof(text),
                    "*1\r\n*3\r\n:%d\r\n:%d\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n", slot, slot,
                    fake_node_port(fixture->a));
    fake_node_rule(fixture->a, "CLUSTER SLOTS", text);
    start(fixture);
    assert_done(eval(fixture), "1");
    struct outcome outcome = client_eval(&fixture->client, &script, "elsewhere", "x", SHORT_MS);
    assert_ended(outcome, REDIS_NOT_DONE, SMQ_UNAVAILABLE);
    assert_non_null(strstr(outcome.text, "nobody is known to serve this hash slot"));
    client_stop(&fixture->client);
}

static void test_commands_without_a_key_avoid_a_dead_node(void **state)
{
    struct fixture *fixture = *state;
    int slot = slot_hash("k", 1);
    char text[256];

    (void) snprintf(text, sizeof(text),
                    "*2\r\n*3\r\n:0\r\n:%d\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n"
                    "*3\r\n:%d\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n",
                    slot, fake_node_port(fixture->a), slot + 1);
    fake_node_rule(fixture->a, "CLUSTER SLOTS", text);
    start(fixture);
    for (int i = 0; i < 50; i++) {
        const char *const words[] = {"PING", NULL};
        assert_done(client_run(&fixture->client, NULL, words), "PONG");
    }
    client_stop(&fixture->client);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_moved_is_followed_and_remembered),
        TEST(test_moved_without_a_host_means_the_same_host),
        TEST(test_moved_to_nowhere_is_asked_again),
        TEST(test_nodes_that_point_at_each_other_do_not_spin),
        TEST(test_ask_is_followed_once),
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
        TEST(test_a_short_time_out_does_not_cut_the_connection),
        TEST(test_order_is_kept_across_a_move),
        TEST(test_refused_credentials),
        TEST(test_servers_that_will_not_do),
        TEST(test_every_master_is_checked),
        TEST(test_a_server_that_accepts_and_says_nothing),
        TEST(test_a_denied_info_is_no_obstacle),
        TEST(test_a_full_server_is_tried_again),
        TEST(test_a_server_that_is_set_right_serves_again),
        TEST(test_commands_wait_for_a_server_that_is_away),
        TEST(test_every_address_of_a_name_is_tried),
        TEST(test_a_cluster_that_does_not_exist_yet),
        TEST(test_an_isolated_seed_does_not_hide_the_cluster),
        TEST(test_a_bad_map_does_not_replace_a_good_one),
        TEST(test_a_part_of_a_map_is_better_than_none),
        TEST(test_commands_without_a_key_avoid_a_dead_node),
    };
#undef TEST

    return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
