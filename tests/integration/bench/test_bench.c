/* test_bench.c - slotmq-bench: what it prints and keeps, and that nothing of it stays when it is
 * interrupted. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/group.h"
#include "support/run.h"
#include "support/server.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 240000 };

/* Where it may leave nothing, and where it keeps figures. */
struct place {
    char folder[64], scratch[80], figures[80], environment[96];
};

static int entries(const char *folder)
{
    DIR *listing = opendir(folder);
    int count = -2; /* . and .. */

    assert_non_null(listing);
    while (readdir(listing) != NULL) {
        count++;
    }
    closedir(listing);
    return count;
}

static void start(struct run *run, const struct place *place, const char *bench, const char *option)
{
    const char *const argv[] = {BENCH_PROGRAM, bench,          "--quick", "--json",
                                "--keep",      place->figures, option,    NULL};
    const char *const environment[] = {place->environment, NULL};

    assert_true(run_start(run, &(struct run_options){.argv = argv, .environment = environment}));
}

static bool is_kept(const struct place *place, const char *bench)
{
    char path[160];
    struct stat status;

    snprintf(path, sizeof(path), "%s/%s.json", place->figures, bench);
    return stat(path, &status) == 0;
}

/* Orphans would be our children. */
static void assert_nothing_stays(const struct place *place)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(entries(place->scratch), 0);
}

/* ======================================================================== */

static double value_of(const char *out, const char *figure)
{
    char line[160];

    snprintf(line, sizeof(line), "\"figure\":\"%s\",\"value\":", figure);
    const char *found = strstr(out, line);
    assert_non_null(found);
    return strtod(found + strlen(line), NULL);
}

static void test_figures_are_printed_and_kept(void **state)
{
    const struct place *place = *state;
    struct run run;

    start(&run, place, "memory", NULL);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_non_null(strstr(run.out, "{\"bench\":\"memory\",\"run\":1,\"who\":\"memory-zadd\","
                                    "\"sent\":200000,\"handled\":200000,\"lost\":0,"
                                    "\"duplicated\":0,\"out_of_order\":0,"));
    assert_non_null(
        strstr(run.out, "{\"bench\":\"memory\",\"figure\":\"memory-inline/zadd\",\"value\":"));
    double beside = value_of(run.out, "memory-beside-body");
    assert_true(beside > 50 && beside < 1000);
    assert_int_equal(run.exit_code, strstr(run.out, "\"verdict\":\"MISSED\"") != NULL ? 1 : 0);
    assert_non_null(strstr(run.err, "bench: all in "));
    assert_true(is_kept(place, "memory"));
    run_fini(&run);
    assert_nothing_stays(place);

    start(&run, place, "memory", "--resume");
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.out, "");
    assert_non_null(strstr(run.err, "bench: memory is kept from before"));
    run_fini(&run);
}

/* Each way handles all that it was sent; figures of a chosen rate are not kept.  From afar no
 * message can come before a round trip of 1 ms has passed. */
static void test_one_rate_of_a_steady_flow(void **state)
{
    static const char *const ways[] = {
        "streams-700",     "two-scripts-700",     "steady-700",     "steady-inline-700",
        "far-streams-700", "far-two-scripts-700", "far-steady-700", "far-steady-inline-700"};
    const struct place *place = *state;
    const char *const argv[] = {BENCH_PROGRAM, "steady", "--rate", "700",          "--quick",
                                "--tls",       "--json", "--keep", place->figures, NULL};
    const char *const environment[] = {place->environment, NULL};
    struct run run;
    char line[160];

    assert_true(run_command(&run, &(struct run_options){.argv = argv, .environment = environment},
                            TIMEOUT_MS));
    assert_int_equal(run.exit_code, 0);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        snprintf(line, sizeof(line),
                 "\"who\":\"%s\",\"sent\":1400,\"handled\":1400,\"lost\":0,\"duplicated\":0,",
                 ways[i]);
        assert_non_null(strstr(run.out, line));
        snprintf(line, sizeof(line), "\"figure\":\"%s-p99\",\"value\":", ways[i]);
        assert_non_null(strstr(run.out, line));
    }
    assert_non_null(strstr(run.out, "\"figure\":\"steady-700-redis-cpu/streams\",\"value\":"));
    assert_true(value_of(run.out, "far-streams-700-p50") >= 1);
    assert_true(value_of(run.out, "far-two-scripts-700-p50") >= 1);
    assert_true(value_of(run.out, "far-steady-700-p50") >= 1);
    assert_true(value_of(run.out, "far-steady-700-wait-request") >= 1); /* and back */
    assert_true(value_of(run.out, "steady-700-scripts") > 0);
    assert_false(is_kept(place, "steady"));
    run_fini(&run);
    assert_nothing_stays(place);
}

/* The same servers speak both; nothing is lost either way. */
static void test_encryption_is_measured_beside_plaintext(void **state)
{
    const struct place *place = *state;
    struct run run;

    start(&run, place, "latency", "--tls");
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_non_null(strstr(run.out, "\"who\":\"latency-slotmq\",\"sent\":520,\"handled\":520,"));
    assert_non_null(strstr(run.out, "\"who\":\"latency-tls\",\"sent\":520,\"handled\":520,"));
    assert_non_null(strstr(run.out, "\"figure\":\"latency-tls/plain\",\"value\":"));
    run_fini(&run);
    assert_nothing_stays(place);
}

static void test_an_interrupted_run_is_not_kept(void **state)
{
    const struct place *place = *state;
    struct run run;

    start(&run, place, "raw", NULL);
    assert_true(run_wait_err(&run, "sent", TIMEOUT_MS));
    run_signal(&run, SIGINT);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 130);
    assert_non_null(strstr(run.err, "bench: interrupted; everything was stopped"));
    run_fini(&run);
    assert_false(is_kept(place, "raw"));
    assert_nothing_stays(place);
}

static bool members_write(void *arg)
{
    const struct place *place = arg;
    DIR *listing = opendir(place->scratch);
    const struct dirent *entry;
    struct stat status = {.st_size = 0};
    char path[PATH_MAX];

    while ((entry = readdir(listing)) != NULL && status.st_size == 0) {
        snprintf(path, sizeof(path), "%s/%s/members", place->scratch, entry->d_name);
        (void) stat(path, &status);
    }
    closedir(listing);
    return status.st_size > 0;
}

/* A Redis node, ZooKeeper, and members of a fleet. */
static void test_a_fleet_ends_with_it(void **state)
{
    struct place *place = *state;
    struct run run;

    start(&run, place, "rebalance", NULL);
    assert_true(wait_until(members_write, place, TIMEOUT_MS));
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 130);
    run_fini(&run);
    assert_nothing_stays(place);
}

static void test_usage(void **state)
{
    const char *const argv[] = {BENCH_PROGRAM, "walk", NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 64);
    assert_non_null(strstr(run.err, "\"walk\" is no benchmark"));
    run_fini(&run);
}

/* ======================================================================== */

static int setup(void **state)
{
    static struct place place;

    snprintf(place.folder, sizeof(place.folder), "/tmp/slotmq-test-bench-XXXXXX");
    if (mkdtemp(place.folder) == NULL) {
        return -1;
    }
    snprintf(place.scratch, sizeof(place.scratch), "%s/scratch", place.folder);
    snprintf(place.figures, sizeof(place.figures), "%s/figures", place.folder);
    snprintf(place.environment, sizeof(place.environment), "TMPDIR=%s", place.scratch);
    *state = &place;
    return mkdir(place.scratch, 0700) == 0 && mkdir(place.figures, 0700) == 0 &&
                   prctl(PR_SET_CHILD_SUBREAPER, 1L) == 0
               ? 0
               : -1;
}

static int teardown(void **state)
{
    const struct place *place = *state;

    folder_remove(place->folder);
    return 0;
}

TEST_GROUP(bench)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_are_printed_and_kept),
        cmocka_unit_test(test_one_rate_of_a_steady_flow),
        cmocka_unit_test(test_encryption_is_measured_beside_plaintext),
        cmocka_unit_test(test_an_interrupted_run_is_not_kept),
        cmocka_unit_test(test_a_fleet_ends_with_it),
        cmocka_unit_test(test_usage),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
