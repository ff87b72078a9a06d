/* test_inspect.c - the inspect script: counts and times of a slot. */
#include "script_table.h"
#include "support/group.h"

/* Dead letters by cause, and duplicates. */
#define NO_DEATHS    " 0 0 0 0 0 0 0"
#define ONE_REJECTED " 1 0 0 0 0 0 0"

static void test_an_empty_slot(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"inspect", "OK 1000 0 0 0 0 0 '' '' '' 000000000000000000000000 0 0 0 '' '' '' 0 0 0 0 0 "
                    "0 0 0 0" NO_DEATHS},
        {"open p", "OK"},
        {"inspect", "OK 1000 0 0 0 0 0 '' '' '' 000000000000000000000000 0 0 0 '' '' '' 0 0 0 0 0 "
                    "0 0 0 0" NO_DEATHS},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_counts_every_state(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1 owner=host", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0 d +0 e +0 f +50 a +0", "OK aaaaaam"},
        {"consume 1 n=5", NULL},
        {"consume 1 n=0 last=1 done 1000c1:a retry 1000c1:b 30 no reject 1000c1:c bad"
         " release 1000c1:d 0",
         NULL},
        {"at 1010", ""},
        {"inspect", "OK 1010 2 1 1 1 1 1000 1000 host 000000010000000000000001 0 0 0 31000 '' '' 0 "
                    "6 1 1 1 1 0 1 "
                    "0" ONE_REJECTED},
        {"consume 1 n=5 last=1", NULL},
        /* nothing is due: the rest ends first */
        {"inspect", "OK 1010 1 0 2 1 1 '' 1030 host 000000010000000000000001 0 0 0 31000 '' '' 0 6 "
                    "1 1 1 1 0 1 "
                    "0" ONE_REJECTED},
        {"takeover 2", "OK 2 2 0"},
        {"inspect",
         "OK 1010 3 2 0 1 1 1000 1000 me 000000010000000000000002 0 0 0 '' '' '' 0 6 1 1 1 1 0 1 "
         "2" ONE_REJECTED},
    };

    SCRIPT_TABLE(state, rows);
}

/* Each message that dies is counted by one cause, also one that replaces a dead letter. */
static void test_deaths_are_counted_by_cause(void **state)
{
    static const struct script_row rows[] = {
        {"open b keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 9 A '' '' b 8 B '' '' c 7 C '' '' d 6 D '' 100", NULL},
        {"consume 1 n=3", NULL},
        {"consume 1 n=0 max=0 last=1 reject 9c1:a no retry 8c1:b 0 bad hung 7c1:c 0", NULL},
        {"consume 1 n=1 max=0 last=1", NULL},
        {"consume 1 n=0 max=0 last=2 hung 7c2:c 0", NULL},
        {"at 1100", ""},
        {"consume 1 n=1 max=0 last=2 flags=x", NULL},
        {"send a 9 A '' '' e 5 E '' ''", NULL},
        {"redis HDEL body{x} be he", "2"},
        {"consume 1 n=2 max=0 last=2", NULL},
        {"takeover 2 max=0", NULL},
        {"consume 2 n=1 max=0 last=3", NULL},
        {"takeover 3 max=0", NULL},
        {"why", NULL},
        {"field dead_rejected", "1"},
        {"field dead_failed", "1"},
        {"field dead_timed_out", "1"},
        {"field dead_expired", "1"},
        {"field dead_bodiless", "1"},
        {"field dead_crashed", "1"},
        {"inspect", "OK 1100 0 0 0 0 5 '' '' me 000000010000000000000003 0 0 0 '' '' '' 0 6 1 0 0 "
                    "2 1 0 4 1 1 1 1 1 1 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_priorities_are_due_now(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a -5 b 5", "OK aa"},
        {"inspect", "OK 1000 2 2 0 0 0 '' 1000 me 000000010000000000000001 0 0 0 '' '' '' 0 2 0 0 "
                    "0 0 0 0 0" NO_DEATHS},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 done 5c1:b retry -5c1:a 70 no", NULL},
        {"inspect", "OK 1000 0 0 0 1 0 '' 1070 me 000000010000000000000001 0 0 0 '' '' '' 0 2 0 1 "
                    "1 0 0 0 0" NO_DEATHS},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_first_of_a_fifo_slot_is_due_since_it_was_sent(void **state)
{
    static const struct script_row rows[] = {
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send c 0 1 '' '' a 0 2 7 5000", "OK aa"},
        {"at 1200", ""},
        {"send b 0 3 '' '' c 0 9 '' ''", "OK am"},
        {"at 1500", ""},
        {"inspect", "OK 1500 3 3 0 0 0 1000 1500 me 000000010000000000000001 0 0 0 '' '' '' 0 3 1 "
                    "0 0 0 0 0 0" NO_DEATHS},
        {"consume 1 n=2", NULL},
        {"consume 1 n=0 last=1 done 1c1:c done 2c1:a", NULL},
        {"inspect", "OK 1500 1 1 0 0 0 1200 1500 me 000000010000000000000001 0 0 0 '' '' '' 0 3 1 "
                    "2 0 0 0 0 0" NO_DEATHS},
    };

    SCRIPT_TABLE(state, rows);
}

#define FIRST(time, lease)                                                                         \
    " 0 0 " time " 5000 me 000000010000000000000001 0 0 0 " lease " '' '' 0 4 1 0 "

/* It is the one that is claimed next, whatever else has waited for longer. */
static void test_the_first_of_a_priority_slot_is_due_since_it_was_sent(void **state)
{
    static const struct script_row rows[] = {
        {"open p keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 5 1 '' ''", "OK a"},
        {"at 2000", ""},
        {"send b -5 1 '' '' c 5 1 7 9000", "OK aa"},
        {"at 3000", ""},
        {"send d 9 1 '' '' a -5 1 '' ''", "OK am"},
        {"at 5000", ""},
        {"inspect", "OK 5000 4 4 0" FIRST("3000", "''") "0 0 0 0 0" NO_DEATHS},
        {"consume 1 n=1", NULL},
        {"inspect", "OK 5000 3 3 1" FIRST("2000", "35000") "0 0 0 0 0" NO_DEATHS},
        {"consume 1 n=2 last=1", NULL},
        {"inspect", "OK 5000 1 1 3" FIRST("1000", "35000") "0 0 0 0 0" NO_DEATHS},
        {"consume 1 n=0 last=2 retry -17179869186c2:b 0 no", NULL},
        {"inspect", "OK 5000 2 2 2" FIRST("2000", "35000") "1 0 0 0 0" NO_DEATHS},
        {"redis HDEL body{x} hb", "1"},
        {"inspect", "OK 5000 2 2 2" FIRST("''", "35000") "1 0 0 0 0" NO_DEATHS},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_inline_a_priority_tells_no_time(void **state)
{
    static const char *const opened[] = {"open b", "open p"};

    for (size_t i = 0; i < sizeof(opened) / sizeof(opened[0]); i++) {
        const struct script_row rows[] = {
            {opened[i], "OK"},
            {"takeover 1", "OK 0 0 0"},
            {"at 1000", ""},
            {"send a 5", "OK a"},
            {"inspect", "OK 1000 1 1 0 0 0 '' 1000 me 000000010000000000000001 0 0 0 '' '' '' 0 1 "
                        "0 0 0 0 0 0 0" NO_DEATHS},
        };

        SCRIPT_TABLE(state, rows);
    }
}

#define ENDS(text) " me 000000010000000000000001 0 0 " text " 2 0 0 0 0 0 0 0" NO_DEATHS

/* Since when a message is due that is claimed; the one whose lease ended first says it. */
static void test_claims_whose_leases_have_ended_are_stalled(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +7", "OK aa"},
        {"at 2000", ""},
        {"consume 1 n=2 lease=100", NULL},
        {"renew 1 lease=101 1000c1:a", "OK 2000 1"},
        {"at 2099", ""},
        {"inspect", "OK 2099 0 0 2 0 0 '' ''" ENDS("0 2100 '' '' 0")},
        {"at 2100", ""},
        {"inspect", "OK 2100 0 0 2 0 0 '' ''" ENDS("1 2100 1007 '' 0")},
        {"at 2101", ""},
        {"inspect", "OK 2101 0 0 2 0 0 '' ''" ENDS("2 2100 1007 '' 0")},
        {"renew 1 lease=101 1000c1:a 1007c1:b", "OK 2101 11"},
        {"inspect", "OK 2101 0 0 2 0 0 '' ''" ENDS("0 2202 '' '' 0")},
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 1 '' '' b 0 2 '' ''", "OK aa"},
        {"at 2000", ""},
        {"consume 1 n=2 lease=100", NULL},
        {"at 2200", ""},
        {"inspect", "OK 2200 0 0 2 0 0 '' ''" ENDS("2 2100 1000 '' 0")},
        {"redis HDEL body{x} ha", "1"},
        {"inspect", "OK 2200 0 0 2 0 0 '' ''" ENDS("2 2100 '' '' 0")},
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 5 b 4", "OK aa"},
        {"consume 1 n=2 lease=100", NULL},
        {"at 2200", ""},
        {"inspect", "OK 2200 0 0 2 0 0 '' ''" ENDS("2 1100 '' '' 0")},
    };

    SCRIPT_TABLE(state, rows);
}

/* A note speaks of its claim alone, and that of the message that was claimed again is another. */
static void test_the_oldest_claim_is_the_one_that_was_noted(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +7", "OK aa"},
        {"at 2000", ""},
        {"consume 1 n=2 lease=100", NULL},
        {"at 2050", ""},
        {"renew 1 lease=100 owner=w-1 age=49 oldest=1007c1:b", "OK 2050 ''"},
        {"inspect", "OK 2050 0 0 2 0 0 '' ''" ENDS("0 2100 '' 2001 w-1 1007c1:b 0")},
        {"consume 1 n=1 last=1 retry 1007c1:b 0 why", NULL},
        {"inspect", NULL},
        {"renew 1 lease=100 owner=w-1 age=3 oldest=1007c2:b", "OK 2050 ''"},
        {"field oldest", "2047 w-1 1007c2:b"},
    };

    SCRIPT_TABLE(state, rows);
}

#define ID    "0000000003e80000000000000000000a"
#define TEN   "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define LONG  FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY

/* Neither the headers nor the body of a whole message are a part of it, and no part of an id is
 * taken for an id. */
static void test_the_oldest_claim_is_shown_by_its_key_and_id(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"whole !w/300,,1:k" ID LONG " +0", "OK a"},
        {"send " LONG " +9 body '' ''", "OK a"},
        {"at 2000", ""},
        {"consume 1 n=2 lease=100", NULL},
        {"renew 1 lease=100 owner=w-1 age=3 oldest=1009c1:" LONG, "OK 2000 ''"},
        {"inspect", "OK 2000 0 0 2 0 0 '' ''" ENDS("0 2100 '' 1997 w-1  0")},
        {"renew 1 lease=100 owner=w-1 age=5 oldest=1000c1:!w/300,,1:k" ID LONG, "OK 2000 ''"},
        {"inspect", "OK 2000 0 0 2 0 0 '' ''" ENDS("0 2100 '' 1995 w-1 1000c1:!1:k" ID " 0")},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_paused_slot(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_pause 1", "OK"},
        {"inspect", "OK 1000 0 0 0 0 0 '' '' '' 000000000000000000000000 1 0 0 '' '' '' 0 0 0 0 0 "
                    "0 0 0 0" NO_DEATHS},
        {"slot_pause 0", "OK"},
        {"inspect", "OK 1000 0 0 0 0 0 '' '' '' 000000000000000000000000 0 0 0 '' '' '' 0 0 0 0 0 "
                    "0 0 0 0" NO_DEATHS},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_shared_slot(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"inspect", "OK 1000 0 0 0 0 0 '' '' '' shared 0 0 0 '' '' '' 0 0 0 0 0 0 0 0 0" NO_DEATHS},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_stale_and_no_topic(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"inspect def=o.1", "STALE"},
        {"slot_seal 1", "OK"},
        {"inspect", "NO_TOPIC"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(inspect)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_slot),
        cmocka_unit_test(test_counts_every_state),
        cmocka_unit_test(test_deaths_are_counted_by_cause),
        cmocka_unit_test(test_priorities_are_due_now),
        cmocka_unit_test(test_a_shared_slot),
        cmocka_unit_test(test_the_first_of_a_fifo_slot_is_due_since_it_was_sent),
        cmocka_unit_test(test_the_first_of_a_priority_slot_is_due_since_it_was_sent),
        cmocka_unit_test(test_inline_a_priority_tells_no_time),
        cmocka_unit_test(test_claims_whose_leases_have_ended_are_stalled),
        cmocka_unit_test(test_the_oldest_claim_is_the_one_that_was_noted),
        cmocka_unit_test(test_the_oldest_claim_is_shown_by_its_key_and_id),
        cmocka_unit_test(test_a_paused_slot),
        cmocka_unit_test(test_stale_and_no_topic),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
