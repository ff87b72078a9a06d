/* test_vacate.c - the vacate script: a clean stop forgets the name, not the token. */
#include "script_table.h"
#include "support/group.h"

static void test_forgets_the_owner_and_keeps_the_token(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"vacate 1", "OK"},
        {"field owner", "''"},
        {"field token", "000000010000000000000001"},
        {"vacate 1", "OK"}, /* again is fine */
        {"takeover 1 owner=late", "OK 0 0 0"},
        {"field owner", "''"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_late_one_changes_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"takeover 2 owner=new", "OK 0 0 0"},
        {"vacate 1", "FENCED 000000010000000000000002"},
        {"vacate 0", "FENCED 000000010000000000000002"},
        {"vacate 2 def=o.1", "STALE"},
        {"field owner", "new"},
        {"slot_seal 1", "OK"},
        {"vacate 2", "NO_TOPIC"},
        {"field owner", "new"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(vacate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forgets_the_owner_and_keeps_the_token),
        cmocka_unit_test(test_a_late_one_changes_nothing),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
