/* test_scheduled.c - messages of kinds p and b that are sent for a later time: where they wait
 * until then, and what the scripts do with them. */
#include "script_table.h"
#include "support/group.h"

#define TOKEN "000000010000000000000001"
#define HEAD  TOKEN " me 0 ''"

/* clang-format off */

static void test_it_takes_its_place_when_it_is_due_and_not_before(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send low 1 high 9@+20 late 9@1030 past 5@900", "OK aaaa"},
        {"store", "low@1 past@5"},
        {"prepare", "9s:high@26388279067644 9s:late@26388279067654"},
        {"field Shigh", "9"},
        {"inspect", "OK 1000 4 2 0 0 0 '' 1000 me " TOKEN " 0 2 0 '' '' '' 0 4 0 0 0 0 0 0 0 0 0 0 0 0 0 0"},
        {"consume 1 n=1", "OK 1000 1000 1 '' 1 5c1:past 0"},
        {"at 1019", ""},
        {"consume 1 last=1 done 5c1:past", "OK 1019 1020 2 1 0 1c2:low 0"},
        {"consume 1 last=2 done 1c2:low", "OK 1019 1020 2 1 0"},
        {"field parked", "1020"},
        {"at 1020", ""},
        {"consume 1 last=2", "OK 1020 1030 3 '' 0 9c3:high 0"},
        {"field Shigh", "nil"},
        {"at 2000", ""},
        {"consume 1 last=3 n=0", "OK 2000 2000 3 '' 1"},
        {"store", "late@9"},
        {"field Slate", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_rest_and_a_scheduled_one_end_each_at_its_time(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 1 b 1 c 1@+90", "OK aaa"},
        {"consume 1 n=2", NULL},
        {"consume 1 n=0 last=1 retry 1c1:a 50 why", "OK 1000 1050 1 1 0"},
        {"consume 1 n=0 last=1 release 1c1:b 95", "OK 1000 1050 1 1 0"},
        {"at 1050", ""},
        {"consume 1 last=1 n=9", "OK 1050 1090 2 '' 0 1c2:a 2"},
        {"at 1090", ""},
        {"consume 1 last=2 n=9", "OK 1090 1095 3 '' 0 1c3:c 0"},
        {"at 1095", ""},
        {"consume 1 last=3 n=9", "OK 1095 31050 4 '' 0 1c4:b 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_last_send_says_priority_and_time(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"send a 1@+20 b 1", "OK aa"},
        {"send a 3@+90 b 2@+50", "OK mm"},
        {"store", ""},
        {"prepare", "2s:b@26388279067674 3s:a@26388279067714"},
        {"send a 4 b 2@+10 b 1@+60 c 1@+5", "OK mmma"},
        {"store", "a@4"},
        {"prepare", "1s:c@26388279067629 1s:b@26388279067684"},
        {"field Sa", "nil"},
        {"field Sb", "1"},
        {"field sent", "3"},
        {"field merged", "5"},
    };

    SCRIPT_TABLE(state, rows);
}

/* It keeps the place of the first send while its priority is the same. */
static void test_by_arrival_the_place_stays(void **state)
{
    static const struct script_row rows[] = {
        {"open p", "OK"},
        {"send a 1@+20 b 1 a 1@+30 b 1@+40", "OK aamm"},
        {"prepare", "8589934591s:a@26388279067654 8589934590s:b@26388279067664"},
        {"send a 1 b 0", "OK mm"},
        {"store", "b@4294967293 a@8589934591"},
        {"prepare", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* A copy that failed meanwhile waits beside it; the next send makes one of them. */
static void test_what_waits_and_is_scheduled_becomes_one(void **state)
{
    static const struct script_row rows[] = {
        {"open b keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 1 one '' ''", "OK a"},
        {"consume 1 n=1", NULL},
        {"send a 2@+50 two '' ''", "OK a"},
        {"consume 1 n=0 last=1 retry 1c1:a 0 why", NULL},
        {"store", "a@1~1"},
        {"prepare", "2s:a@26388279067674"},
        {"body", "Sa=2 ba=two ha=1000,,,2"},
        {"send bound=1 b 1 x '' ''", "OK f"},
        {"send bound=2 a 3@+90 three '' '' b 1 x '' ''", "OK ma"},
        {"store", "b@1"},
        {"prepare", "3s:a@26388279067714~1"},
        {"body", "Sa=3 ba=three bb=x ha=1000 hb=1000"},
        {"field merged", "2"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_it_is_in_the_window_of_ids(void **state)
{
    static const struct script_row rows[] = {
        {"open b keyed", "OK"},
        {"send dedup=100 a 1@+50 one '' ''", "OK a"},
        {"send dedup=100 a 1@+90 two '' ''", "OK m"},
        {"prepare", "1s:a@26388279067714"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_it_takes_room(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"send bound=2 a 1@+50 b 1 c 1 d 1@+50 a 1", "OK aaffm"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_it_is_found_listed_ranked_and_edited(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 1@+50 b 2@+20 c 3 d 3", "OK aaaa"},
        {"consume 1 n=1", NULL},
        {"find a", "OK 1000 " HEAD " s 1s:a 26388279067674 ''"},
        {"page w", "OK 1000 " HEAD " 0 3 c c 3 ''"},
        {"page s limit=1", "OK 1000 " HEAD " 1 26388279067644 2s:b 2s:b 26388279067644 ''"},
        {"page s 26388279067644 2s:b", "OK 1000 " HEAD " 0 26388279067674 1s:a 1s:a 26388279067674 ''"},
        {"page r", "OK 1000 " HEAD " 0 '' ''"},
        {"rank b", "OK 1 s26388279067644"},
        {"rank a", "OK 2 s26388279067674"},
        {"rank '' s26388279067674", "OK 2 s26388279067674"},
        {"edit reschedule a 7@+10", "OK 1"},
        {"edit reschedule b 8", "OK 1"},
        {"edit reschedule c 4@+30", "OK 1"},
        {"edit reschedule d 4@+30", "OK 0"},
        {"store", "b@8"},
        {"prepare", "3c1:d@31000 7s:a@26388279067634 4s:c@26388279067654"},
        {"edit remove r 7s:a", "OK 0"},
        {"edit remove s 7s:a 3c1:d 7s:a", "OK 100"},
        {"field Sa", "nil"},
        {"prepare", "3c1:d@31000 4s:c@26388279067654"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_sends_wake_at_its_time(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"listen", ""},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a 1@+50", "OK a"},
        {"woken", "1"},
        {"consume 1 open=1", "OK 1000 1050 0 '' 0"},
        {"send b 1@+60", "OK a"},
        {"woken", "0"},
        {"send c 2", "OK a"}, /* a push passes what is scheduled */
        {"woken", "1"},
        {"prepare", "2c1:c@31000 1s:a@26388279067674 1s:b@26388279067684"},
        {"consume 1 last=1 pushed=1000 oldest=1 done 2c1:c open=1", "OK 1000 1050 1 1 0"},
        {"send a 5", "OK m"}, /* but not its own message */
        {"store", "a@5"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_restored_one_keeps_its_tries(void **state)
{
    static const struct script_row rows[] = {
        {"open b keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 1@1050/4/700/9000 one '' ''", "OK a"},
        {"prepare", "1s:a@26388279067674~2"},
        {"body", "Sa=1 ba=one ha=700,,9000,1"},
        {"at 1050", ""},
        {"consume 1", "OK 1050 31050 1 '' 0 1c1:a 4 700,,9000,1 one"},
        {"body", "ba=one ha=700,,9000,1"},
        {"send x 1@+ y '' ''", "ERROR ERR an empty message, or no number for when"},
        {"open t", "OK"},
        {"send x 1@+5", "ERROR ERR an empty message, or no number for when"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_deletion_takes_it_and_its_hint(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"send a 1@+50", "OK a"},
        {"slot_seal 1 deletion=1", NULL},
        {"slot_clear 100", "OK 0"},
        {"prepare", ""},
        {"field Sa", "nil"},
        {"open b keyed", "OK"},
        {"send a 1@+50 one '' ''", "OK a"},
        {"slot_seal 1 deletion=1", NULL},
        {"slot_clear 100", "OK 0"},
        {"body", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* clang-format on */

TEST_GROUP(scheduled)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_takes_its_place_when_it_is_due_and_not_before),
        cmocka_unit_test(test_a_rest_and_a_scheduled_one_end_each_at_its_time),
        cmocka_unit_test(test_the_last_send_says_priority_and_time),
        cmocka_unit_test(test_by_arrival_the_place_stays),
        cmocka_unit_test(test_what_waits_and_is_scheduled_becomes_one),
        cmocka_unit_test(test_it_is_in_the_window_of_ids),
        cmocka_unit_test(test_it_takes_room),
        cmocka_unit_test(test_it_is_found_listed_ranked_and_edited),
        cmocka_unit_test(test_sends_wake_at_its_time),
        cmocka_unit_test(test_a_restored_one_keeps_its_tries),
        cmocka_unit_test(test_a_deletion_takes_it_and_its_hint),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
