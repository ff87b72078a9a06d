/* test_confirmation.c - until when a handler may begin. */
#include "core/confirmation.h"
#include "support/group.h"

static const struct {
    const char *what;
    int64_t asked_ms, lease_ms, valid_ms, invalidated_ms, until_ms;
} untils[] = {
    {"the lease of messages is the shorter one", 1000, 300, 600, 0, 1300},
    {"two thirds of the session are", 1000, 30000, 600, 0, 1600},
    {"both are equal", 1000, 600, 600, 0, 1600},
    {"nothing limits it", 1000, INT64_MAX, INT64_MAX, 0, INT64_MAX},
    {"the session is over", 1000, 30000, 0, 0, 1000},
    {"it was invalidated since", 1000, 30000, 600, 1200, 0},
    {"it was asked for in the millisecond of the doubt", 1000, 30000, 600, 1000, 0},
    {"it was asked for after the doubt", 1001, 30000, 600, 1000, 1601},
    {"nothing was confirmed yet", 0, 30000, 600, 0, 0},
};

static void shorter_of_two_times_counts_from_the_question(void **state)
{
    for (size_t i = 0; i < sizeof(untils) / sizeof(untils[0]); i++) {
        print_message("%s\n", untils[i].what);
        assert_int_equal(confirmation_until(untils[i].asked_ms, untils[i].lease_ms,
                                            untils[i].valid_ms, untils[i].invalidated_ms),
                         untils[i].until_ms);
    }
}

static const struct {
    const char *what;
    int64_t now_ms, until_ms, member_until_ms;
    enum confirmation result;
} judgements[] = {
    {"young", 1599, 1600, INT64_MAX, CONFIRMATION_GOOD},
    {"exactly at its end", 1600, 1600, INT64_MAX, CONFIRMATION_OLD},
    {"after a freeze", 17000, 1600, INT64_MAX, CONFIRMATION_OLD},
    {"invalidated", 1, 0, INT64_MAX, CONFIRMATION_OLD},
    {"young, the membership lasts longer", 1500, 1600, 1501, CONFIRMATION_GOOD},
    {"young, but the membership is over", 1500, 1600, 1500, CONFIRMATION_OVER},
    {"old, and the membership is over", 9000, 1600, 1500, CONFIRMATION_OVER},
    {"the membership never began", 5, INT64_MAX, 0, CONFIRMATION_OVER},
};

static void membership_comes_before_age(void **state)
{
    for (size_t i = 0; i < sizeof(judgements) / sizeof(judgements[0]); i++) {
        print_message("%s\n", judgements[i].what);
        assert_int_equal(confirmation_at(judgements[i].now_ms, judgements[i].until_ms,
                                         judgements[i].member_until_ms),
                         judgements[i].result);
    }
}

TEST_GROUP(confirmation)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shorter_of_two_times_counts_from_the_question),
        cmocka_unit_test(membership_comes_before_age),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
