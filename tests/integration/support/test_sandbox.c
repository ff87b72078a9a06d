/* test_sandbox.c - slotmq-sandbox: up, env, down, and what comes in between. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/group.h"
#include "support/port.h"
#include "support/process.h"
#include "support/run.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 120000 };

struct sandbox {
    char folder[64];
};

static void sandbox_run(struct run *run, const struct sandbox *sandbox, const char *verb,
                        const char *option, const char *value)
{
    const char *const argv[] = {SANDBOX_PROGRAM, verb, sandbox->folder, option, value, NULL};

    assert_true(run_command(run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
}

static int sandbox_do(const struct sandbox *sandbox, const char *verb, const char *option,
                      const char *value)
{
    struct run run;

    sandbox_run(&run, sandbox, verb, option, value);
    int exit_code = run.exit_code;
    run_fini(&run);
    return exit_code;
}

/* The port of the first Redis node; `lines` becomes all that env prints. */
static int first_port(const struct sandbox *sandbox, char *lines, size_t size)
{
    struct run run;

    sandbox_run(&run, sandbox, "env", NULL, NULL);
    assert_int_equal(run.exit_code, 0);
    snprintf(lines, size, "%s", run.out);
    run_fini(&run);
    int port = 0;
    assert_int_equal(sscanf(lines, "export SLOTMQ_REDIS=127.0.0.1:%d,", &port), 1);
    return port;
}

static bool is_silent(void *arg)
{
    const int *port = arg;

    return !port_answers(*port);
}

static void test_up_env_down(void **state)
{
    const struct sandbox *sandbox = *state;
    struct stat status;
    char lines[1024];
    char again[1024];

    assert_int_equal(sandbox_do(sandbox, "env", NULL, NULL), 1);
    assert_int_equal(sandbox_do(sandbox, "up", "--masters", "3"), 0);
    int port = first_port(sandbox, lines, sizeof(lines));
    assert_true(port_answers(port));
    assert_non_null(strstr(lines, "\nunset SLOTMQ_ZOOKEEPER\n"));

    assert_int_equal(sandbox_do(sandbox, "up", NULL, NULL), 0); /* the same is up already */
    first_port(sandbox, again, sizeof(again));
    assert_string_equal(lines, again);
    assert_int_equal(sandbox_do(sandbox, "up", "--replicas", "1"), 1); /* another one is up */

    assert_int_equal(sandbox_do(sandbox, "down", NULL, NULL), 0);
    assert_true(wait_until(is_silent, &port, TIMEOUT_MS));
    assert_int_equal(stat(sandbox->folder, &status), -1);
    assert_int_equal(sandbox_do(sandbox, "down", NULL, NULL), 0); /* nothing is up: no error */
}

/* One of its processes, as the file FOLDER/sandbox says. */
static pid_t any_pid(const struct sandbox *sandbox)
{
    char path[sizeof(sandbox->folder) + 16];
    char line[4096];
    int pid = 0;
    unsigned long long start = 0;

    snprintf(path, sizeof(path), "%s/sandbox", sandbox->folder);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    for (int i = 0; i < 4; i++) { /* options, Redis, ZooKeeper, the first process */
        assert_non_null(fgets(line, sizeof(line), file));
    }
    fclose(file);
    assert_int_equal(sscanf(line, "%d %llu", &pid, &start), 2);
    return pid;
}

static void test_half_dead_is_started_anew(void **state)
{
    const struct sandbox *sandbox = *state;
    char lines[1024];

    assert_int_equal(sandbox_do(sandbox, "up", "--zookeeper", NULL), 0);
    int port = first_port(sandbox, lines, sizeof(lines));
    assert_non_null(strstr(lines, "\nexport SLOTMQ_ZOOKEEPER=127.0.0.1:"));
    assert_int_equal(kill(any_pid(sandbox), SIGKILL), 0);
    assert_true(wait_until(is_silent, &port, TIMEOUT_MS));

    assert_int_equal(sandbox_do(sandbox, "env", NULL, NULL), 1);
    assert_int_equal(sandbox_do(sandbox, "up", "--zookeeper", NULL), 0);
    port = first_port(sandbox, lines, sizeof(lines));
    assert_true(port_answers(port));
    assert_int_equal(sandbox_do(sandbox, "down", NULL, NULL), 0);
}

/* --- what others may have put there --- */

/* A folder as another user may have left it, with one process and these addresses in its file. */
static void plant(const struct sandbox *sandbox, mode_t mode, const char *redis, pid_t pid)
{
    char path[sizeof(sandbox->folder) + 16];
    char line[1024] = "";
    unsigned long long started = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    assert_int_equal(
        sscanf(strrchr(line, ')'), /* field 22 of proc(5) */
               ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &started),
        1);
    (void) mkdir(sandbox->folder, 0700);
    snprintf(path, sizeof(path), "%s/sandbox", sandbox->folder);
    file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "3 0 0\n%s\n-\n%d %llu\n", redis, (int) pid, started);
    fclose(file);
    assert_int_equal(chmod(sandbox->folder, mode), 0);
}

static void unplant(const struct sandbox *sandbox)
{
    char path[sizeof(sandbox->folder) + 16];

    snprintf(path, sizeof(path), "%s/sandbox", sandbox->folder);
    (void) unlink(path);
    (void) rmdir(sandbox->folder);
}

/* A process that lives until it is killed. */
static pid_t bystander(const char *folder)
{
    const char *const argv[] = {"sleep", "1000", NULL};
    const struct process_options options = {.argv = argv, .folder = folder};
    pid_t pid = process_start(&options);

    assert_int_not_equal(pid, 0);
    return pid;
}

/* Nothing is printed for a shell, nothing is started, and nothing is removed or killed. */
static void assert_untrusted(const struct sandbox *sandbox, pid_t pid)
{
    static const char *const verbs[] = {"env", "up", "down"};
    struct stat status;
    struct run run;

    for (size_t i = 0; i < 3; i++) {
        sandbox_run(&run, sandbox, verbs[i], NULL, NULL);
        assert_int_equal(run.exit_code, 1);
        assert_string_equal(run.out, "");
        assert_non_null(strstr(run.err, sandbox->folder));
        run_fini(&run);
        assert_false(process_ended(pid, NULL));
        assert_int_equal(lstat(sandbox->folder, &status), 0);
    }
}

static void test_a_folder_that_others_can_write_is_refused(void **state)
{
    const struct sandbox *sandbox = *state;
    pid_t pid = bystander("/");

    plant(sandbox, 0770, "127.0.0.1:7000", pid);
    assert_untrusted(sandbox, pid);
    process_kill(pid);
    unplant(sandbox);
}

static void test_a_folder_of_another_user_is_refused(void **state)
{
    const struct sandbox *sandbox = *state;
    pid_t pid;

    if (geteuid() != 0) {
        skip(); /* only root can give a folder away */
    }
    pid = bystander("/");
    plant(sandbox, 0700, "127.0.0.1:7000", pid);
    assert_int_equal(chown(sandbox->folder, 65534, 65534), 0);
    assert_untrusted(sandbox, pid);
    process_kill(pid);
    unplant(sandbox);
}

static void test_a_link_is_refused(void **state)
{
    const struct sandbox *sandbox = *state;
    struct sandbox target;
    pid_t pid = bystander("/");

    snprintf(target.folder, sizeof(target.folder), "%.50s-target", sandbox->folder);
    plant(&target, 0700, "127.0.0.1:7000", pid);
    assert_int_equal(symlink(target.folder, sandbox->folder), 0);
    assert_untrusted(sandbox, pid);
    process_kill(pid);
    assert_int_equal(unlink(sandbox->folder), 0);
    unplant(&target);
}

static void test_addresses_are_no_words_of_a_shell(void **state)
{
    static const char *const addresses[] = {"127.0.0.1:7000;id", "$(id)", "`id`", "127.0.0.1:7'"};
    const struct sandbox *sandbox = *state;
    char node[sizeof(sandbox->folder) + 16];

    snprintf(node, sizeof(node), "%s/redis-7000", sandbox->folder);
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        struct run run;
        pid_t pid;

        assert_int_equal(mkdir(sandbox->folder, 0700), 0);
        assert_int_equal(mkdir(node, 0700), 0);
        pid = bystander(node); /* all but the addresses is as it should be */
        plant(sandbox, 0700, addresses[i], pid);
        sandbox_run(&run, sandbox, "env", NULL, NULL);
        assert_int_equal(run.exit_code, 1);
        assert_string_equal(run.out, "");
        run_fini(&run);
        process_kill(pid);
        assert_int_equal(rmdir(node), 0);
        unplant(sandbox);
    }
}

static void test_down_ends_only_processes_of_the_sandbox(void **state)
{
    const struct sandbox *sandbox = *state;
    pid_t pid = bystander("/");

    plant(sandbox, 0700, "127.0.0.1:7000", pid);
    assert_int_equal(sandbox_do(sandbox, "env", NULL, NULL), 1);
    assert_int_equal(sandbox_do(sandbox, "down", NULL, NULL), 0);
    assert_false(process_ended(pid, NULL));
    process_kill(pid);
}

static void test_usage(void **state)
{
    const struct sandbox *sandbox = *state;

    assert_int_equal(sandbox_do(sandbox, "sideways", NULL, NULL), 64);
    assert_int_equal(sandbox_do(sandbox, "up", "--masters", "0"), 64);
    assert_int_equal(sandbox_do(sandbox, "up", "--masters", "many"), 64);
    assert_int_equal(sandbox_do(sandbox, "up", "--colour", NULL), 64);
}

static int sandbox_setup(void **state)
{
    static struct sandbox sandbox;

    snprintf(sandbox.folder, sizeof(sandbox.folder), "/tmp/slotmq-sandbox-test-%d", (int) getpid());
    *state = &sandbox;
    return 0;
}

/* Also after a failure in the middle. */
static int sandbox_teardown(void **state)
{
    return sandbox_do(*state, "down", NULL, NULL);
}

TEST_GROUP(sandbox)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_up_env_down, sandbox_setup, sandbox_teardown),
        cmocka_unit_test_setup_teardown(test_half_dead_is_started_anew, sandbox_setup,
                                        sandbox_teardown),
        cmocka_unit_test_setup_teardown(test_a_folder_that_others_can_write_is_refused,
                                        sandbox_setup, sandbox_teardown),
        cmocka_unit_test_setup_teardown(test_a_folder_of_another_user_is_refused, sandbox_setup,
                                        sandbox_teardown),
        cmocka_unit_test_setup_teardown(test_a_link_is_refused, sandbox_setup, sandbox_teardown),
        cmocka_unit_test_setup_teardown(test_addresses_are_no_words_of_a_shell, sandbox_setup,
                                        sandbox_teardown),
        cmocka_unit_test_setup_teardown(test_down_ends_only_processes_of_the_sandbox, sandbox_setup,
                                        sandbox_teardown),
        cmocka_unit_test_setup_teardown(test_usage, sandbox_setup, sandbox_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
