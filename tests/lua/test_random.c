/* test_random.c - the scripts against the model, on a hundred thousand random calls.
 *
 * SMQ_TEST_SEED repeats a run, SMQ_TEST_STEPS makes it longer. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "clocked.h"
#include "lockstep.h"

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void test_the_scripts_do_what_the_model_does(void **state)
{
    uint64_t seed = from_environment("SMQ_TEST_SEED", random_u64() % 1000000000);
    uint64_t steps = from_environment("SMQ_TEST_STEPS", 100000);
    const char *scripts[SCRIPTS_COUNT];
    struct buf report = {0};
    bool same;

    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        scripts[i] = scripts_all[i]->sha1;
    }
    printf("SMQ_TEST_SEED=%" PRIu64 " SMQ_TEST_STEPS=%" PRIu64 "\n", seed, steps);
    fflush(stdout);
    same = lockstep_run(*state, scripts, seed, steps, NULL, &report);
    if (!same) { /* cmocka would cut it off */
        fputs(report.data, stderr);
    }
    buf_fini(&report);
    assert_true(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_scripts_do_what_the_model_does),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
