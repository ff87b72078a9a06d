/* test_dead_requeue.c - the dead_requeue script: dead letters come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "play.h"

static void test_with_their_own_time_and_all_retries(void **state)
{
    PLAY(state, {"open t", "OK"}, {"takeover 1", "OK 0 0 0"}, {"at 1000", ""},
         {"redis ZADD x 900.2578125 a 901 b 902 c", "3"}, /* a: 16 retries, suspect */
         {"consume 1", NULL},                             /* a alone */
         {"consume 1 last=1 reject 900c1:a bad", NULL}, {"at 1001", ""},
         {"consume 1 n=0 last=2 reject 901c2:b bad", NULL}, {"dead", "900d:a@1000~16 901d:b@1001"},
         {"dead_requeue limit=1", "OK 1 1"}, {"store", "a@900"}, {"why", "901d:b=bad"},
         {"dead_requeue", "OK 1 0"}, {"dead_requeue", "OK 0 0"}, {"store", "a@900 b@901"},
         {"dead", ""}, {"why", ""});
}

static void test_with_their_own_priority(void **state)
{
    PLAY(state, {"open p", "OK"}, {"takeover 1", "OK 0 0 0"}, {"send a 1 b 1", "OK aa"},
         {"consume 1", NULL}, {"consume 1 n=0 last=1 reject 8589934591c1:a bad", NULL},
         {"dead_requeue", "OK 1 0"}, {"store", "a@8589934591"});
}

static void test_joins_one_that_waits(void **state)
{
    PLAY(state, {"open m", "OK"}, {"takeover 1", "OK 0 0 0"}, {"at 1000", ""},
         {"send a +0", "OK a"}, {"consume 1", NULL},
         {"consume 1 n=0 last=1 reject 1000c1:a bad", NULL}, {"redis ZADD x 2000.015625 a", "1"},
         {"dead_requeue", "OK 1 0"}, {"store", "a@1000~1"}, {"field merged", "1"});
}

static void test_wakes_the_consumer(void **state)
{
    PLAY(state, {"open m", "OK"}, {"takeover 1", "OK 0 0 0"}, {"at 1000", ""}, {"listen", ""},
         {"send a +0", "OK a"}, {"consume 1", NULL},
         {"consume 1 last=1 reject 1000c1:a bad", "OK 1000 '' 1 1 0"},
         {"dead_requeue limit=0", "OK 0 1"}, {"woken", "0"}, {"dead_requeue", "OK 1 0"},
         {"woken", "1"}, {"field parked", "nil"}, {"deaf", ""});
}

static void test_stale_and_no_topic(void **state)
{
    PLAY(state, {"open m", "OK"}, {"takeover 1", "OK 0 0 0"}, {"at 1000", ""},
         {"send a +0", "OK a"}, {"consume 1", NULL},
         {"consume 1 n=0 last=1 reject 1000c1:a bad", NULL}, {"dead_requeue def=o.1", "STALE"},
         {"slot_seal 1", "OK"}, {"dead_requeue", "NO_TOPIC"}, {"dead", "1000d:a@1000"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_their_own_time_and_all_retries),
        cmocka_unit_test(test_with_their_own_priority),
        cmocka_unit_test(test_joins_one_that_waits),
        cmocka_unit_test(test_wakes_the_consumer),
        cmocka_unit_test(test_stale_and_no_topic),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
