/* test_definitions.c - definition stamps that an alteration changed, slots that are paused, and
 * slots of a topic that was bound to something else. */
#include "script_table.h"
#include "support/group.h"

static void test_a_slot_takes_the_newer_stamp_of_its_caller(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"at 1000", ""},
        {"send def=n.3 a +0", "OK a"},
        {"field def", "n.3"},
        {"send def=n.2 b +0", "STALE"},
        {"inspect def=n.4", NULL},
        {"field def", "n.3"},
        {"takeover def=n.4 1", "OK 0 0 0"},
        {"field def", "n.4"},
        {"consume def=n.10 n=1 1", NULL},
        {"field def", "n.10"},
        {"renew def=n.11 1 1000c1:a", "OK 1000 1"},
        {"field def", "n.11"},
        {"vacate def=n.12 1", "OK"},
        {"field def", "n.12"},
        {"consume def=m.13 1", "STALE"},
        {"consume def=n.13 2", NULL},
        {"field def", "n.12"},
        {"slot_pause def=n.13 1", "OK"},
        {"field def", "n.13"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_paused_slot_claims_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 1 n=1", NULL},
        {"redis HSET slot{x} paused 1", "1"},
        {"consume 1 last=1 done 1000c1:a", "OK 1000 '' 1 1 2"},
        {"field parked", "0"},
        {"send c +0", "OK a"},
        {"woken", "0"},
        {"redis HDEL slot{x} paused", "1"},
        {"consume 1 last=1", "OK 1000 31000 2 '' 0 1000c2:b 0 1000c2:c 0"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_paused_slot_gives_a_lost_reply_again(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"redis HSET slot{x} paused 1", "1"},
        {"consume 1 last=0", "OK 1000 '' 1 '' 2 1000c1:a 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_an_alteration_reaches_a_slot(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"listen", ""},
        {"slot_alter def=n.2", "OK"},
        {"woken", "1"},
        {"field def", "n.2"},
        {"slot_alter def=n.2", "OK"},
        {"woken", "1"},
        {"slot_alter def=n.1", "STALE"},
        {"slot_alter def=o.3", "STALE"},
        {"woken", "0"},
        {"deaf", ""},
        {"slot_alter def=n.3 gen=4", "OK"},
        {"slot_alter def=n.4 gen=3", "OK"},
        {"field generation", "4"},
        {"slot_seal 1", "OK"},
        {"slot_alter def=n.5", "NO_TOPIC"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A deletion does not stop at a slot that an alteration has not reached. */
static void test_a_slot_of_another_version_is_sealed(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal def=o.1 1", "GONE"},
        {"slot_seal def=n.2 1", "OK"},
        {"slot_unseal def=n.2", "OK"},
        {"field def", "n.2"},
        {"slot_unseal def=n.3", "OK"},
        {"field def", "n.2"},
        {"slot_unseal def=o.2", "GONE"},
        {"slot_seal def=n.1 deletion=2 1", "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_pause_and_resume_wake(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {"slot_pause 1", "OK"},
        {"woken", "1"},
        {"field paused", "1"},
        {"consume 1", "OK 1000 '' 0 '' 2"},
        {"field parked", "0"},
        {"slot_pause 1", "OK"},
        {"woken", "1"},
        {"send a +0", "OK a"},
        {"woken", "0"},
        {"slot_pause pauses=2 0", "OK"},
        {"woken", "1"},
        {"field paused", "nil"},
        {"field parked", "nil"},
        {"slot_pause def=o.1 pauses=3 0", "STALE"},
        {"slot_seal 1", "OK"},
        {"slot_pause pauses=3 0", "NO_TOPIC"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_pause_that_comes_after_the_resume(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"slot_pause pauses=1 1", "OK"},
        {"slot_pause pauses=2 0", "OK"},
        {"slot_pause pauses=1 1", "CHANGED"},
        {"field paused", "nil"},
        {"field pauses", "2"},
        {"slot_pause pauses=2 0", "OK"},
        {"slot_pause pauses=3 1", "OK"},
        {"slot_pause pauses=2 0", "CHANGED"},
        {"field paused", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* The one who sleeps is not heard from just then: the next send wakes it. */
static void test_a_resume_that_nobody_heard(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"slot_pause 1", "OK"},
        {"consume 1", "OK 1000 '' 0 '' 2"},
        {"field parked", "0"},
        {"slot_pause pauses=2 0", "OK"},
        {"listen", ""},
        {"send a +500", "OK a"},
        {"woken", "1"},
        {"deaf", ""},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

static void test_a_slot_is_told_what_its_topic_is_bound_to(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_bind 2 a", "OK"},
        {"field bound", "2 a"},
        {"slot_bind 2 a", "OK"},
        {"slot_bind 1 b", "CHANGED"},
        {"slot_bind def=o.1 3 b", "GONE"},
        {"field bound", "2 a"},
        /* whatever version its caller knows */
        {"slot_bind def=n.9 10 c", "OK"},
        {"field bound", "10 c"},
        {"field def", "n.1"},
        {"slot_bind 9 d", "CHANGED"},
        {"slot_seal 1", "OK"},
        {"slot_bind 11 d", "GONE"},
        {"slot_unseal", "OK"},
        {"field bound", "10 c"},
        {"slot_seal 1 deletion=2", "OK"},
        {"slot_clear 10 deletion=2", "OK 0"},
        {"field bound", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(definitions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slot_takes_the_newer_stamp_of_its_caller),
        cmocka_unit_test(test_an_alteration_reaches_a_slot),
        cmocka_unit_test(test_a_slot_of_another_version_is_sealed),
        cmocka_unit_test(test_pause_and_resume_wake),
        cmocka_unit_test(test_a_pause_that_comes_after_the_resume),
        cmocka_unit_test(test_a_resume_that_nobody_heard),
        cmocka_unit_test(test_a_paused_slot_claims_nothing),
        cmocka_unit_test(test_a_paused_slot_gives_a_lost_reply_again),
        cmocka_unit_test(test_a_slot_is_told_what_its_topic_is_bound_to),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
