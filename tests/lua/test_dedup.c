/* test_dedup.c - the window of ids: which sends are refused as duplicates, what a slot remembers of
 * ids that are done, and when it forgets them. */
#include <stdio.h>

#include "script_table.h"
#include "support/group.h"

#define ID "0000000003e80000000000000000000"

static void test_from_the_claim_to_the_end_of_the_window(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send dedup=500 a 0 one '' ''", "OK a"},
        {"send dedup=500 a 0 two '' ''", "OK m"},
        {"consume 1 dedup=500", "OK 1000 31000 1 '' 0 1000c1:a 0 1000 two"},
        {"send dedup=500 a 0 three '' ''", "OK d"},
        {"consume 1 n=0 last=1 dedup=500 retry 1000c1:a 100 why", NULL},
        {"send dedup=500 a 0 three '' ''", "OK d"},
        {"body", "ba=two ha=1000"},
        {"at 1100", ""},
        {"consume 1 last=1 dedup=500", "OK 1100 31100 2 '' 0 1000c2:a 2 1000 two"},
        {"done", ""},
        {"at 1200", ""},
        {"consume 1 n=0 last=2 dedup=500 retried-done 1000c2:a 0", NULL},
        {"done", "a@1200"},
        {"body", ""},
        {"at 1699", ""},
        {"send dedup=500 a 0 three '' ''", "OK d"},
        {"at 1700", ""},
        {"send dedup=500 a 0 three '' ''", "OK a"},
        {"field sent", "2"},
        {"field merged", "1"},
        {"field duplicates", "3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_waits_merges(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD done{x} 1000 a", "1"},
        {"send a +0 one '' ''", "OK a"},
        {"send dedup=500 a +0 two '' ''", "OK m"},
        {"consume 1 dedup=500", NULL},
        {"consume 1 n=0 last=1 dedup=500 release 1000c1:a 0", NULL},
        {"send dedup=500 a +0 three '' ''", "OK m"},
        {"body", "ba=three ha=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A message that is dead, was removed or has expired was not done. */
static void test_only_what_is_done_is_remembered(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send dedup=500 a 0 one '' '' b 0 one '' '' c 0 one '' 50", "OK aaa"},
        {"consume 1 n=1 dedup=500", NULL},
        {"consume 1 n=0 last=1 dedup=500 reject 1000c1:a bad", NULL},
        {"edit remove w b", "OK 1"},
        {"at 1100", ""},
        {"consume 1 last=1 dedup=500", "OK 1100 '' 1 '' 0 1"},
        {"done", ""},
        {"send dedup=500 a 0 two '' '' b 0 two '' '' c 0 two '' ''", "OK aaa"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A whole message, of before there was a window, is remembered as one that is not whole. */
static void test_a_whole_message_is_remembered(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"whole !w,,1:k" ID "a 0 !w,,0:" ID "b 0 !w,,0:" ID "c 0", "OK aaa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 dedup=500 flags=e done 1000c1:!w,,1:k" ID "a done 1000c1:!w,,0:" ID
         "b",
         "OK 1000 31000 1 11 0"},
        {"consume 1 n=0 last=1 dedup=500 retried-done 1000c1:!w,,0:" ID "c 0", "OK 1000 '' 1 1 0"},
        {"done", "!1:k" ID "a@1000 " ID "b@1000 " ID "c@1000"},
        {"send dedup=500 !1:k" ID "a 0 two '' '' " ID "b 0 two '' '' " ID "a 0 two '' ''",
         "OK dda"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_edits_pass(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send dedup=500 a 0 one '' '' b 5000 one '' ''", "OK aa"},
        {"consume 1 dedup=500", NULL},
        {"consume 1 n=0 last=1 dedup=500 reject 1000c1:a bad", NULL},
        {"redis ZADD done{x} 1000 a 1000 b", "2"},
        {"edit requeue 1000d:a", "OK 1"},
        {"edit reschedule b 1000", "OK 1"},
        {"store", "a@1000 b@1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_without_a_window_all_is_as_ever(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD done{x} 1000 b", "1"},
        {"send a 0 one '' '' b 0 one '' ''", "OK aa"},
        {"consume 1 n=1", NULL},
        {"send a 0 two '' ''", "OK a"},
        {"consume 1 n=0 last=1 done 1000c1:a", NULL},
        {"done", "b@1000"},
        {"field duplicates", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

/* In a call what comes first is stored, and what is refused takes neither room nor a place. */
static void test_several_in_a_call(void **state)
{
    static const struct script_row rows[] = {
        {"open p keyed", "OK"},
        {"at 1000", ""},
        {"redis ZADD done{x} 900 b 400 d", "2"},
        {"send dedup=500 bound=2 a 1 x '' '' b 1 x '' '' a 1 y '' '' c 1 x '' '' b 1 x '' '' "
         "d 1 x '' ''",
         "OK admadf"},
        {"store", "c@8589934590 a@8589934591"},
        {"field seq", "2"},
        {"field duplicates", "2"},
        {"body", "ba=y bc=x ha=1000 hc=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_repeat_gets_its_answer(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"at 1000", ""},
        {"redis ZADD done{x} 900 a", "1"},
        {"send id=me.1 dedup=500 a 0 one '' '' b 0 one '' ''", "OK da"},
        {"field Pme", "2,2,1000,da"},
        {"at 9000", ""},
        {"send id=me.1 dedup=500 a 0 one '' '' b 0 one '' ''", "OK da"},
        {"field duplicates", "1"},
        {"store", "b@1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_repeated_answer_does_not_prolong_the_window(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send dedup=500 a 0 one '' ''", "OK a"},
        {"consume 1 dedup=500", NULL},
        {"consume 1 n=0 last=1 dedup=500 done 1000c1:a", "OK 1000 '' 1 1 0"},
        {"at 1400", ""},
        {"consume 1 n=0 last=1 dedup=500 flags=r done 1000c1:a", "OK 1400 '' 1 0 0"},
        {"consume 1 n=0 last=1 dedup=500 retried-done 1000c1:a 0", "OK 1400 '' 1 0 0"},
        {"done", "a@1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_restored_message_is_a_send(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"at 1000", ""},
        {"redis ZADD done{x} 900 a", "1"},
        {"send dedup=500 a 700/6/600/ one '' '' b 700/6/600/ one '' ''", "OK da"},
        {"store", "b@700~3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_duplicate_is_not_pushed(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"listen", ""},
        {"at 1000", ""},
        {"redis ZADD done{x} 900 a 300 b", "2"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"woken", NULL},
        {"send dedup=500 a 0 one '' ''", "OK d"},
        {"woken", "0"},
        {"send dedup=500 b 0 one '' ''", "OK a"},
        {"woken", "1"},
        {"prepare", "1000c1:b@31000"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* A call that remembers one id forgets at most twelve, so none is long. */
static void test_ids_are_forgotten_a_few_at_a_time(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD done{x} 1 a1 2 a2 3 a3 4 a4 5 a5 6 a6 7 a7 8 a8 9 a9 10 b0 11 b1 12 b2 13 b3 "
         "14 b4 15 b5 501 z",
         "16"},
        {"send dedup=500 a 0 one '' '' b 0 one '' ''", "OK aa"},
        {"consume 1 dedup=500", NULL},
        {"consume 1 n=0 last=1 dedup=500 done 1000c1:a", NULL},
        {"done", "b3@13 b4@14 b5@15 z@501 a@1000"},
        {"consume 1 n=0 last=1 dedup=500 done 1000c1:b", NULL},
        {"done", "z@501 a@1000 b@1000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A shorter window is valid at once; without one all ids are forgotten. */
static void test_the_window_is_altered(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"at 1000", ""},
        {"redis ZADD done{x} 700 a 900 b", "2"},
        {"send dedup=500 a 0 one '' '' b 0 one '' ''", "OK dd"},
        {"slot_alter def=n.2 dedup=200", "OK"},
        {"send def=n.2 dedup=200 a 0 one '' '' b 0 one '' ''", "OK ad"},
        {"done", "a@700 b@900"},
        {"slot_alter def=n.1", "STALE"}, /* it comes late */
        {"done", "a@700 b@900"},
        {"slot_alter def=n.3", "OK"},
        {"done", ""},
        {"send def=n.4 dedup=500 b 0 one '' ''", "OK a"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_deletion_forgets_all(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"at 1000", ""},
        {"redis ZADD done{x} 700 a 900 b", "2"},
        {"send dedup=500 a 0 one '' ''", "OK d"},
        {"slot_seal 1", "OK"},
        {"done", "a@700 b@900"},
        {"slot_clear 9", "OK 0"},
        {"done", ""},
        {"field duplicates", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_key_of_another_program(void **state)
{
    static const struct script_row rows[] = {
        {"redis SET done{x} theirs", "OK"},
        {"slot_open t 0", "FOREIGN done{x}"},
        {"slot_read", "FOREIGN done{x}"},
        {"redis DEL done{x}", "1"},
        {"redis ZADD done{x} 5 theirs", "1"},
        {"slot_open t 0", "FOREIGN done{x}"},
        {"redis DEL done{x}", "1"},
        {"slot_open t 0", "OK 1"},
        {"done", ""},
        {"redis DEL done{x}", "1"},
        {"slot_read", "OK n.1 text 1 1 000000000000000000000000 0 0 0 0 0 '' 0"},
        {"slot_open t 0", "OK 0"},
        {"slot_read", "OK n.1 text 1 1 000000000000000000000000 0 0 0 0 1 '' 0"},
        {"slot_remove", "OK"},
        {"redis DBSIZE", "0"},
    };
    struct fixture *fixture = *state;

    fixture_flush(fixture);
    fixture->keyed = true;
    SCRIPT_TABLE(state, rows);
}

/* --- memory --- */

enum { IDS = 10000, ID_LEN = 36 };

static long long number_of(struct fixture *fixture, const char *command)
{
    redisReply *reply = fixture_redis(fixture, command);
    long long number = reply->integer;

    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    freeReplyObject(reply);
    return number;
}

/* Prints what docs/lifecycle.md says of it. */
static void test_the_memory_of_an_id(void **state)
{
    struct fixture *fixture = *state;
    long long empty, filled;

    script_table_call(fixture, "open t keyed");
    empty = number_of(fixture, "MEMORY USAGE done{x}");
    for (int i = 0; i < IDS; i++) {
        char id[ID_LEN + 1];

        snprintf(id, sizeof(id), "%0*d", ID_LEN, i);
        freeReplyObject(
            redisCommand(fixture->redis, "ZADD done{x} %lld %s", 1700000000000LL + i, id));
    }
    filled = number_of(fixture, "MEMORY USAGE done{x} SAMPLES 0");
    print_message("an id of %d bytes in the window takes %lld bytes of Redis (%d ids)\n", ID_LEN,
                  (filled - empty) / IDS, IDS);
    assert_in_range((filled - empty) / IDS, ID_LEN, 200);
}

TEST_GROUP(dedup)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_the_claim_to_the_end_of_the_window),
        cmocka_unit_test(test_what_waits_merges),
        cmocka_unit_test(test_only_what_is_done_is_remembered),
        cmocka_unit_test(test_a_whole_message_is_remembered),
        cmocka_unit_test(test_edits_pass),
        cmocka_unit_test(test_without_a_window_all_is_as_ever),
        cmocka_unit_test(test_several_in_a_call),
        cmocka_unit_test(test_a_repeat_gets_its_answer),
        cmocka_unit_test(test_a_repeated_answer_does_not_prolong_the_window),
        cmocka_unit_test(test_a_restored_message_is_a_send),
        cmocka_unit_test(test_a_duplicate_is_not_pushed),
        cmocka_unit_test(test_ids_are_forgotten_a_few_at_a_time),
        cmocka_unit_test(test_the_window_is_altered),
        cmocka_unit_test(test_a_deletion_forgets_all),
        cmocka_unit_test(test_a_key_of_another_program),
        cmocka_unit_test(test_the_memory_of_an_id),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
