/* test_run.c - running commands: input, outputs, exit codes, time limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "support/run.h"

enum { TIMEOUT_MS = 30000 };

#define SHELL(script) ((const char *const[]){"sh", "-c", (script), NULL})

static void test_input_and_both_outputs(void **state)
{
    const char *const environment[] = {"COLOUR=blue", "HOME", NULL};
    struct run run;

    (void) state;
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

    (void) state;
    assert_true(run_command(
        &run, &(struct run_options){.argv = SHELL("cat"), .in = "a\0b", .in_len = 3}, TIMEOUT_MS));
    assert_int_equal(run.out_len, 3);
    assert_memory_equal(run.out, "a\0b", 4);
    run_fini(&run);
}

static void test_signal_is_told(void **state)
{
    struct run run;

    (void) state;
    assert_true(run_start(&run, &(struct run_options){.argv = SHELL("echo on; exec sleep 1000")}));
    assert_true(run_wait_out(&run, "on", TIMEOUT_MS));
    assert_false(run.ended);
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 128 + SIGTERM);
    run_fini(&run);
}

static void test_time_limit_kills(void **state)
{
    struct run run;

    (void) state;
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

    (void) state;
    assert_true(run_start(&run, &(struct run_options){.argv = SHELL("echo no >&2")}));
    assert_false(run_wait_err(&run, "yes", TIMEOUT_MS));
    assert_string_equal(run.err, "no\n");
    run_fini(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input_and_both_outputs), cmocka_unit_test(test_bytes_are_kept),
        cmocka_unit_test(test_signal_is_told),         cmocka_unit_test(test_time_limit_kills),
        cmocka_unit_test(test_end_without_the_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
