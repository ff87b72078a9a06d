/* test_mutants.c - proves that the randomized test can see: each deliberate mistake in a script
 * must be found.  The mistakes are those of tests/mutants/named_scripts.py, a test each. */
#include <stdio.h>
#include <string.h>

#include "clocked.h"
#include "lockstep.h"
#include "support/group.h"

enum { SEEDS = 4, CALLS_MAX = 60000, CALLS_FEW = 3000 };

/* `from`, which the script must have exactly once, becomes `to`. */
struct mutant {
    const char *name;
    const char *script;
    const char *from;
    const char *to;
    const char *kinds; /* NULL: all, without messages that are whole */
    bool pushing, scheduling;
    uint64_t seed; /* finds it within CALLS_FEW; 0, or useless after a change: costs only time */
};

static const struct mutant mutants[] = {
#include "named_scripts.h"
};

enum { MUTANTS = sizeof(mutants) / sizeof(mutants[0]) };

static struct fixture *fixture;

static void mutate(struct buf *out, const struct mutant *mutant)
{
    const char *text = fixture_script(mutant->script)->text;
    const char *found = strstr(text, mutant->from);

    if (found == NULL || strstr(found + 1, mutant->from) != NULL) {
        fail_msg("%s: `%s` must stand in %s.lua once", mutant->name, mutant->from, mutant->script);
        return;
    }
    buf_add(out, text, (size_t) (found - text));
    buf_printf(out, "%s%s", mutant->to, found + strlen(mutant->from));
}

static bool is_found(const struct mutant *mutant)
{
    const char *kinds = mutant->kinds != NULL ? mutant->kinds : LOCKSTEP_PLAIN;
    const char *scripts[SCRIPTS_COUNT];
    char sha1[SHA1_SIZE];
    struct buf text = {0}, report = {0};
    bool same = true;

    mutate(&text, mutant);
    fixture_load(fixture, text.data, sha1);
    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        scripts[i] =
            strcmp(scripts_all[i]->name, mutant->script) == 0 ? sha1 : scripts_all[i]->sha1;
    }
    if (mutant->seed != 0) {
        same = lockstep_run(fixture, scripts, mutant->seed, CALLS_FEW, kinds, mutant->pushing,
                            mutant->scheduling, &report);
    }
    for (uint64_t seed = 1; same && seed <= SEEDS; seed++) {
        same = lockstep_run(fixture, scripts, seed, CALLS_MAX, kinds, mutant->pushing,
                            mutant->scheduling, &report);
    }
    buf_fini(&text);
    buf_fini(&report);
    return !same;
}

static void test_the_mistake_is_found(void **state)
{
    const struct mutant *mutant = *state;

    if (!is_found(mutant)) {
        fail_msg("not found: %s", mutant->name);
    }
}

static int setup(void **state)
{
    void *made = NULL;
    const int failed = fixture_setup(&made);

    (void) state; /* of each test it is its mutant */
    fixture = made;
    return failed;
}

static int teardown(void **state)
{
    void *made = fixture;

    return fixture_teardown(&made);
}

TEST_GROUP(mutants)
{
    static struct CMUnitTest tests[MUTANTS];

    for (size_t i = 0; i < MUTANTS; i++) {
        tests[i] = (struct CMUnitTest){.name = mutants[i].name,
                                       .test_func = test_the_mistake_is_found,
                                       .initial_state = (void *) &mutants[i]};
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
