/* test_examples.c - the programs of examples/ do what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support/run.h"
#include "support/servers.h"

enum { TIMEOUT_MS = 60000 };

static const char *readme, *sender, *worker, *poller; /* their paths */

static int start(void **state)
{
    *state = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});
    return *state != NULL ? 0 : -1;
}

static int stop(void **state)
{
    servers_free(*state);
    return 0;
}

static void test_readme_sends_and_consumes(void **state)
{
    const char *const argv[] = {readme, servers_redis(*state), NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_string_equal(run.out, "two books\n");
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
}

static void test_readme_says_what_is_missing(void **state)
{
    const char *const argv[] = {readme, "127.0.0.1:1", NULL};
    struct run run;

    (void) state;
    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_non_null(strstr(run.err, "127.0.0.1:1"));
    assert_int_equal(run.exit_code, 1);
    run_fini(&run);
}

/* `path` handles what the sender has sent, until SIGTERM. */
static void send_and_consume(const struct servers *servers, const char *path)
{
    const char *const send[] = {sender, servers_redis(servers), NULL};
    const char *const work[] = {path, servers_redis(servers), NULL};
    struct run sent, worked;

    assert_true(run_command(&sent, &(struct run_options){.argv = send}, TIMEOUT_MS));
    assert_string_equal(sent.err, "");
    assert_non_null(strstr(sent.out, "added\nfailed: 0\n"));
    assert_int_equal(sent.exit_code, 0);
    run_fini(&sent);

    assert_true(run_start(&worked, &(struct run_options){.argv = work}));
    assert_true(run_wait_out(&worked, "{\"order\": 4711, \"total\": 20}\n", TIMEOUT_MS));
    assert_true(run_wait_out(&worked, "{\"order\": 9999}\n", TIMEOUT_MS));
    run_signal(&worked, SIGTERM);
    assert_true(run_wait(&worked, TIMEOUT_MS));
    assert_int_equal(worked.exit_code, 0);
    run_fini(&worked);
}

static void test_sender_and_worker(void **state)
{
    send_and_consume(*state, worker);
}

static void test_sender_and_poller(void **state)
{
    send_and_consume(*state, poller);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_readme_sends_and_consumes, start, stop),
        cmocka_unit_test(test_readme_says_what_is_missing),
        cmocka_unit_test_setup_teardown(test_sender_and_worker, start, stop),
        cmocka_unit_test_setup_teardown(test_sender_and_poller, start, stop),
    };

    if (argc != 5) {
        fprintf(stderr, "usage: test_examples README SEND WORKER POLL\n");
        return 64;
    }
    readme = argv[1];
    sender = argv[2];
    worker = argv[3];
    poller = argv[4];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
