/* test_owners.c - who owns a slot when members of a fleet report late what they gained and lost. */
#include "owners.h"
#include "support/group.h"

enum { MEMBERS = 3, SLOTS = 4 };

static const int64_t ms = 1000000; /* in nanoseconds */

static const char *const first = "0000000100000000000000d4";
static const char *const second = "000000010000000000000123";

static int setup(void **state)
{
    *state = owners_new(MEMBERS, SLOTS);
    return 0;
}

static int teardown(void **state)
{
    owners_free(*state);
    return 0;
}

static void a_slot_goes_from_one_member_to_another(void **state)
{
    struct owners *owners = *state;

    assert_int_equal(owners_of(owners, 2), OWNERS_NONE);
    assert_string_equal(owners_token(owners, 2), "");
    owners_gain(owners, 0, 2, 1, first);
    assert_int_equal(owners_unowned(owners), SLOTS - 1);
    owners_lose(owners, 0, 2, 2);
    assert_int_equal(owners_unowned(owners), SLOTS);
    owners_gain(owners, 1, 2, 3, second);
    assert_int_equal(owners_of(owners, 2), 1);
    assert_string_equal(owners_token(owners, 2), second);
    assert_int_equal(owners_owned(owners, 0), 0);
    assert_int_equal(owners_owned(owners, 1), 1);
}

/* The new owner reports first; then the former one reports that it gained and lost the slot. */
static void a_member_that_reports_late_does_not_own_the_slot(void **state)
{
    struct owners *owners = *state;

    owners_gain(owners, 1, 2, 1, second);
    owners_gain(owners, 0, 2, 2, first);
    assert_int_equal(owners_of(owners, 2), 1);
    owners_lose(owners, 0, 2, 3);
    assert_int_equal(owners_of(owners, 2), 1);
    assert_string_equal(owners_token(owners, 2), second);
    assert_int_equal(owners_owned(owners, 0), 0);
    assert_int_equal(owners_unowned(owners), SLOTS - 1);
    assert_int_equal(owners_counts(owners).gains, 2);
    assert_int_equal(owners_counts(owners).losses, 1);
}

static void a_slot_is_gained_again_with_the_same_token(void **state)
{
    struct owners *owners = *state;

    owners_gain(owners, 1, 2, 1, first);
    owners_lose(owners, 1, 2, 2);
    owners_gain(owners, 1, 2, 3, first);
    assert_int_equal(owners_of(owners, 2), 1);
}

static void a_killed_member_owns_nothing(void **state)
{
    struct owners *owners = *state;

    owners_gain(owners, 0, 0, 1, first);
    owners_gain(owners, 1, 1, 1, first);
    owners_gain(owners, 1, 2, 1, first);
    owners_kill(owners, 1);
    assert_int_equal(owners_owned(owners, 0), 1);
    assert_int_equal(owners_owned(owners, 1), 0);
    assert_int_equal(owners_of(owners, 1), OWNERS_NONE);
    assert_int_equal(owners_unowned(owners), SLOTS - 1);
}

static void coverage_lasts_until_the_last_gain_since_the_start(void **state)
{
    struct owners *owners = *state;
    struct samples pauses = {0};

    owners_gain(owners, 0, 0, 5 * ms, first); /* before the start */
    owners_gain(owners, 0, 1, 5 * ms, first);
    owners_lose(owners, 0, 1, 20 * ms);
    owners_gain(owners, 1, 1, 50 * ms, second);
    owners_gain(owners, 2, 2, 40 * ms, second); /* no member had it */
    owners_gain(owners, 0, 3, 30 * ms, second);
    owners_gain(owners, 1, 3, 60 * ms, first); /* late: no gain since the start */
    owners_lose(owners, 1, 3, 61 * ms);
    assert_true(owners_coverage_s(owners, 10 * ms, &pauses) == 0.04);
    assert_int_equal(pauses.count, 2);
    assert_true(samples_quantile(&pauses, 1) == 30);
    assert_true(samples_quantile(&pauses, 0) == 0);
    samples_fini(&pauses);
}

TEST_GROUP(owners)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_slot_goes_from_one_member_to_another, setup, teardown),
        cmocka_unit_test_setup_teardown(a_member_that_reports_late_does_not_own_the_slot, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_slot_is_gained_again_with_the_same_token, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_killed_member_owns_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(coverage_lasts_until_the_last_gain_since_the_start, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
