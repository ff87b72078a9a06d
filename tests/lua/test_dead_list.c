/* test_dead_list.c - the dead_list script: dead letters with their reasons. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "play.h"

static void test_oldest_first_in_pages(void **state)
{
    PLAY(state, {"open m", "OK"}, {"takeover 1", "OK 0 0 0"}, {"at 1000", ""},
         {"dead_list 0 10", "OK"}, {"send c +0 b +0 a +0", "OK aaa"}, {"consume 1", NULL},
         {"consume 1 n=0 last=1 reject 1000c1:c first", NULL}, {"at 2000", ""},
         {"consume 1 n=0 last=1 reject 1000c1:a second reject 1000c1:b third", NULL},
         {"dead_list 0 2", "OK 1000d:c 1000 first 1000d:a 2000 second"},
         {"dead_list 2 2", "OK 1000d:b 2000 third"}, {"dead_list 3 2", "OK"},
         {"redis HDEL why{x} 1000d:c", "1"}, {"dead_list 0 1", "OK 1000d:c 1000 ''"});
}

static void test_stale_and_no_topic(void **state)
{
    PLAY(state, {"open m", "OK"}, {"dead_list def=o.1 0 1", "STALE"}, {"slot_seal 1", "OK"},
         {"dead_list 0 1", "NO_TOPIC"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oldest_first_in_pages),
        cmocka_unit_test(test_stale_and_no_topic),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
