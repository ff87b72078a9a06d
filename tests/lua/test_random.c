/* test_random.c - the scripts against the model, on sixty thousand random calls, and as many with
 * pushes and failovers.
 *
 * SMQ_TEST_SEED repeats a run, SMQ_TEST_STEPS makes it longer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "clocked.h"
#include "lockstep.h"
#include "support/group.h"

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void run(struct fixture *fixture, bool pushing)
{
    uint64_t seed = from_environment("SMQ_TEST_SEED", random_u64() % 1000000000);
    uint64_t steps = from_environment("SMQ_TEST_STEPS", 60000);
    const char *scripts[SCRIPTS_COUNT];
    struct buf report = {0};
    bool same;

    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        scripts[i] = scripts_all[i]->sha1;
    }
    printf("SMQ_TEST_SEED=%" PRIu64 " SMQ_TEST_STEPS=%" PRIu64 "\n", seed, steps);
    fflush(stdout);
    same = lockstep_run(fixture, scripts, seed, steps, NULL, pushing, true, &report);
    if (!same) { /* cmocka would cut it off */
        fputs(report.data, stderr);
    }
    buf_fini(&report);
    assert_true(same);
}

static void test_the_scripts_do_what_the_model_does(void **state)
{
    run(*state, false);
}

static void test_the_scripts_do_what_the_model_does_with_pushes_and_failovers(void **state)
{
    run(*state, true);
}

TEST_GROUP(random)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_scripts_do_what_the_model_does),
        cmocka_unit_test(test_the_scripts_do_what_the_model_does_with_pushes_and_failovers),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
