/* test_run.c - running commands: input, outputs, exit codes, time limits. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/group.h"
#include "support/process.h"
#include "support/run.h"

enum { TIMEOUT_MS = 30000 };

#define SHELL(script) ((const char *const[]){"sh", "-c", (script), NULL})

static void test_input_and_both_outputs(void **state)
{
    const char *const environment[] = {"COLOUR=blue", "HOME", NULL};
    struct run run;

    assert_true(run_command(&run,
                            &(struct run_options){
                                .argv = SHELL("cat; echo $COLOUR-${HOME-none} >&2; exit 3"),
                                .environment = environment,
                                .in = "one\ntwo\n",
                            },
                            TIMEOUT_MS));
    assert_int_equal(run.exit_code, 3);
    assert_string_equal(run.out, "one\ntwo\n");
    assert_string_equal(run.err, "blue-none\n");
    run_fini(&run);
}

static void test_bytes_are_kept(void **state)
{
    struct run run;

    assert_true(run_command(
        &run, &(struct run_options){.argv = SHELL("cat"), .in = "a\0b", .in_len = 3}, TIMEOUT_MS));
    assert_int_equal(run.out_len, 3);
    assert_memory_equal(run.out, "a\0b", 4);
    run_fini(&run);
}

static void test_signal_is_told(void **state)
{
    struct run run;

    assert_true(run_start(&run, &(struct run_options){.argv = SHELL("echo on; exec sleep 1000")}));
    assert_true(run_wait_out(&run, "on", TIMEOUT_MS));
    assert_false(run.ended);
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 128 + SIGTERM);
    run_fini(&run);
}

static char state_of(pid_t pid)
{
    char path[64], name[64], state = '?';
    FILE *stat;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    stat = fopen(path, "r");
    assert_non_null(stat);
    assert_int_equal(fscanf(stat, "%*d %63s %c", name, &state), 2);
    fclose(stat);
    return state;
}

static void test_paused_process_has_stopped(void **state)
{
    struct run run;

    assert_true(run_start(&run, &(struct run_options){.argv = SHELL("while :; do :; done")}));
    for (int i = 0; i < 20; i++) {
        assert_true(process_pause(run.pid));
        assert_int_equal(state_of(run.pid), 'T');
        assert_true(process_resume(run.pid));
        assert_int_not_equal(state_of(run.pid), 'T');
    }
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 128 + SIGTERM);
    run_fini(&run);
}

static void test_dead_process_is_not_paused(void **state)
{
    struct run run;

    assert_true(run_start(&run, &(struct run_options){.argv = SHELL("exit 3")}));
    while (process_pause(run.pid)) { /* it has not ended yet */
        assert_true(process_resume(run.pid));
    }
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 3);
    run_fini(&run);
}

static void test_time_limit_kills(void **state)
{
    struct run run;

    assert_true(run_start(&run, &(struct run_options){.argv = SHELL("exec sleep 1000")}));
    pid_t pid = run.pid;
    assert_false(run_wait(&run, 50));
    assert_int_equal(run.exit_code, 128 + SIGKILL);
    assert_int_equal(kill(pid, 0), -1);
    run_fini(&run);
}

static void test_end_without_the_text(void **state)
{
    struct run run;

    assert_true(run_start(&run, &(struct run_options){.argv = SHELL("echo no >&2")}));
    assert_false(run_wait_err(&run, "yes", TIMEOUT_MS));
    assert_string_equal(run.err, "no\n");
    run_fini(&run);
}

static void test_that_is_ended_says_where_it_was(void **state)
{
    const char *const argv[] = {"/proc/self/exe", "run", __func__, NULL};
    /* The handler of SIGTERM says where main() was, whatever that risks then. */
    const char *const environment[] = {"TEST_HANGS=1", "TSAN_OPTIONS=report_signal_unsafe=0", NULL};
    struct run run;

    while (getenv("TEST_HANGS") != NULL) {
        (void) fprintf(stderr, "it hangs\n");
        pause();
    }
    assert_true(run_start(&run, &(struct run_options){.argv = argv, .environment = environment}));
    assert_true(run_wait_err(&run, "it hangs", TIMEOUT_MS));
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 128 + SIGTERM);
    assert_non_null(strstr(run.err, "ended by SIGTERM, as when the time is over; main() was at\n"));
#ifdef __SANITIZE_ADDRESS__
    assert_non_null(strstr(run.err, __func__));
#endif
    run_fini(&run);
}

TEST_GROUP(run)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input_and_both_outputs),
        cmocka_unit_test(test_bytes_are_kept),
        cmocka_unit_test(test_signal_is_told),
        cmocka_unit_test(test_paused_process_has_stopped),
        cmocka_unit_test(test_dead_process_is_not_paused),
        cmocka_unit_test(test_time_limit_kills),
        cmocka_unit_test(test_end_without_the_text),
        cmocka_unit_test(test_that_is_ended_says_where_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
