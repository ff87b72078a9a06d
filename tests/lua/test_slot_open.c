/* test_slot_open.c - the slot_open script: the keys of a slot, once and again. */
#include "script_table.h"
#include "support/group.h"

static void test_makes_every_key(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"redis EXISTS x prepare{x} dead{x} why{x} slot{x}", "5"},
        {"field def", "n.1"},
        {"field token", "000000000000000000000000"},
        {"field base", "0"},
        {"field claims", "0"},
        {"open p", "OK"},
        {"open t", "OK"},
        {"open b", "OK"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

static void test_again_is_fine_and_changes_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 1 n=1", NULL},
        {"slot_open m 0", "OK 0"},
        {"store", "b@1000"},
        {"prepare", "1000c1:a@31000"},
        {"field token", "000000010000000000000001"},
        {"field claims", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Those who sleep do not know that the slot has lost its keys. */
static void test_who_sleeps_is_woken(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"open m", "OK"},
        {"slot_open m 0", "OK 0"},
        {"woken", "0"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 n=1", NULL},
        {"redis DEL slot{x}", "1"},
        {"slot_open m 0", "OK 0"},
        {"woken", "1"},
        {"redis DEL x prepare{x} dead{x} why{x} slot{x}", "5"},
        {"slot_open m 0", "OK 1"},
        {"woken", "1"},
        {"deaf", ""},
        {"redis DEL slot{x}", "1"},
        {"slot_open m 0", "OK 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_shared_slot_has_the_word_for_a_token(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"field token", "shared"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_token_outlives_the_topic(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 9", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 9", NULL},
        {"slot_seal 1", "OK"},
        {"slot_clear 10", "OK 0"},
        {"slot_open def=m.1 t 0 gen=2 deletes=1", "OK 0"},
        {"field token", "000000010000000000000009"},
        {"field claims", "1"},
        {"takeover 8 def=m.1", "FENCED 000000010000000000000009"},
        /* shared in between: it begins anew */
        {"slot_seal def=m.1 1 deletion=2", "OK"},
        {"slot_open def=o.1 m 1 gen=3 deletes=2", "OK 0"},
        {"slot_seal def=o.1 1 deletion=3", "OK"},
        {"slot_open def=p.1 m 0 gen=4 deletes=3", "OK 0"},
        {"field token", "000000000000000000000000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_keys_of_others_are_left_alone(void **state)
{
    static const struct script_row rows[] = {
        {"redis SET x value", "OK"},
        {"slot_open m 0", "FOREIGN x"},
        {"redis GET x", "value"},
        {"redis EXISTS prepare{x} slot{x}", "0"},
        {"redis DEL x", "1"},
        {"redis ZADD x 5 theirs", "1"},
        {"slot_open m 0", "FOREIGN x"},
        {"redis ZCARD x", "1"},
        {"redis DEL x", "1"},
        {"redis SADD dead{x} theirs", "1"},
        {"slot_open m 0", "FOREIGN dead{x}"},
        {"redis DEL dead{x}", "1"},
        {"redis HSET slot{x} their field", "1"},
        {"slot_open m 0", "FOREIGN slot{x}"},
        {"redis DEL slot{x}", "1"},
        {"slot_open m 0", "OK 1"},
    };

    fixture_flush(*state);
    SCRIPT_TABLE(state, rows);
}

static void test_a_topic_that_was_not_deleted_is_left_alone(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_open def=m.1 t 0", "TAKEN"},
        {"field def", "n.1"},
        {"send a +0", "OK a"},
        {"slot_open def=m.1 t 0 gen=2", "TAKEN"},
        {"field def", "n.1"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

/* An empty slot of an earlier generation: a creation that was late, and came after the deletion. */
static void test_what_a_late_creation_left_is_taken_over(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"field bound", "1 fleet"},
        {"slot_open def=m.1 t 0 gen=2", "OK 0"},
        {"field def", "m.1"},
        {"field generation", "2"},
        {"field token", "000000010000000000000001"},
        {"field bound", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_late_after_the_deletion(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal 1", "OK"},
        {"slot_open m 0", "GONE"},
        {"slot_clear 10", "OK 0"},
        {"slot_open m 0", "GONE"},
        {"field def", "nil"},
        {"send a +0", "NO_TOPIC"},
        {"slot_open def=m.1 m 0 gen=2 deletes=1", "OK 0"},
        {"slot_open m 0", "GONE"},
        {"slot_open m 0 deletes=1", "TAKEN"},
        {"slot_open def=m.1 m 0 deletes=1", "GONE"},
        {"field def", "m.1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_it_knows_of_its_topic(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_read", "OK n.1 text 1 1 000000000000000000000000 0 0 0 0 1 '' 0"},
        {"takeover 7", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 7 n=1", NULL},
        {"slot_alter def=n.3 definition=other gen=4", "OK"},
        {"send def=n.4 c +0", "OK a"},
        {"slot_pause def=n.4 1 pauses=5", "OK"},
        {"slot_read", "OK n.4 other 3 4 000000010000000000000007 5 1 0 3 1 1 fleet 0"},
        {"slot_seal def=n.4 1 deletion=9", "OK"},
        {"slot_read", "OK '' other 3 4 000000010000000000000007 5 1 9 3 1 1 fleet 0"},
        {"slot_clear 10 deletion=9", "OK 0"},
        {"slot_read", "OK '' '' 0 4 000000010000000000000007 0 0 9 0 1 '' 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_slot_without_keys(void **state)
{
    static const struct script_row before[] = {
        {"open m", "OK"},
        {"takeover 7", "OK 0 0 0"},
        {"send a +0", "OK a"},
        {"redis DEL x prepare{x} dead{x} why{x} slot{x}", "5"},
    };
    static const struct script_row after[] = {
        {"slot_open def=n.3 m 0 gen=2 pauses=3 paused=1", "OK 1"},
        {"slot_read", "OK n.3 text 3 2 000000000000000000000000 3 1 0 0 1 '' 0"},
        /* once more, and with what is newer */
        {"slot_open def=n.3 m 0 gen=2 pauses=3 paused=1", "OK 0"},
        {"slot_open def=n.3 m 0 gen=2 pauses=2 paused=0", "OK 0"},
        {"field paused", "1"},
        {"slot_open def=n.2 m 0 gen=2 pauses=4 paused=0", "STALE"},
        {"field paused", "1"},
        {"slot_open def=n.4 m 0 gen=1 pauses=4 paused=0", "GONE"},
        {"slot_open def=n.4 m 0 gen=2 pauses=4 paused=0", "OK 0"},
        {"field paused", "nil"},
    };

    SCRIPT_TABLE(state, before);
    fixture_flush(*state);
    struct args args = {0};
    redisReply *reply = fixture_call(*state, fixture_script("slot_read"), &args);
    assert_int_equal(reply->elements, 13);
    assert_string_equal(reply->element[1]->str, "");
    assert_int_equal(reply->element[10]->integer, 0);
    freeReplyObject(reply);
    SCRIPT_TABLE(state, after);
}

static void assert_removed(struct fixture *fixture)
{
    struct args args = {0};
    redisReply *reply;

    args_add(&args, "n.1");
    freeReplyObject(fixture_call(fixture, fixture_script("slot_remove"), &args));
    args_clear(&args);
    reply = fixture_redis(fixture, "EXISTS x prepare{x} dead{x} why{x} slot{x} body{x}");
    assert_int_equal(reply->integer, 0);
    freeReplyObject(reply);
}

static void test_what_a_creation_made_is_removed_while_nobody_used_it(void **state)
{
    /* clang-format off */
    static const struct script_row first[] = {
        {"open m", "OK"},
        {"slot_remove def=m.1", "GONE"},
        {"send a +0", "OK a"},
        {"slot_remove", "GONE"},
        {"store", "a@1000"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 done 1000c1:a", NULL},
        {"store", ""},
        {"prepare", ""},
        {"slot_remove", "GONE"},
        {"field claims", "1"},
    };
    /* clang-format on */
    static const struct script_row second[] = {
        {"slot_open f 0", "OK 1"},
    };
    static const struct script_row third[] = {
        {"open m", "OK"},
    };

    SCRIPT_TABLE(state, first);
    fixture_flush(*state);
    struct fixture *fixture = *state;
    fixture->keyed = true;
    SCRIPT_TABLE(state, second);
    assert_removed(fixture);
    fixture->keyed = false;
    SCRIPT_TABLE(state, third);
}

/* It has a definition last, and once it had one it has a generation for ever. */
static void test_what_is_half_opened_is_removed_and_what_was_a_slot_is_not(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"redis HDEL slot{x} def", "1"},
        {"slot_remove", "GONE"},
        {"redis HDEL slot{x} generation", "1"},
        {"send a +0", "NO_TOPIC"},
        {"redis ZADD x 1000 a", "1"},
        {"slot_remove", "GONE"},
        {"redis ZREM x a", "1"},
        {"redis HDEL slot{x} claims base owner token definition version pauses", NULL},
    };

    SCRIPT_TABLE(state, rows);
    assert_removed(*state);
}

TEST_GROUP(slot_open)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_makes_every_key),
        cmocka_unit_test(test_again_is_fine_and_changes_nothing),
        cmocka_unit_test(test_who_sleeps_is_woken),
        cmocka_unit_test(test_a_shared_slot_has_the_word_for_a_token),
        cmocka_unit_test(test_the_token_outlives_the_topic),
        cmocka_unit_test(test_keys_of_others_are_left_alone),
        cmocka_unit_test(test_a_topic_that_was_not_deleted_is_left_alone),
        cmocka_unit_test(test_what_a_late_creation_left_is_taken_over),
        cmocka_unit_test(test_late_after_the_deletion),
        cmocka_unit_test(test_what_it_knows_of_its_topic),
        cmocka_unit_test(test_a_slot_without_keys),
        cmocka_unit_test(test_what_a_creation_made_is_removed_while_nobody_used_it),
        cmocka_unit_test(test_what_is_half_opened_is_removed_and_what_was_a_slot_is_not),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
