/* test_slot_seal.c - the scripts slot_seal and slot_unseal: a definition is withdrawn. */
#include "script_table.h"
#include "support/group.h"

static void test_an_empty_slot_is_sealed(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal 0", "OK"},
        {"field def", "nil"},
        {"slot_seal 0", "OK"},
        {"slot_seal 1", "OK"}, /* again is fine */
        {"send a +0", "NO_TOPIC"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

static void test_what_waits_rests_or_is_dead_keeps_it_open(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +9", "OK aaa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 reject 1000c1:a bad", NULL},
        {"slot_seal 0", "NOT_EMPTY 3"},
        {"field def", "n.1"},
        {"slot_seal 1", "OK"},
        {"field def", "nil"},
        {"slot_seal 0", "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_of_another_definition(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal def=m.1 1", "GONE"},
        {"slot_unseal def=m.1", "GONE"},
        {"field def", "n.1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_deletion_that_was_taken_back_seals_nothing_any_more(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal 0", "OK"},
        {"slot_unseal", "OK"},
        {"slot_seal 1", "CHANGED"},
        {"field def", "n.1"},
        {"send a +0", "OK a"},
        /* also where it found messages, and sealed nothing */
        {"slot_seal 0 deletion=2", "NOT_EMPTY 1"},
        {"slot_unseal deletion=2", "OK"},
        /* that of the deletion before comes late: the number stays */
        {"slot_unseal", "OK"},
        {"field sealed", "2"},
        {"slot_seal 1 deletion=2", "CHANGED"},
        {"slot_seal 1 deletion=3", "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_late_unseal_revives_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal 0", "OK"},
        {"slot_unseal", "OK"},
        {"slot_seal 1 deletion=2", "OK"},
        {"slot_unseal", "GONE"},
        {"field def", "nil"},
        {"slot_seal 1", "OK"},
        {"slot_unseal", "GONE"},
        {"slot_clear 10 deletion=2", "OK 0"},
        {"slot_unseal", "GONE"},
        {"send a +0", "NO_TOPIC"},
        {"slot_open def=m.1 m 0 gen=2 deletes=2", "OK 0"},
        {"slot_unseal", "GONE"},
        {"slot_unseal deletion=2", "GONE"},
        {"field def", "m.1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A slot that has lost what it knew, and one that only another deletion has sealed, stay closed. */
static void test_a_deletion_opens_only_what_it_has_sealed(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal 0", "OK"},
        {"slot_unseal deletion=2", "GONE"},
        {"field def", "nil"},
        {"redis HDEL slot{x} sealed", "1"},
        {"slot_unseal", "GONE"},
        {"field def", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_unseal_takes_it_back(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal 0", "OK"},
        {"slot_unseal", "OK"},
        {"slot_unseal", "OK"},
        {"send a +0", "OK a"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(slot_seal)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_slot_is_sealed),
        cmocka_unit_test(test_what_waits_rests_or_is_dead_keeps_it_open),
        cmocka_unit_test(test_of_another_definition),
        cmocka_unit_test(test_a_deletion_that_was_taken_back_seals_nothing_any_more),
        cmocka_unit_test(test_a_late_unseal_revives_nothing),
        cmocka_unit_test(test_a_deletion_opens_only_what_it_has_sealed),
        cmocka_unit_test(test_unseal_takes_it_back),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
