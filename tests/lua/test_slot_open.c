/* test_slot_open.c - the slot_open script: the keys of a slot, once and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "play.h"

static void test_makes_every_key(void **state)
{
    PLAY(state, {"open m", "OK"}, {"redis EXISTS x prepare{x} dead{x} why{x} slot{x}", "5"},
         {"field def", "n.1"}, {"field token", "000000000000000000000000"}, {"field base", "0"},
         {"field claims", "0"}, {"open p", "OK"}, {"open t", "OK"}, {"open b", "OK"});
}

static void test_again_is_fine_and_changes_nothing(void **state)
{
    PLAY(state, {"open m", "OK"}, {"takeover 1", "OK 0 0 0"}, {"at 1000", ""},
         {"send a +0 b +0", "OK aa"}, {"consume 1 n=1", NULL}, {"slot_open m 0", "OK"},
         {"store", "b@1000"}, {"prepare", "1000c1:a@31000"},
         {"field token", "000000010000000000000001"}, {"field claims", "1"});
}

static void test_a_shared_slot_has_the_word_for_a_token(void **state)
{
    PLAY(state, {"open m shared", "OK"}, {"field token", "shared"});
}

static void test_the_token_outlives_the_topic(void **state)
{
    PLAY(state, {"open m", "OK"}, {"takeover 9", "OK 0 0 0"}, {"at 1000", ""},
         {"send a +0", "OK a"}, {"consume 9", NULL}, {"slot_seal 1", "OK"},
         {"slot_clear 10", "OK 0"}, {"slot_open def=m.1 t 0", "OK"},
         {"field token", "000000010000000000000009"}, {"field claims", "1"},
         {"takeover 8 def=m.1", "FENCED 000000010000000000000009"},
         /* shared in between: it begins anew */
         {"slot_seal def=m.1 1", "OK"}, {"slot_open def=o.1 m 1", "OK"},
         {"slot_seal def=o.1 1", "OK"}, {"slot_open def=p.1 m 0", "OK"},
         {"field token", "000000000000000000000000"});
}

static void test_keys_of_others_are_left_alone(void **state)
{
    fixture_flush(*state);
    PLAY(state, {"redis SET x value", "OK"}, {"slot_open m 0", "FOREIGN x"},
         {"redis GET x", "value"}, {"redis EXISTS prepare{x} slot{x}", "0"}, {"redis DEL x", "1"},
         {"redis ZADD x 5 theirs", "1"}, {"slot_open m 0", "FOREIGN x"}, {"redis ZCARD x", "1"},
         {"redis DEL x", "1"}, {"redis SADD dead{x} theirs", "1"},
         {"slot_open m 0", "FOREIGN dead{x}"}, {"redis DEL dead{x}", "1"},
         {"redis HSET slot{x} their field", "1"}, {"slot_open m 0", "FOREIGN slot{x}"},
         {"redis DEL slot{x}", "1"}, {"slot_open m 0", "OK"});
}

static void test_a_topic_that_was_not_deleted_is_left_alone(void **state)
{
    PLAY(state, {"open m", "OK"}, {"slot_open def=m.1 t 0", "FOREIGN slot{x}"},
         {"field def", "n.1"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_makes_every_key),
        cmocka_unit_test(test_again_is_fine_and_changes_nothing),
        cmocka_unit_test(test_a_shared_slot_has_the_word_for_a_token),
        cmocka_unit_test(test_the_token_outlives_the_topic),
        cmocka_unit_test(test_keys_of_others_are_left_alone),
        cmocka_unit_test(test_a_topic_that_was_not_deleted_is_left_alone),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
