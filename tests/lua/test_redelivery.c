/* test_redelivery.c - the consume script: messages that are delivered again, because an answer
 * returns them, a lease has expired or a reply was lost. */
#include "script_table.h"
#include "support/group.h"

/* --- merging on the way back --- */

static void test_a_return_merges_by_the_type(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"send a +50", "OK a"},
        {"consume 1 n=0 last=1 retry 1000c1:a 0 why", NULL},
        {"store", "a@1000~1"},
        {"field merged", "1"},
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 0", "OK a"},
        {"consume 1", NULL},
        {"send a 1050", "OK a"},
        {"consume 1 n=0 last=1 retry 1000c1:a 0 why", NULL},
        {"store", "a@1050~1"},
        {"field merged", "1"},
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 7", "OK a"},
        {"consume 1", NULL},
        {"send a -7", "OK a"},
        {"consume 1 n=0 last=1 retry 7c1:a 0 why", NULL},
        {"store", "a@-7~1"},
        {"field merged", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_waiting_earlier_time_stays(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 2000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"redis ZADD x 1500 a", "1"},
        {"consume 1 n=0 last=1 release 2000c1:a 0", NULL},
        {"store", "a@1500"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_merge_takes_the_larger_retries_and_either_suspicion(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 1000.03125 a", "1"}, /* 2 retries */
        {"consume 1", NULL},
        {"redis ZADD x 1000.0234375 a", "1"}, /* 1 retry, suspect */
        {"consume 1 n=0 last=1 release 1000c1:a 0", NULL},
        {"store", "a@1000~2s"},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 1000 a", "1"},
        {"consume 1", NULL},
        {"redis ZADD x 1000.046875 a", "1"}, /* 3 retries */
        {"consume 1 n=0 last=1 retry 1000c1:a 0 why", NULL},
        {"store", "a@1000~3"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- lapsed claims --- */

static void test_an_owner_keeps_what_it_meets_lapsed(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"at 900000", ""},
        {"consume 1 last=1", "OK 900000 930000 1 '' 0"},
        {"prepare", "1000c1:a@930000"},
        {"field lease_lost", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

/* As after a failover that lost the answers to claims 1 and 2. */
static void test_an_owner_gets_back_what_it_does_not_have(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0", "OK aaa"},
        {"consume 1 n=1", NULL},
        {"consume 1 n=1 last=1", NULL},
        {"consume 1 n=1 last=2", NULL},
        {"at 40000", ""},
        {"consume 1 n=0 last=3 oldest=3", NULL},
        {"store", "a@1000 b@1000"},
        {"prepare", "1000c3:c@70000"},
        {"field lease_lost", "2"},
        {"consume 1 last=3 oldest=3", NULL},
        {"prepare", "1000c3:c@70000 1000c4:a@70000 1000c4:b@70000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Before the leases end, and whatever the owner asks for. */
static void test_what_an_owner_does_not_have_comes_back_at_once(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0 d +0", "OK aaaa"},
        {"consume 1 n=1", NULL},
        {"consume 1 n=1 last=1", NULL},
        {"consume 1 n=1 last=2", NULL},
        {"at 1001", ""},
        {"consume 1 n=1 last=3 oldest=1", "OK 1001 31000 4 '' 0 1000c4:d 0"},
        {"consume 1 n=0 last=4 oldest=3", "OK 1001 1000 4 '' 1"},
        {"store", "a@1000 b@1000"},
        {"prepare", "1000c3:c@31000 1000c4:d@31001"},
        {"field lease_lost", "2"},
        {"consume 1 last=4 oldest=3", "OK 1001 31000 5 '' 0 1000c5:a 0 1000c5:b 0"},
    };

    SCRIPT_TABLE(state, rows);
}

/* As if the answer to claim 2 was lost, while the first claim is that of a former owner. */
static void test_what_an_owner_does_not_have_comes_back_behind_what_lapses(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 1 n=1", NULL},
        {"takeover 2 mode=strict", "OK 1 0 0"},
        {"consume 2 n=1 last=1 oldest=2 flags=w lease=90000", NULL},
        {"at 31000", ""},
        {"consume 2 n=0 last=2 oldest=3 flags=w", "OK 31000 91000 2 '' 1"},
        {"store", "a@1000~0s"},
        {"consume 2 n=0 last=2 oldest=3 flags=w", "OK 31000 1000 2 '' 1"},
        {"store", "b@1000 a@1000~0s"},
    };

    SCRIPT_TABLE(state, rows);
}

/* As if the answers to claims 1 and 3 were lost: 3 comes back when 2 was answered. */
static void test_what_an_owner_does_not_have_comes_back_behind_what_it_has(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 9 b 8 c 7 d 6", "OK aaaa"},
        {"consume 1 n=1", NULL},
        {"at 1001", ""},
        {"consume 1 n=1 last=1", NULL},
        {"at 1002", ""},
        {"consume 1 n=1 last=2", NULL},
        {"at 1003", ""},
        {"consume 1 n=1 last=3", NULL},
        {"consume 1 n=0 last=4 oldest=2", "OK 1003 1003 4 '' 1"},
        {"store", "a@9"},
        {"prepare", "8c2:b@31001 7c3:c@31002 6c4:d@31003"},
        {"consume 1 n=0 last=4 oldest=4 done 8c2:b", "OK 1003 1003 4 1 1"},
        {"store", "c@7 a@9"},
        {"prepare", "6c4:d@31003"},
        {"field lease_lost", "2"},
    };

    SCRIPT_TABLE(state, rows);
}

/* They may still be in work, and have not been answered. */
static void test_claims_of_a_former_owner_do_not_come_back_at_once(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 9 b 8", "OK aa"},
        {"consume 1 n=1", NULL},
        {"takeover 2 mode=strict", "OK 1 0 0"},
        {"consume 2 n=1 last=1 oldest=2 flags=w", "OK 1000 31000 2 '' 0 8c2:b 0"},
        {"consume 2 n=0 last=2 oldest=3 flags=w", "OK 1000 1000 2 '' 1"},
        {"prepare", "9c1:a@31000"},
        {"store", "b@8"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_shared_claim_lapses_and_comes_back_suspect(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume shared lease=100", "OK 1000 1100 1 '' 0 1000c1:a 0 1000c1:b 0"},
        {"at 1099", ""},
        {"consume shared", "OK 1099 1100 1 '' 0"},
        {"at 1100", ""},
        {"consume shared lease=100", "OK 1100 1200 2 '' 0 1000c2:a 1"},
        {"store", "b@1000~0s"},
        {"field lease_lost", "2"},
        {"consume shared done 1000c1:b done 1000c1:a", "OK 1100 1200 1 00 0"},
        /* lost as a suspect: costs a retry */
        {"at 1200", ""},
        {"consume shared n=0", "OK 1200 1000 2 '' 1"},
        {"store", "b@1000~0s a@1000~1s"},
        {"field lease_lost", "3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_suspect_without_retries_left_dies(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open b shared", "OK"},
        {"at 1000", ""},
        {"send a 5", "OK a"},
        {"consume shared lease=10 max=1", "OK 1000 1010 1 '' 0 5c1:a 0"},
        {"at 1010", ""},
        {"consume shared lease=10 max=1", "OK 1010 1020 2 '' 0 5c2:a 1"},
        {"at 1020", ""},
        {"consume shared lease=10 max=1", "OK 1020 1030 3 '' 0 5c3:a 3"},
        {"at 1030", ""},
        {"consume shared lease=10 max=1", "OK 1030 '' 1 '' 0"},
        {"dead", "5d:a@1030~1s"},
        {"redis HGET why{x} 5d:a", "its process died or hung|l1030|l1020:|l:"},
        {"field lease_lost", "3"},
        {"field rejected", "nil"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

/* --- suspects --- */

static void test_a_suspect_is_claimed_alone(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 900 a 901.0078125 b 902 c", "3"},
        {"consume 1", "OK 1000 31000 1 '' 0 900c1:a 0"}, /* not the suspect */
        {"consume 1 last=1", "OK 1000 31000 1 '' 0"},    /* nor while a is in flight */
        {"consume 1 n=0 last=1", "OK 1000 31000 1 '' 0"},
        {"consume 1 last=1 done 900c1:a", "OK 1000 31000 2 1 0 901c2:b 1"},
        {"consume 1 last=2", "OK 1000 31000 2 '' 0"}, /* nothing beside it */
        {"send d +0", "OK a"},
        {"consume 1 last=2", "OK 1000 31000 2 '' 0"},
        {"consume 1 last=2 done 901c2:b", "OK 1000 31000 3 1 0 902c3:c 0 1000c3:d 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_more_urgent_message_passes_a_blocked_suspect(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 9 a 5.0078125 b", "2"},
        {"consume 1", "OK 1000 31000 1 '' 0 9c1:a 0"},
        {"send c 7", "OK a"},
        {"consume 1 last=1", "OK 1000 31000 2 '' 0 7c2:c 0"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- lost replies --- */

static void test_a_lost_reply_is_delivered_again(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0", "OK aaa"},
        {"consume 1 n=1", "OK 1000 1000 1 '' 1 1000c1:a 0"},
        {"consume 1 n=1 last=1", NULL}, /* lost */
        {"at 5000", ""},
        {"consume 1 n=9 last=1", "OK 5000 1000 2 '' 1 1000c2:b 0"},
        {"prepare", "1000c1:a@31000 1000c2:b@35000"},
        /* also when nothing is asked for: it is the caller's */
        {"consume 1 n=0 last=1 done 1000c1:a", "OK 5000 1000 2 1 1 1000c2:b 0"},
        {"consume 1 n=9 last=2", "OK 5000 35000 3 '' 0 1000c3:c 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_server_that_forgot_claims_learns_the_number(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1 last=7", "OK 1000 31000 8 '' 0 1000c8:a 0"},
        {"field claims", "8"},
    };

    SCRIPT_TABLE(state, rows);
}

/* It is behind the claim that the same call answers: both have the same lease. */
static void test_an_answer_shows_a_claim_that_was_forgotten(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 900", ""},
        {"send a +0 one '' ''", "OK a"},
        {"at 1000", ""},
        {"send b +0 two '' ''", "OK a"},
        {"consume 1 n=1", "OK 1000 1000 1 '' 1 900c1:a 0 900 one"},
        {"consume 1 n=1 last=1", "OK 1000 31000 2 '' 0 1000c2:b 0 1000 two"},
        {"consume 1 last=2 oldest=2 done 1000c2:b", "OK 1000 31000 3 1 0 900c3:a 0 900 one"},
        {"field done", "1"},
        {"field lease_lost", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(redelivery)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_shows_a_claim_that_was_forgotten),
        cmocka_unit_test(test_a_return_merges_by_the_type),
        cmocka_unit_test(test_the_waiting_earlier_time_stays),
        cmocka_unit_test(test_a_merge_takes_the_larger_retries_and_either_suspicion),
        cmocka_unit_test(test_an_owner_keeps_what_it_meets_lapsed),
        cmocka_unit_test(test_an_owner_gets_back_what_it_does_not_have),
        cmocka_unit_test(test_what_an_owner_does_not_have_comes_back_at_once),
        cmocka_unit_test(test_what_an_owner_does_not_have_comes_back_behind_what_it_has),
        cmocka_unit_test(test_what_an_owner_does_not_have_comes_back_behind_what_lapses),
        cmocka_unit_test(test_claims_of_a_former_owner_do_not_come_back_at_once),
        cmocka_unit_test(test_a_shared_claim_lapses_and_comes_back_suspect),
        cmocka_unit_test(test_a_suspect_without_retries_left_dies),
        cmocka_unit_test(test_a_suspect_is_claimed_alone),
        cmocka_unit_test(test_a_more_urgent_message_passes_a_blocked_suspect),
        cmocka_unit_test(test_a_lost_reply_is_delivered_again),
        cmocka_unit_test(test_a_server_that_forgot_claims_learns_the_number),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
