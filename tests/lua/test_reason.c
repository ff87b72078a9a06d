/* test_reason.c - why a message failed last: kept as long as it has retries used, and shown. */
#include "script_table.h"
#include "support/group.h"

#define TOKEN "000000010000000000000001"
#define HEAD  TOKEN " me 0 ''"
#define LOST  "its process died or hung"
#define HUNG  "its handler took too long"

/* --- kept --- */

static void test_shown_while_it_rests_waits_and_is_claimed(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0", "OK a"},
        {"consume 1", NULL},
        {"find a", "OK 1000 " HEAD " c 1000c1:a 31000 ''"},
        {"consume 1 n=0 last=1 retry 1000c1:a 50 first", NULL},
        {"why", "Ra=first|t1000"},
        {"find a", "OK 1000 " HEAD " r 1000r1:a 17592186045466.016 first|t1000"},
        {"at 1050", ""},
        {"consume 1 n=0 last=1", NULL},
        {"find a", "OK 1050 " HEAD " w a 1000.015625 first|t1000"},
        {"consume 1 last=1", NULL},
        {"find a", "OK 1050 " HEAD " c 1000c2:a 31050.015625 first|t1000"},
        {"consume 1 n=0 last=2 retry 1000c2:a 0 second", NULL},
        {"find a", "OK 1050 " HEAD " w a 1000.03125 second|t1050|t1000:first"},
        {"consume 1 last=2", NULL},
        {"consume 1 n=0 last=3 retried-done 1000c3:a 0", "OK 1050 '' 3 1 0"},
        {"why", ""},
        {"prepare", ""},
        {"field done", "1"},
        {"consume 1 n=0 last=3 retried-done 1000c3:a 0", "OK 1050 '' 3 0 0"},
        {"field done", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_retry_without_one_takes_its_place_a_release_keeps_it(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 3", "OK a"},
        {"consume 1", NULL},
        {"consume 1 last=1 retry 3c1:a 0 bad", NULL},
        {"consume 1 last=2 release 3c2:a 0", NULL},
        {"consume 1 n=0 last=3 release 3c3:a 50", NULL},
        {"why", "Ra=bad|t1000"},
        {"at 1050", ""},
        {"consume 1 last=3", NULL},
        {"consume 1 n=0 last=4 retry 3c4:a 50 ''", NULL},
        {"why", "Ra=|t1050|t1000:bad"},
        {"find a", "OK 1050 " HEAD " r 3r4:a 17592186045516.031 |t1050|t1000:bad"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_it_is_cut(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 3", "OK a"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 3c1:a 0 "
         "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
         "8901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"
         "67890123456789012345678901234567890123456789",
         NULL},
        {"redis HSTRLEN why{x} Ra", "206"},
    };

    SCRIPT_TABLE(state, rows);
}

/* 198 bytes, then characters of 2, 3 and 4 bytes. */
#define BYTES_198                                                                                  \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"     \
    "8901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"     \
    "6789012345678901234567"

static void test_it_is_not_cut_inside_a_character(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 3 b 2 c 1", "OK aaa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 3c1:a 0 " BYTES_198 "\xc3\xa9! retry 2c1:b 0 " BYTES_198
         "\xe2\x82\xac retry 1c1:c 0 x" BYTES_198 "\xf0\x9f\x98\x80",
         NULL},
        {"redis HSTRLEN why{x} Ra", "206"},
        {"redis HSTRLEN why{x} Rb", "204"},
        {"redis HSTRLEN why{x} Rc", "205"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_of_fifo_it_stays_while_it_is_claimed_from_its_rest(void **state)
{
    static const struct script_row rows[] = {
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 one '' '' b 0 two '' ''", "OK aa"},
        {"consume 1 n=1", NULL},
        {"consume 1 n=0 last=1 retry 1c1:a 50 bad", NULL},
        {"at 1050", ""},
        {"consume 1 n=1 last=1", NULL},
        {"find a", "OK 1050 " HEAD " c 1c2:a 31050.015625 bad|t1000 1000 one"},
        {"consume 1 n=0 last=2 retried-done 1c2:a 0", NULL},
        {"why", ""},
        {"body", "bb=two hb=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- of lost claims nothing is stored --- */

static void test_a_suspect_says_that_its_claim_was_lost(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0", "OK aa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 0 bad", NULL},
        {"consume 1 last=1", NULL},
        {"takeover 2", "OK 2 2 0"},
        {"store", "b@1000~0s a@1000~1s"},
        {"why", "Ra=|l1000|t1000:bad"},
        {"page w", "OK 1000 000000010000000000000002 me 2 '' 0 1000.0234375 a b 1000.0078125 " LOST
                   "|l: a 1000.0234375 " LOST "|l1000:|t1000:bad"},
        {"consume 2 last=2", NULL},
        {"consume 2 n=0 last=3 done 1000c3:b", NULL},
        {"consume 2 last=3", NULL},
        {"consume 2 n=0 last=4 hung 1000c4:a 0", NULL},
        {"find a", "OK 1000 000000010000000000000002 me 2 '' w a 1000.0390625 " LOST
                   "|h1000:|l1000:|t1000:bad"},
        {"consume 2 last=4", NULL},
        {"consume 2 n=0 last=5 retry 1000c5:a 0 worse", NULL},
        {"find a", "OK 1000 000000010000000000000002 me 2 '' w a 1000.046875 "
                   "worse|t1000|h1000:|l1000:|t1000:bad"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- gone with the message --- */

static void test_the_dead_letter_has_it_alone(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 3 b 2", "OK aa"},
        {"consume 1", NULL},
        {"consume 1 max=1 last=1 retry 3c1:a 0 bad retry 2c1:b 0 bad", NULL},
        {"why", "Ra=bad|t1000 Rb=bad|t1000"},
        {"consume 1 n=0 max=1 last=2 retry 3c2:a 0 worse reject 2c2:b odd", NULL},
        {"why", "2d:b=odd|x1000|t1000:bad 3d:a=worse|t1000|t1000:bad"},
        {"edit requeue 3d:a", "OK 1"},
        {"why", "2d:b=odd|x1000|t1000:bad"},
        {"find a", "OK 1000 " HEAD " w a 3 ''"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_suspect_dies_with_the_reason_of_its_loss(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 3", "OK a"},
        {"consume 1", NULL},
        {"consume 1 max=1 last=1 retry 3c1:a 0 bad", NULL},
        {"takeover 2 max=1", "OK 2 1 0"},
        {"consume 2 max=1 last=2", NULL},
        {"why", "Ra=|l1000|t1000:bad"},
        {"takeover 3 max=1", "OK 3 1 0"},
        {"why", "3d:a=" LOST "|l1000|l1000:|t1000:bad"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_suspect_whose_handler_hung_dies_with_that_reason(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 3", "OK a"},
        {"consume 1", NULL},
        {"consume 1 max=0 last=1 hung 3c1:a 0", NULL},
        {"consume 1 n=0 max=0 last=2 hung 3c2:a 0", NULL},
        {"why", "3d:a=" HUNG "|h1000|l:"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_removed_and_expired_messages_leave_none(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 A '' '' b +0 B '' '' c +0 C '' 100", "OK aaa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 0 one retry 1000c1:b 50 two retry 1000c1:c 0 three",
         NULL},
        {"why", "Ra=one|t1000 Rb=two|t1000 Rc=three|t1000"},
        {"edit remove w a a", "OK 10"},
        {"why", "Rb=two|t1000 Rc=three|t1000"},
        {"edit remove r 1000r1:x 1000r1:b", "OK 01"},
        {"why", "Rc=three|t1000"},
        {"at 1100", ""},
        {"consume 1 last=1", "OK 1100 '' 1 '' 0 1"},
        {"why", ""},
        {"body", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_cleared_slot_has_none(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0", "OK aa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 0 one retry 1000c1:b 50 two", NULL},
        {"slot_seal 1", "OK"},
        {"slot_clear 1", "OK 1"},
        {"slot_clear 1", "OK 0"},
        {"why", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- sent again --- */

static void test_a_copy_that_never_failed_leaves_it_alone(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0", "OK a"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 50 bad", NULL},
        {"send a 0", "OK a"},
        {"find a", "OK 1000 " HEAD " w a 1000 ''"},
        {"consume 1 last=1", NULL},
        {"consume 1 n=0 last=2 done 1000c2:a", NULL},
        {"why", "Ra=bad|t1000"},
        {"send a 0", "OK a"},
        {"edit remove w a", "OK 1"},
        {"why", "Ra=bad|t1000"},
        {"send a 0", "OK a"},
        {"consume 1 last=2", NULL},
        {"consume 1 n=0 last=3 reject 1000c3:a odd", NULL},
        {"why", "1000d:a=odd|x1000 Ra=bad|t1000"},
        {"send a 0", "OK a"},
        {"at 1050", ""},
        {"consume 1 n=0 last=3", NULL},
        {"find a", "OK 1050 " HEAD " w a 1000.015625 bad|t1000"},
        {"send a 2000", "OK m"},
        {"find a", "OK 1050 " HEAD " w a 2000.015625 bad|t1000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- looked for --- */

static void test_page_shows_and_filters_it_in_every_state(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0 c 0 d 0 e 0", "OK aaaaa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 0 one retry 1000c1:b 50 two retry 1000c1:c 50 ''"
         " release 1000c1:d 0 hung 1000c1:e 0",
         NULL},
        {"page w", "OK 1000 " HEAD " 0 1000.015625 a d 1000 '' e 1000.0078125 " LOST
                   "|l: a 1000.015625 one|t1000"},
        {"page w reason=on", "OK 1000 " HEAD " 0 1000.015625 a a 1000.015625 one|t1000"},
        {"page w reason=died", "OK 1000 " HEAD " 0 1000.015625 a e 1000.0078125 " LOST "|l:"},
        {"page r", "OK 1000 " HEAD " 0 17592186045466.016 1000r1:c 1000r1:b 17592186045466.016 "
                   "two|t1000 1000r1:c 17592186045466.016 |t1000"},
        {"page r reason=tw",
         "OK 1000 " HEAD " 0 17592186045466.016 1000r1:c 1000r1:b 17592186045466.016 two|t1000"},
        {"page w reason=x", "OK 1000 " HEAD " 0 1000.015625 a"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- the history --- */

/* With a character of 2 bytes that is as much as is kept of an older text. */
#define BYTES_98                                                                                   \
    "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345"       \
    "678901234567"

static void test_the_last_five_tries_are_kept(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 3", "OK a"},
        {"consume 1 max=9", NULL},
        {"consume 1 max=9 last=1 retry 3c1:a 0 one", NULL},
        {"at 1002", ""},
        {"consume 1 max=9 last=2 retry 3c2:a 0 " BYTES_98 "\xc3\xa9!", NULL},
        {"consume 1 max=9 n=0 last=3 hung 3c3:a 0", NULL},
        {"at 1003", ""},
        {"consume 1 max=9 last=3", NULL},
        {"consume 1 max=9 last=4 retry 3c4:a 0 four", NULL},
        {"at 1004", ""},
        {"consume 1 max=9 last=5 retry 3c5:a 0 five", NULL},
        {"why", "Ra=five|t1004|t1003:four|h1002:|t1002:" BYTES_98 "\xc3\xa9|t1000:one"},
        {"at 1005", ""},
        {"consume 1 max=9 n=0 last=6 retry 3c6:a 0 six", NULL},
        {"why", "Ra=six|t1005|t1004:five|t1003:four|h1002:|t1002:" BYTES_98 "\xc3\xa9"},
        {"consume 1 max=9 last=6", NULL},
        {"consume 1 max=9 n=0 last=7 reject 3c7:a end", NULL},
        {"why", "3d:a=end|x1005|t1005:six|t1004:five|t1003:four|h1002:"},
        {"edit requeue 3d:a", "OK 1"},
        {"why", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* They store the reason of the last retry alone, and of a lost claim nothing. */
static void test_what_older_versions_store_becomes_history(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 3", "OK a"},
        {"consume 1", NULL},
        {"consume 1 last=1 retry 3c1:a 0 old", NULL},
        {"redis HSET why{x} Ra old", "0"},
        {"find a", "OK 1000 " HEAD " c 3c2:a 31000.015625 old"},
        {"consume 1 last=2 retry 3c2:a 0 new", NULL},
        {"why", "Ra=new|t1000|t:old"},
        {"redis HSET why{x} Ra old", "0"},
        {"takeover 2", "OK 3 1 0"},
        {"redis HSET why{x} Ra old", "0"},
        {"consume 2 last=3", NULL},
        {"find a",
         "OK 1000 000000010000000000000002 me 3 '' c 3c4:a 31000.0390625 " LOST "|l:|t:old"},
        {"redis HDEL why{x} Ra", "1"},
        {"consume 2 n=0 last=4 reject 3c4:a bad", NULL},
        {"why", "3d:a=bad|x1000|l:"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_an_expiry_is_no_try(void **state)
{
    static const struct script_row rows[] = {
        {"open b keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 3 one '' 100 b 2 two '' 100", "OK aa"},
        {"consume 1 n=1 flags=x", NULL},
        {"consume 1 n=0 last=1 retry 3c1:a 0 bad", NULL},
        {"at 1100", ""},
        {"consume 1 last=1 flags=x", "OK 1100 '' 1 '' 0 2"},
        {"why", "2d:b=expired 3d:a=expired|t1000:bad B2d:b=two B3d:a=one H2d:b=1000,,1100,1 "
                "H3d:a=1000,,1100,1"},
        {"page d reason=bad", "OK 1100 " HEAD " 0 1100.015625 3d:a"},
        {"edit remove d 3d:a", "OK 1"},
        {"edit remove d 2d:b", "OK 1"},
        {"why", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_copy_that_failed_has_the_history(void **state)
{
    static const struct script_row rows[] = {
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 one '' 100", "OK a"},
        {"consume 1 n=1", NULL},
        {"send a 0 two '' 100", "OK a"},
        {"consume 1 n=0 last=1 release 1c1:a 90", NULL},
        {"consume 1 n=1 last=1 flags=s", NULL},
        {"at 1100", ""},
        {"consume 1 last=2 flags=sx retry 2c2:a 0 bad", "OK 1100 '' 2 1 0 2"},
        {"why", "1d:a=expired 2d:a=expired|t1100:bad B1d:a=two B2d:a=two H1d:a=1000,,1100,1 "
                "H2d:a=1000,,1100,1"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(reason)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shown_while_it_rests_waits_and_is_claimed),
        cmocka_unit_test(test_a_retry_without_one_takes_its_place_a_release_keeps_it),
        cmocka_unit_test(test_it_is_cut),
        cmocka_unit_test(test_it_is_not_cut_inside_a_character),
        cmocka_unit_test(test_of_fifo_it_stays_while_it_is_claimed_from_its_rest),
        cmocka_unit_test(test_a_suspect_says_that_its_claim_was_lost),
        cmocka_unit_test(test_the_dead_letter_has_it_alone),
        cmocka_unit_test(test_a_suspect_dies_with_the_reason_of_its_loss),
        cmocka_unit_test(test_a_suspect_whose_handler_hung_dies_with_that_reason),
        cmocka_unit_test(test_removed_and_expired_messages_leave_none),
        cmocka_unit_test(test_a_cleared_slot_has_none),
        cmocka_unit_test(test_a_copy_that_never_failed_leaves_it_alone),
        cmocka_unit_test(test_page_shows_and_filters_it_in_every_state),
        cmocka_unit_test(test_the_last_five_tries_are_kept),
        cmocka_unit_test(test_what_older_versions_store_becomes_history),
        cmocka_unit_test(test_an_expiry_is_no_try),
        cmocka_unit_test(test_the_copy_that_failed_has_the_history),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
