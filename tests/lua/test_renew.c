/* test_renew.c - the renew script: leases of claims in work. */
#include "script_table.h"
#include "support/group.h"

static void test_moves_the_end_of_leases(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 900 a 901.03125 b", "2"},
        {"consume 1", "OK 1000 31000 1 '' 0 900c1:a 0 901c1:b 4"},
        {"at 2000", ""},
        {"renew 1 lease=500 900c1:a 900c1:x 901c1:b", "OK 2000 101"},
        {"prepare", "900c1:a@2500 901c1:b@2500~2"},
        {"renew 1 lease=500 901c1:b", "OK 2000 1"}, /* again is fine */
        {"renew 1", "OK 2000 ''"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_lapsed_shared_claim_is_renewed_until_somebody_took_it(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume shared lease=100", NULL},
        {"at 1500", ""},
        {"renew shared lease=100 1000c1:a", "OK 1500 1"},
        {"prepare", "1000c1:a@1600"},
        {"at 1600", ""},
        {"consume shared n=0", NULL},
        {"renew shared lease=100 1000c1:a", "OK 1600 0"},
        {"prepare", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_only_claims_are_renewed(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 500 why", NULL},
        {"renew 1 1000r1:a '' nonsense 1000c1:a", "OK 1000 0000"},
        {"prepare", "1000r1:a@17592186045916~1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_fenced_stale_and_no_topic_renew_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"takeover 2 mode=strict", "OK 1 0 0"},
        {"at 2000", ""},
        {"renew 1 1000c1:a", "FENCED 000000010000000000000002"},
        {"renew 0 1000c1:a", "FENCED 000000010000000000000002"},
        {"renew 2 def=o.1 1000c1:a", "STALE"},
        {"slot_seal 1", "OK"},
        {"renew 2 1000c1:a", "NO_TOPIC"},
        {"prepare", "1000c1:a@31000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Of several processes in a shared topic, the note of the oldest claim stays. */
static void test_the_oldest_claim_is_noted_while_it_exists(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0", "OK aaa"},
        {"consume shared n=3", NULL},
        {"renew shared owner=x age=0 1000c1:a", "OK 1000 1"}, /* it names none */
        {"field oldest", "nil"},
        {"at 2000", ""},
        {"renew shared owner=x age=400 oldest=1000c1:b 1000c1:b", "OK 2000 1"},
        {"field oldest", "1600 x 1000c1:b"},
        {"renew shared owner=y age=300 oldest=1000c1:c 1000c1:c", "OK 2000 1"},
        {"field oldest", "1600 x 1000c1:b"},
        {"renew shared owner=y age=500 oldest=1000c1:c 1000c1:c", "OK 2000 1"},
        {"field oldest", "1500 y 1000c1:c"},
        {"consume shared n=0 done 1000c1:c", NULL},
        {"renew shared owner=x age=300 oldest=1000c1:b 1000c1:b", "OK 2000 1"},
        {"field oldest", "1700 x 1000c1:b"},
        {"renew shared owner=x age=9000 oldest=1000c1:b 1000c1:b", "OK 2000 1"},
        {"field oldest", "0 x 1000c1:b"}, /* never before 1970 */
        {"redis HSET slot{x} oldest nonsense", "0"},
        {"renew shared owner=x age=1 oldest=1000c1:b 1000c1:b", "OK 2000 1"},
        {"field oldest", "1999 x 1000c1:b"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(renew)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves_the_end_of_leases),
        cmocka_unit_test(test_a_lapsed_shared_claim_is_renewed_until_somebody_took_it),
        cmocka_unit_test(test_only_claims_are_renewed),
        cmocka_unit_test(test_fenced_stale_and_no_topic_renew_nothing),
        cmocka_unit_test(test_the_oldest_claim_is_noted_while_it_exists),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
