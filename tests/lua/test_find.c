/* test_find.c - the find script: where a message is. */
#include "script_table.h"
#include "support/group.h"

#define HEAD "000000010000000000000001 me 0 ''"

static void test_in_every_state(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0 d +9", "OK aaaa"},
        {"consume 1 n=3", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:b 50 no reject 1000c1:c bad", NULL},
        {"find a", "OK 1000 " HEAD " c 1000c1:a 31000 ''"},
        {"find b", "OK 1000 " HEAD " r 1000r1:b 17592186045466.016 no|t1000"},
        {"find c", "OK 1000 " HEAD " d 1000d:c 1000 bad|x1000"},
        {"find d", "OK 1000 " HEAD " w d 1009 ''"},
        {"find e", "OK 1000 " HEAD " -"},
        {"find :a", "OK 1000 " HEAD " -"},
        {"find 1:a", "OK 1000 " HEAD " -"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_first_waiting_then_claimed_then_resting_then_dead(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"redis ZADD x 5 a", "1"},
        {"redis ZADD prepare{x} 900 5c1:a 17592186045000 6r1:a", "2"},
        {"redis ZADD dead{x} 1 7d:a", "1"},
        {"find a", "OK 1000 " HEAD " w a 5 ''"},
        {"redis ZREM x a", "1"},
        {"find a", "OK 1000 " HEAD " c 5c1:a 900 ''"},
        {"redis ZREM prepare{x} 5c1:a", "1"},
        {"find a", "OK 1000 " HEAD " r 6r1:a 17592186045000 ''"},
        {"redis ZREM prepare{x} 6r1:a", "1"},
        {"find a", "OK 1000 " HEAD " d 7d:a 1 ''"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A call looks at a few; the caller continues, and finds also what waits by then. */
static void test_piece_by_piece(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"redis ZADD prepare{x} 1 5c1:a 2 5c1:b 3 5c1:c", "3"},
        {"redis ZADD dead{x} 1 5d:d 2 5d:e 3 5d:f", "3"},
        {"find f limit=2", "OK 1000 " HEAD " + p 2 5c1:b"},
        {"find f p 2 5c1:b limit=2", "OK 1000 " HEAD " + d 1 5d:d"},
        {"find f d 1 5d:d limit=2", "OK 1000 " HEAD " d 5d:f 3 ''"},
        {"find g d 1 5d:d limit=2", "OK 1000 " HEAD " -"},
        {"find f p 2 5c1:b limit=1", "OK 1000 " HEAD " + d '' ''"},
        {"find f d '' '' limit=1", "OK 1000 " HEAD " + d 1 5d:d"},
        {"redis ZREM dead{x} 5d:d", "1"},
        {"find e d 1 5d:d limit=1", "OK 1000 " HEAD " d 5d:e 2 ''"},
        {"send f +0", "OK a"},
        {"find f d 1 5d:d limit=1", "OK 1000 " HEAD " w f 1000 ''"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_keyed(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 body 3 ''", "OK a"},
        {"find a", "OK 1000 " HEAD " w a 1000 '' 1000,3,,1 body"},
        {"consume 1", NULL},
        {"find a", "OK 1000 " HEAD " c 1000c1:a 31000 '' 1000,3,,1 body"},
        {"consume 1 n=0 last=1 reject 1000c1:a bad", NULL},
        {"find a", "OK 1000 " HEAD " d 1000d:a 1000 bad|x1000 1000,3,,1 body"},
        {"find b", "OK 1000 " HEAD " -"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_stale_and_no_topic(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"find def=o.1 a", "STALE"},
        {"slot_seal 1", "OK"},
        {"find a", "NO_TOPIC"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(find)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_every_state),
        cmocka_unit_test(test_first_waiting_then_claimed_then_resting_then_dead),
        cmocka_unit_test(test_piece_by_piece),
        cmocka_unit_test(test_keyed),
        cmocka_unit_test(test_stale_and_no_topic),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
