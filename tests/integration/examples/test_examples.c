/* test_examples.c - the programs of examples/ do what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/run.h"
#include "support/servers.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 60000 };

/* Their paths. */
static const char *readme, *sender, *worker, *poller, *batch, *steps, *admin;
static const char *job_cpp, *python, *job_py, *library;

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

static void test_the_main_job_runs_in_cpp(void **state)
{
    const char *const argv[] = {job_cpp, servers_redis(*state), NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_string_equal(run.out, "two books\nwaiting 0, claimed 0, done 1\n");
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
}

static void test_the_main_job_runs_in_python(void **state)
{
    const char *const argv[] = {python, job_py, library, servers_redis(*state), NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_string_equal(run.out, "scripted two books\n");
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
}

static void send_orders(const struct servers *servers)
{
    const char *const argv[] = {sender, servers_redis(servers), NULL};
    struct run sent;

    assert_true(run_command(&sent, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(sent.err, "");
    assert_non_null(strstr(sent.out, "added\nfailed: 0\n"));
    assert_int_equal(sent.exit_code, 0);
    run_fini(&sent);
}

/* `path` handles what the sender has sent, until SIGTERM. */
static void send_and_consume(const struct servers *servers, const char *path)
{
    const char *const work[] = {path, servers_redis(servers), NULL};
    struct run worked;

    send_orders(servers);
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

static bool all_is_written(void *path)
{
    FILE *file = fopen(path, "r");
    int lines = 0, c;

    assert_non_null(file);
    while ((c = getc(file)) != EOF) {
        lines += c == '\n' ? 1 : 0;
    }
    fclose(file);
    return lines >= 10001;
}

static void test_batches_go_to_a_file(void **state)
{
    char path[] = "/tmp/slotmq-example-XXXXXX";
    int fd = mkstemp(path);
    const char *const argv[] = {batch, servers_redis(*state), "", path, NULL};
    struct run run;

    assert_true(fd >= 0);
    close(fd);
    send_orders(*state);
    assert_true(run_start(&run, &(struct run_options){.argv = argv}));
    assert_true(wait_until(all_is_written, path, TIMEOUT_MS));
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
    unlink(path);
}

/* Run the admin; its output holds all the texts. */
static void assert_shown(const char *const *argv, const char *const *texts)
{
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 0);
    for (; *texts != NULL; texts++) {
        if (strstr(run.out, *texts) == NULL) {
            fail_msg("no \"%s\" in: %s", *texts, run.out);
        }
    }
    run_fini(&run);
}

static void test_steps_keep_their_order_and_a_dead_one_is_sent_back(void **state)
{
    const char *const step[] = {steps, servers_redis(*state), NULL};
    const char *const look[] = {admin, servers_redis(*state), "steps", NULL};
    const char *const dead[] = {"steps: 4 slots, 16 retries, back-off fixed:200\n",
                                "order-2/ship: attempt 1: carrier timed out\nrequeued 1\n", NULL};
    const char *const back[] = {" waiting\norder-2/ship: attempt 0\nrequeued 0\n", NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = step}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out, "sent 6, merged 0\nsent 0, merged 6\n"));
    assert_true(strstr(run.out, "order-1/pick") < strstr(run.out, "order-1/pack"));
    assert_true(strstr(run.out, "order-1/pack") < strstr(run.out, "order-1/ship"));
    assert_true(strstr(run.out, "order-2/pick") < strstr(run.out, "order-2/pack"));
    assert_non_null(strstr(run.out, "order-2/pick"));
    assert_non_null(strstr(run.out, "order-1/pick"));
    assert_null(strstr(run.out, "order-2/ship"));
    run_fini(&run);
    assert_shown(look, dead);
    assert_shown(look, back);
}

static void test_admin_alters_and_shows(void **state)
{
    const char *const argv[] = {admin,           servers_redis(*state), "orders",
                                "max_retries=5", "backoff=none",        NULL};
    const char *const texts[] = {"orders: 64 slots, 5 retries, back-off none\n",
                                 " of nobody: ", "}: attempt 0\n", "requeued 0\n", NULL};
    const char *const wrong[] = {admin, servers_redis(*state), "orders", "slots=5", NULL};
    struct run run;

    send_orders(*state);
    assert_shown(argv, texts);
    assert_true(run_command(&run, &(struct run_options){.argv = wrong}, TIMEOUT_MS));
    assert_non_null(strstr(run.err, "slots"));
    assert_non_null(strstr(run.err, "(SMQ_INVALID)"));
    assert_int_equal(run.exit_code, 1);
    run_fini(&run);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_readme_sends_and_consumes, start, stop),
        cmocka_unit_test(test_readme_says_what_is_missing),
        cmocka_unit_test_setup_teardown(test_the_main_job_runs_in_cpp, start, stop),
        cmocka_unit_test_setup_teardown(test_the_main_job_runs_in_python, start, stop),
        cmocka_unit_test_setup_teardown(test_sender_and_worker, start, stop),
        cmocka_unit_test_setup_teardown(test_sender_and_poller, start, stop),
        cmocka_unit_test_setup_teardown(test_batches_go_to_a_file, start, stop),
        cmocka_unit_test_setup_teardown(test_steps_keep_their_order_and_a_dead_one_is_sent_back,
                                        start, stop),
        cmocka_unit_test_setup_teardown(test_admin_alters_and_shows, start, stop),
    };

    if (argc != 12) {
        fprintf(stderr,
                "usage: test_examples README SEND WORKER POLL BATCH STEPS ADMIN JOB_CPP PYTHON "
                "JOB_PY LIBRARY\n");
        return 64;
    }
    readme = argv[1];
    sender = argv[2];
    worker = argv[3];
    poller = argv[4];
    batch = argv[5];
    steps = argv[6];
    admin = argv[7];
    job_cpp = argv[8];
    python = argv[9];
    job_py = argv[10];
    library = argv[11];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
