/* test_edit.c - the edit script: messages are removed, requeued, rescheduled. */
#include "script_table.h"
#include "support/group.h"

/* --- remove --- */

static void test_removed_from_every_state_but_claimed(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0 d +9", "OK aaaa"},
        {"consume 1 n=3", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:b 50 no reject 1000c1:c bad", NULL},
        {"edit remove w d x d", "OK 100"},
        {"store", ""},
        {"edit remove r 1000c1:a 1000r1:b 1000r1:x junk", "OK 0100"},
        {"prepare", "1000c1:a@31000"},
        {"edit remove d 1000d:c 1000d:c", "OK 10"},
        {"dead", ""},
        {"why", ""},
        {"edit remove w ''", "OK 0"},
        {"edit remove r ''", "OK 0"},
        {"edit remove d ''", "OK 0"},
        {"edit remove w", "OK ''"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_removed_with_what_is_stored_beside_it(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' '' b +0 two '' '' c +0 three '' ''", "OK aaa"},
        {"consume 1", NULL},
        {"send a +0 four '' ''", "OK a"},
        {"consume 1 n=0 last=1 retry 1000c1:b 50 no reject 1000c1:c bad", NULL},
        {"why", "1000d:c=bad|x1000 B1000d:c=three H1000d:c=1000 Rb=no|t1000"},
        {"edit remove w a", "OK 1"},
        {"body", "ba=four bb=two ha=1000 hb=1000"},
        {"edit remove r 1000r1:b", "OK 1"},
        {"body", "ba=four ha=1000"},
        {"edit remove d 1000d:c", "OK 1"},
        {"why", ""},
        {"send d +0 five '' ''", "OK a"},
        {"edit remove w d", "OK 1"},
        {"body", "ba=four ha=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* What waits behind a message that rests may go when that is removed. */
static void test_of_fifo_the_next_is_waked(void **state)
{
    static const struct script_row rows[] = {
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"send !1:ka 0 one '' '' !1:kb 0 two '' ''", "OK aa"},
        {"consume 1 n=1", NULL},
        {"consume 1 last=1 retry 1c1:!1:ka 50 no", NULL},
        {"woken", "0"},
        {"edit remove w c", "OK 0"},
        {"woken", "0"},
        {"edit remove r 1r1:!1:ka", "OK 1"},
        {"woken", "1"},
        {"field parked", "nil"},
        {"consume 1 last=1", "OK 1000 31000 2 '' 0 2c2:!1:kb 0 1000 two"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- requeue --- */

static void test_requeued_with_their_own_time_and_all_retries(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 900.2578125 a 901 b 902 c", "3"}, /* a: 16 retries, suspect */
        {"consume 1", NULL},                             /* a alone */
        {"consume 1 last=1 reject 900c1:a bad", NULL},
        {"at 1001", ""},
        {"consume 1 n=0 last=2 reject 901c2:b bad", NULL},
        {"dead", "900d:a@1000~16 901d:b@1001"},
        {"edit requeue 900d:a 900d:x a", "OK 100"},
        {"store", "a@900"},
        {"why", "901d:b=bad|x1001"},
        {"edit requeue 901d:b 901d:b", "OK 10"},
        {"store", "a@900 b@901"},
        {"dead", ""},
        {"why", ""},
        {"edit requeue ''", "OK 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_requeued_with_their_own_priority(void **state)
{
    static const struct script_row rows[] = {
        {"open p", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 1 b 1", "OK aa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 reject 8589934591c1:a bad", NULL},
        {"edit requeue 8589934591d:a", "OK 1"},
        {"store", "a@8589934591"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_requeued_one_joins_one_that_waits(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 reject 1000c1:a bad", NULL},
        {"redis ZADD x 2000.015625 a", "1"},
        {"edit requeue 1000d:a", "OK 1"},
        {"store", "a@1000~1"},
        {"field merged", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_requeued_one_wakes_the_consumer(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"consume 1 last=1 reject 1000c1:a bad", "OK 1000 '' 1 1 0"},
        {"edit requeue 1000d:x", "OK 0"},
        {"woken", "0"},
        {"edit requeue 1000d:a", "OK 1"},
        {"woken", "1"},
        {"field parked", "nil"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* Its time to live does not begin again, and does not kill it at once. */
static void test_a_requeued_one_has_its_body_and_no_expiry(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one 3 500", "OK a"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 reject 1000c1:a bad", NULL},
        {"body", ""},
        {"at 9000", ""},
        {"edit requeue 1000d:a", "OK 1"},
        {"body", "ba=one ha=1000,3,,1"},
        {"why", ""},
        {"consume 1 last=1", "OK 9000 39000 2 '' 0 1000c2:a 0 1000,3,,1 one"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- reschedule --- */

static void test_rescheduled_to_another_time(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 5000.0234375 a", "1"},
        {"listen", ""},
        {"consume 1", "OK 1000 5000 0 '' 0"},
        {"edit reschedule a +9000", "OK 1"},
        {"store", "a@10000~1s"},
        {"woken", "1"},
        {"consume 1", "OK 1000 10000 0 '' 0"},
        {"edit reschedule a 4000", "OK 1"},
        {"store", "a@4000~1s"},
        {"woken", "1"},
        {"edit reschedule a 3", "OK 1"},
        {"store", "a@1000~1s"},
        {"edit reschedule b 3", "OK 0"},
        {"store", "a@1000~1s"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_rescheduled_to_another_priority(void **state)
{
    static const struct script_row before[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 1 b 2", "OK aa"},
        {"edit reschedule a 3", "OK 1"},
        {"store", "b@2 a@3"},
        {"field seq", "nil"},
        {"edit reschedule a -3", "OK 1"},
        {"store", "a@-3 b@2"},
    };
    static const struct script_row after[] = {
        {"open p", "OK"},
        {"send a 1 b 1 c 2", "OK aaa"},
        {"edit reschedule a 1", "OK 1"},
        {"store", "b@8589934590 a@8589934591 c@12884901885"},
        {"edit reschedule a 2", "OK 1"},
        {"store", "b@8589934590 a@12884901884 c@12884901885"},
        {"field seq", "4"},
        {"redis HSET slot{x} seq 4294967296", "0"},
        {"edit reschedule a 1", "FULL"},
        {"edit requeue 1d:x", "OK 0"},
    };

    SCRIPT_TABLE(state, before);
    /* by arrival: behind those that have this priority, unless it has it */
    SCRIPT_TABLE(state, after);
}

static void test_stale_and_no_topic(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"send a +0", "OK a"},
        {"edit def=o.1 remove w a", "STALE"},
        {"slot_seal 1", "OK"},
        {"edit remove w a", "NO_TOPIC"},
        {"store", "a@1000"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(edit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_removed_from_every_state_but_claimed),
        cmocka_unit_test(test_removed_with_what_is_stored_beside_it),
        cmocka_unit_test(test_of_fifo_the_next_is_waked),
        cmocka_unit_test(test_requeued_with_their_own_time_and_all_retries),
        cmocka_unit_test(test_requeued_with_their_own_priority),
        cmocka_unit_test(test_a_requeued_one_joins_one_that_waits),
        cmocka_unit_test(test_a_requeued_one_wakes_the_consumer),
        cmocka_unit_test(test_a_requeued_one_has_its_body_and_no_expiry),
        cmocka_unit_test(test_rescheduled_to_another_time),
        cmocka_unit_test(test_rescheduled_to_another_priority),
        cmocka_unit_test(test_stale_and_no_topic),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
