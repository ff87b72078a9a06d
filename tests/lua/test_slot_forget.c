/* test_slot_forget.c - the slot_forget script: a slot that was cleared leaves a tombstone, and what
 * comes late does not make it again. */
#include "script_table.h"
#include "support/group.h"

#define TOMBSTONE "tombstone{x}"

static void test_only_a_slot_that_this_deletion_cleared(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_forget 1 " TOMBSTONE " 1000 ''", "IN_USE"},
        {"send a +0", "OK a"},
        {"slot_seal 1", "OK"},
        {"slot_forget 1 " TOMBSTONE " 1000 ''", "IN_USE"},
        {"slot_clear 1000", "OK 0"},
        {"slot_forget 2 " TOMBSTONE " 1000 ''", "IN_USE"},
        {"redis EXISTS slot{x} " TOMBSTONE, "1"},
        {"slot_forget 1 " TOMBSTONE " 1000000 schedule{x}", "OK"},
        {"redis EXISTS x prepare{x} dead{x} why{x} slot{x}", "0"},
        {"redis GET " TOMBSTONE, "1 1"},
        {"slot_forget 1 " TOMBSTONE " 1000000 schedule{x}", "OK"}, /* its reply was lost */
        {"redis GET " TOMBSTONE, "1 1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_late_call_does_not_open_it(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal 1", "OK"},
        {"slot_clear 1000", "OK 0"},
        {"slot_forget 1 " TOMBSTONE " 1000000 schedule{x}", "OK"},
        {"slot_open m 0 tombstone=" TOMBSTONE, "GONE"},
        {"slot_open m 0 tombstone=" TOMBSTONE " deletes=1 gen=0", "GONE"},
        {"send a +0", "NO_TOPIC"},
        {"slot_unseal", "GONE"},
        {"slot_read " TOMBSTONE, "OK '' '' 0 1 '' 0 0 1 0 0 '' 0"},
        {"redis EXISTS x prepare{x} dead{x} why{x} slot{x}", "0"},
        {"slot_open m 0 tombstone=" TOMBSTONE " deletes=1 gen=2", "OK 1"},
        {"field sealed", "1"},
        {"field generation", "2"},
    };

    SCRIPT_TABLE(state, rows);
}

/* The topic goes on from its own tombstone. */
static void test_the_topic_has_one_too(void **state)
{
    static const struct script_row rows[] = {
        {"topic create d n 0 0 0 1 " TOMBSTONE, "OK creating d n 1 1"},
        {"topic ready n", "OK"},
        {"topic delete n 0 me", "OK 1"},
        {"topic removed n 1 " TOMBSTONE " 1000000 schedule{x}", "OK"},
        {"topic removed n 1 " TOMBSTONE " 1000000 schedule{x}", "OK"},
        {"redis DBSIZE", "1"},
        {"redis GET " TOMBSTONE, "1 1"},
        {"topic create d n 0 0 0 1 " TOMBSTONE, "CHANGED"}, /* it comes late */
        {"topic create d m 1 1 1 1 " TOMBSTONE, "OK creating d m 1 2"},
        {"topic", "definition=d deletes=1 generation=2 nonce=m state=creating version=1"},
        {"topic undone m " TOMBSTONE " 1000000 schedule{x}", "OK"},
        {"redis DBSIZE", "1"},
        {"redis GET " TOMBSTONE, "2 1"},
    };

    fixture_flush(*state);
    SCRIPT_TABLE(state, rows);
}

static void test_without_the_right_none_is_left(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal 1", "OK"},
        {"slot_clear 1000", "OK 0"},
        {"redis ACL SETUSER default -set -get", "OK"},
        {"slot_forget 1 " TOMBSTONE " 1000000 schedule{x}", "OK"},
        {"redis EXISTS slot{x} " TOMBSTONE, "0"},
        {"slot_open m 0 tombstone=" TOMBSTONE " deletes=1 gen=2", "OK 1"},
        {"redis ACL SETUSER default +@all", "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(slot_forget)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_slot_that_this_deletion_cleared),
        cmocka_unit_test(test_a_late_call_does_not_open_it),
        cmocka_unit_test(test_the_topic_has_one_too),
        cmocka_unit_test(test_without_the_right_none_is_left),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
