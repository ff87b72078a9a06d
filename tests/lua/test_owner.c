/* test_owner.c - the owner script: who has a slot, and how long its claims are leased. */
#include "script_table.h"
#include "support/group.h"

static void test_nobody_has_it(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"at 1000", ""},
        {"owner", "OK 000000000000000000000000 '' 0 0"},
        {"redis HDEL slot{x} def token owner", "3"},
        {"owner", "OK '' '' 0 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_last_claim_counts(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 7 owner=host-1", "OK 0 0 0"},
        {"at 1000", ""},
        {"owner", "OK 000000010000000000000007 host-1 0 1"},
        {"send a +0 b +0", "OK aa"},
        {"consume 7 n=1", NULL},
        {"at 2000", ""},
        {"consume 7 n=1 last=1", NULL},
        {"owner", "OK 000000010000000000000007 host-1 30000 1"},
        {"at 31999", ""},
        {"owner", "OK 000000010000000000000007 host-1 1 1"},
        {"at 32000", ""},
        {"owner", "OK 000000010000000000000007 host-1 0 1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_rest_is_no_claim(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 60000 why", NULL},
        {"vacate 1", "OK"},
        {"owner", "OK 000000010000000000000001 '' 0 1"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

static void test_a_slot_without_definition_tells(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 5", "OK 0 0 0"},
        {"slot_seal 1", "OK"},
        {"at 1000", ""},
        {"owner", "OK 000000010000000000000005 me 0 1"},
        {"slot_unseal", "OK"},
        {"slot_bind 9 other", "OK"},
        {"owner", "OK 000000010000000000000005 me 0 9"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(owner)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_has_it),
        cmocka_unit_test(test_the_last_claim_counts),
        cmocka_unit_test(test_a_rest_is_no_claim),
        cmocka_unit_test(test_a_slot_without_definition_tells),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
