/* test_slot_clear.c - the slot_clear script: a sealed slot is emptied in steps. */
#include "script_table.h"
#include "support/group.h"

static void test_only_a_sealed_slot(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"send a +0", "OK a"},
        {"slot_clear 10", "IN_USE"},
        {"store", "a@1000"},
        {"slot_seal 1", "OK"},
        {"slot_clear 10 deletion=2", "IN_USE"},
        {"store", "a@1000"}, /* another deletion has not sealed it */
        {"slot_unseal", "OK"},
        {"slot_clear 10", "IN_USE"}, /* it was taken back */
        {"store", "a@1000"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

static void test_in_steps_from_store_to_dead(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 3", "OK 0 0 0"},
        {"at 1000", ""},
        {"send id=me.1 a 9 b 8 c 7 d 6 e 5", "OK aaaaa"},
        {"consume 3 n=3", NULL},
        {"consume 3 n=0 last=1 reject 9c1:a bad reject 8c1:b bad", NULL},
        {"slot_seal 1", "OK"},
        {"slot_clear 1", "OK 1"},
        {"store", "d@6"},
        {"slot_clear 2", "OK 1"},
        {"store", ""},
        {"prepare", ""},
        {"dead", "8d:b@1000 9d:a@1000"},
        {"slot_clear 1", "OK 1"},
        {"slot_clear 1", "OK 0"},
        {"dead", ""},
        {"why", ""},
        {"slot_clear 1", "OK 0"},
        {"field token", "000000010000000000000003"},
        {"field owner", "me"},
        {"field claims", "1"},
        {"field sent", "nil"},
        {"field Pme", "nil"},
        {"field swept", "nil"},
        {"field rejected", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_every_kind_keeps_its_sentinels(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"send a 5 b 6", "OK aa"},
        {"slot_seal 1", "OK"},
        {"slot_clear 1000", "OK 0"},
        {"store", ""},
        {"open p", "OK"},
        {"send a 5 b -6", "OK aa"},
        {"slot_seal 1", "OK"},
        {"slot_clear 1000", "OK 0"},
        {"store", ""},
        {"field seq", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(slot_clear)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_sealed_slot),
        cmocka_unit_test(test_in_steps_from_store_to_dead),
        cmocka_unit_test(test_every_kind_keeps_its_sentinels),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
