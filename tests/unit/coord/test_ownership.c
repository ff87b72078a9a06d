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

static void the_reason_for_no_slot_is_what_is_known(void **state)
{
    static const struct {
        struct no_slot_facts facts;
        enum coord_no_slot reason;
    } cases[] = {
        {{.fleet = true, .slots = 8, .others = 8}, COORD_NO_SLOT_STANDBY},
        {{.fleet = true, .slots = 8, .others = 7}, COORD_NO_SLOT_LEADER},
        {{.fleet = true, .slots = 8}, COORD_NO_SLOT_LEADER},
        {{.fleet = true, .slots = 8, .granted = 8}, COORD_NO_SLOT_TAKEOVER},
        {{.fleet = true, .slots = 8, .granted = 8, .refused = true}, COORD_NO_SLOT_REFUSED},
        {{.fleet = true, .slots = 8, .others = 8, .unreached = true}, COORD_NO_SLOT_REDIS},
        {{.fleet = true, .slots = 8, .unusable = true}, COORD_NO_SLOT_TOPIC},
        {{.fleet = true, .slots = 8, .unusable = true, .unreached = true}, COORD_NO_SLOT_TOPIC},
        {{.fleet = true, .slots = 8, .unusable = true, .outside = true}, COORD_NO_SLOT_ENTRY},
        {{.fleet = true, .slots = 8, .unusable = true, .outside = true, .named = true},
         COORD_NO_SLOT_NAME},
        {{.fleet = true, .unusable = true, .outside = true, .silent = true},
         COORD_NO_SLOT_ZOOKEEPER},
        {{.fleet = true, .outside = true, .named = true, .silent = true}, COORD_NO_SLOT_ZOOKEEPER},
        {{.fleet = true, .slots = 8, .others = 8, .silent = true}, COORD_NO_SLOT_ZOOKEEPER},
        {{.leased = true}, COORD_NO_SLOT_LEASED},
        {{.leased = false}, COORD_NO_SLOT_REDIS},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(no_slot_reason(&cases[i].facts), cases[i].reason);
    }
}

TEST_GROUP(ownership)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_back_off_does_not_put_off_the_end_of_the_wait),
        cmocka_unit_test(the_reason_for_no_slot_is_what_is_known),
        cmocka_unit_test(a_refusal_shows_something_once_the_newest_assignment_was_refused_too),
    };

    return cmocka_run_group_tests_name("ownership", tests, NULL, NULL);
}
