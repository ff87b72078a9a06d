/* test_ownership.c - when a member looks again at those that have its topic's node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coord/ownership_internal.h"
#include "support/group.h"

static void the_back_off_does_not_put_off_the_end_of_the_wait(void **state)
{
    static const struct {
        int64_t backoff_ms, waited_ms, limit_ms, delay_ms;
    } cases[] = {
        {200, 0, 8000, 200},       {3200, 3000, 8000, 3200}, {3200, 4800, 8000, 3200},
        {5000, 6400, 8000, 1600},  {5000, 7999, 8000, 1},    {5000, 8000, 8000, 5000},
        {5000, 90000, 8000, 5000}, /* it owns slots, and continues */
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            ownership_rival_delay(cases[i].backoff_ms, cases[i].waited_ms, cases[i].limit_ms),
            cases[i].delay_ms);
    }
}

static void a_refusal_shows_something_once_the_newest_assignment_was_refused_too(void **state)
{
    static const struct {
        enum refusal_input inputs[6];
        size_t count;
        bool shown;
    } cases[] = {
        {{REFUSAL_OTHER, REFUSAL_READ_BEGUN, REFUSAL_READ_DONE, REFUSAL_SAME}, 4, true},
        {{REFUSAL_OTHER, REFUSAL_SAME}, 2, false},
        {{REFUSAL_OTHER, REFUSAL_READ_BEGUN, REFUSAL_SAME}, 3, false},
        /* the read had begun before the first refusal */
        {{REFUSAL_READ_BEGUN, REFUSAL_OTHER, REFUSAL_READ_DONE, REFUSAL_SAME}, 4, false},
        /* a read fails, the next one does not */
        {{REFUSAL_OTHER, REFUSAL_READ_BEGUN, REFUSAL_READ_BEGUN, REFUSAL_READ_DONE, REFUSAL_SAME},
         5,
         true},
        /* another token comes between */
        {{REFUSAL_OTHER, REFUSAL_READ_BEGUN, REFUSAL_READ_DONE, REFUSAL_OTHER, REFUSAL_SAME},
         5,
         false},
        {{REFUSAL_OTHER, REFUSAL_READ_BEGUN, REFUSAL_OTHER, REFUSAL_READ_DONE, REFUSAL_SAME},
         5,
         false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum refusal_state now = REFUSAL_NONE;
        bool shown = false;

        for (size_t j = 0; j < cases[i].count; j++) {
            shown = refusal_shows(now, cases[i].inputs[j]);
            now = refusal_next(now, cases[i].inputs[j]);
        }
        assert_int_equal(shown, cases[i].shown);
    }
}

TEST_GROUP(ownership)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_back_off_does_not_put_off_the_end_of_the_wait),
        cmocka_unit_test(a_refusal_shows_something_once_the_newest_assignment_was_refused_too),
    };

    return cmocka_run_group_tests_name("ownership", tests, NULL, NULL);
}
