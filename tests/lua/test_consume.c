/* test_consume.c - the consume script: claim, settle, refuse, park.  What is delivered again:
 * test_redelivery.c. */
#include <string.h>

#include "script_table.h"
#include "support/group.h"

/* --- claiming --- */

static void test_claims_what_is_due_in_order(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send c +2 b +1 a +1 d +3", "OK aaaa"},
        {"consume 1", "OK 1000 1001 0 '' 0"}, /* not early */
        {"at 1002", ""},
        {"consume 1", "OK 1002 1003 1 '' 0 1001c1:a 0 1001c1:b 0 1002c1:c 0"},
        {"store", "d@1003"},
        {"prepare", "1001c1:a@31002 1001c1:b@31002 1002c1:c@31002"},
        {"field claims", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_claims_priorities_from_the_largest(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send low -5 high 9 mid 0 mie 0", "OK aaaa"},
        {"consume 1 n=3", "OK 1000 1000 1 '' 1 9c1:high 0 0c1:mie 0 0c1:mid 0"},
        {"store", "low@-5"},
        {"consume 1 last=1", "OK 1000 31000 2 '' 0 -5c2:low 0"},
        {"store", ""},
        {"open p", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 1 b 2 c 1 d 2", "OK aaaa"},
        {"consume 1", "OK 1000 31000 1 '' 0 12884901886c1:b 0 12884901884c1:d 0"
                      " 8589934591c1:a 0 8589934589c1:c 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_claims_no_more_than_n_and_says_that_more_is_there(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0 c 0", "OK aaa"},
        {"consume 1 n=2", "OK 1000 1000 1 '' 1 1000c1:a 0 1000c1:b 0"},
        {"consume 1 n=0 last=1", "OK 1000 1000 1 '' 1"},
        {"consume 1 n=2 last=1", "OK 1000 31000 2 '' 0 1000c2:c 0"},
        {"consume 1 n=2 last=2", "OK 1000 31000 2 '' 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_claims_more_than_are_read_at_once(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 k 0 l 0 m 0 n 0 o 0 p 0 q 0 r 0 s 0 t 0",
         "OK aaaaaaaaaaaaaaaaaaaa"},
        {"consume 1 n=19", "OK 1000 1000 1 '' 1 1000c1:a 0 1000c1:b 0 1000c1:c 0 1000c1:d 0"
                           " 1000c1:e 0 1000c1:f 0 1000c1:g 0 1000c1:h 0 1000c1:i 0 1000c1:j 0"
                           " 1000c1:k 0 1000c1:l 0 1000c1:m 0 1000c1:n 0 1000c1:o 0 1000c1:p 0"
                           " 1000c1:q 0 1000c1:r 0 1000c1:s 0"},
        {"store", "t@1000"},
        {"at 1001", ""},
        {"consume 1 n=17 last=1", "OK 1001 31000 2 '' 0 1000c2:t 0"},
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 9 b 8 c 8 d 8 e 8 f 7 g 7 h 6", "OK aaaaaaaa"},
        {"consume 1 n=7", "OK 1000 1000 1 '' 1 9c1:a 0 8c1:e 0 8c1:d 0 8c1:c 0 8c1:b 0 7c1:g 0"
                          " 7c1:f 0"},
        {"store", "h@6"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_max_bytes_bounds_a_claim_but_one_always_comes(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send aaaa +0 bbbb +0 cccc +0", "OK aaa"},
        {"consume 1 bytes=8", "OK 1000 1000 1 '' 1 1000c1:aaaa 0 1000c1:bbbb 0"},
        {"consume 1 bytes=1 last=1", "OK 1000 31000 2 '' 0 1000c2:cccc 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_attempts_come_along(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 1000.03125 a", "1"}, /* two retries used */
        {"consume 1", "OK 1000 31000 1 '' 0 1000c1:a 4"},
        {"prepare", "1000c1:a@31000~2"},
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"redis ZADD x -7.75 a", "1"}, /* -8, 16 retries used */
        {"consume 1", "OK 1000 31000 1 '' 0 -8c1:a 32"},
        {"prepare", "-8c1:a@31000~16"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_retried_message_is_due_in_its_millisecond(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 1000.9921875 a", "1"},
        {"consume 1 n=0", "OK 1000 1000 0 '' 1"},
        {"consume 1", "OK 1000 31000 1 '' 0 1000c1:a 127"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- answers --- */

static void test_done_is_gone(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 1", NULL},
        {"consume 1 last=1 done 1000c1:a done 1000c1:b", "OK 1000 '' 1 11 0"},
        {"prepare", ""},
        {"field done", "2"},
        /* repeated, nothing changes */
        {"consume 1 last=1 flags=r done 1000c1:a done 1000c1:b", "OK 1000 '' 1 00 0"},
        {"field done", "2"},
    };

    SCRIPT_TABLE(state, rows);
}

/* An owner's answers are not looked up, so of several it is not known which was missing. */
static void test_a_missing_claim_is_told_only_when_asked_for(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0 d +0", "OK aaaa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 flags=r done 1000c1:a done 1000c1:x done 1000c1:b",
         "OK 1000 31000 1 101 0"},
        {"consume 1 n=0 last=1 done 1000c1:c done 1000c1:x done 1000c1:y", "OK 1000 31000 1 uuu 0"},
        {"consume 1 n=0 last=1 done 1000c1:x done 1000c1:y", "OK 1000 31000 1 00 0"},
        {"consume 1 n=0 last=1 done '' done 1000c1:x", "OK 1000 31000 1 00 0"},
        {"prepare", "1000c1:d@31000"},
        {"field done", "3"},
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume shared", NULL},
        {"consume shared n=0 done 1000c1:a done 1000c1:x", NULL},
        {"field done", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_was_tried_before_has_its_size_once(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send aaaa +0 bbbb +1", "OK aa"},
        {"at 1001", ""},
        {"consume 1", NULL},
        {"consume 1 bytes=8 last=1 retry 1001c1:bbbb 0 why release 1000c1:aaaa 0",
         "OK 1001 31001 2 11 0 1000c2:aaaa 0 1001c2:bbbb 2"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_retry_without_a_delay_goes_straight_back(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0", "OK aa"},
        {"consume 1 n=1", NULL},
        {"at 1500", ""},
        {"consume 1 n=0 last=1 retry 1000c1:a 0 why", "OK 1500 1000 1 1 1"},
        {"store", "b@1000 a@1000~1"},
        {"prepare", ""},
        {"field retried", "1"},
        {"consume 1 n=0 last=1 retry 1000c1:a 0 why", "OK 1500 1000 1 0 1"},
        {"store", "b@1000 a@1000~1"},
        {"field retried", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_retry_with_a_delay_rests_and_keeps_its_time(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0", "OK a"},
        {"consume 1", NULL},
        {"consume 1 last=1 retry 1000c1:a 500 why", "OK 1000 1500 1 1 0"},
        {"prepare", "1000r1:a@17592186045916~1"}, /* 2^44 + 1500 */
        {"store", ""},
        {"consume 1 n=0 last=1 retry 1000c1:a 900 why", "OK 1000 1500 1 0 0"},
        {"at 1499", ""},
        {"consume 1 last=1", "OK 1499 1500 1 '' 0"},
        {"at 1500", ""},
        {"consume 1 last=1", "OK 1500 31500 2 '' 0 1000c2:a 2"},
        {"prepare", "1000c2:a@31500~1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_retries_end_in_dead(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 3", "OK a"},
        {"consume 1 max=2", "OK 1000 31000 1 '' 0 3c1:a 0"},
        {"consume 1 max=2 last=1 retry 3c1:a 0 first", "OK 1000 31000 2 1 0 3c2:a 2"},
        {"consume 1 max=2 last=2 retry 3c2:a 0 second", "OK 1000 31000 3 1 0 3c3:a 4"},
        {"at 1234", ""},
        {"consume 1 max=2 last=3 retry 3c3:a 0 third", "OK 1234 '' 3 1 0"},
        {"dead", "3d:a@1234~2"},
        {"why", "3d:a=third|t1234|t1000:second|t1000:first"},
        {"field retried", "2"},
        {"field rejected", "1"},
        {"store", ""},
        {"prepare", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_no_retries_at_all(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1 max=0", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"consume 1 max=0 last=1 retry 1000c1:a 50 once", "OK 1000 '' 1 1 0"},
        {"dead", "1000d:a@1000"},
        {"why", "1000d:a=once|t1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_reject_is_dead_at_once(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 900.0234375 a", "1"}, /* one retry used, suspect */
        {"consume 1", "OK 1000 31000 1 '' 0 900c1:a 3"},
        {"consume 1 last=1 reject 900c1:a broken", "OK 1000 '' 1 1 0"},
        {"dead", "900d:a@1000~1"},
        {"why", "900d:a=broken|x1000|l:"},
        {"field rejected", "1"},
        {"consume 1 last=1 reject 900c1:a again", "OK 1000 '' 1 0 0"},
        {"why", "900d:a=broken|x1000|l:"},
        {"field rejected", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_second_death_replaces_the_first(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 3", "OK a"},
        {"consume 1", NULL},
        {"consume 1 last=1 reject 3c1:a one", NULL},
        {"at 2000", ""},
        {"send a 3", "OK a"},
        {"consume 1 last=1", NULL},
        {"consume 1 last=2 reject 3c2:a two", NULL},
        {"dead", "3d:a@2000"},
        {"why", "3d:a=two|x2000"},
        {"field rejected", "2"},
        {"field merged", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_reason_is_cut(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
    };
    /* clang-format on */
    struct fixture *fixture = *state;
    struct args args = {0};
    redisReply *reply;
    char reason[300];

    SCRIPT_TABLE(state, rows);
    memset(reason, 'r', sizeof(reason));
    args_add(&args, "n.1");
    args_add(&args, "000000010000000000000001");
    for (size_t i = 0; i < 15; i++) {
        static const char *const rest[] = {"m", "wake{x}", "0", "1000", "30000", "16", "0", "1",
                                           "1", "0",       "0", "-",    "-",     "0",  "x"};
        args_add(&args, rest[i]);
    }
    args_add(&args, "1000c1:a");
    args_add(&args, "0");
    args_add_bytes(&args, reason, sizeof(reason));
    freeReplyObject(fixture_call(fixture, fixture_script("consume"), &args));
    args_clear(&args);
    reply = fixture_redis(fixture, "HGET why{x} 1000d:a");
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_int_equal(strlen(reply->str), 200); /* behind it stands when that was */
    freeReplyObject(reply);
}

static void test_release_is_as_if_never_claimed(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 900.0234375 a", "1"}, /* one retry used, suspect */
        {"consume 1", "OK 1000 31000 1 '' 0 900c1:a 3"},
        {"consume 1 n=0 last=1 release 900c1:a 0", "OK 1000 900 1 1 1"},
        {"store", "a@900~1s"},
        {"consume 1 last=1", "OK 1000 31000 2 '' 0 900c2:a 3"},
        {"consume 1 n=0 last=2 release 900c2:a 70", "OK 1000 1070 2 1 0"},
        {"prepare", "900r2:a@17592186045486~1s"},
        {"field released", "2"},
        {"at 1070", ""},
        {"consume 1 last=2", "OK 1070 31070 3 '' 0 900c3:a 3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_an_answer_clears_the_suspicion(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 900.0234375 a", "1"},
        {"consume 1", "OK 1000 31000 1 '' 0 900c1:a 3"},
        {"consume 1 n=0 last=1 retry 900c1:a 0 why", "OK 1000 900 1 1 1"},
        {"store", "a@900~2"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_answers_of_all_kinds_in_one_call(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0 d +0 e +0", "OK aaaaa"},
        {"consume 1", NULL},
        {"consume 1 last=1 done 1000c1:a done 1000c1:b retry 1000c1:c 9 no reject 1000c1:d bad"
         " release 1000c1:e 0 retry 1000c1:z 0 gone",
         "OK 1000 1009 2 111110 0 1000c2:e 0"},
        {"prepare", "1000c2:e@31000 1000r1:c@17592186045425~1"},
        {"dead", "1000d:d@1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_answers_to_what_was_never_claimed(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 500 why", NULL},
        {"consume 1 n=0 last=1 done '' retry '' 0 x retry nonsense 0 x reject 1000r1:a x"
         " release 1000r1:a 0",
         "OK 1000 1500 1 00000 0"},
        {"prepare", "1000r1:a@17592186045916~1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- refusals --- */

static void test_fenced_stale_and_no_topic_write_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 0", "FENCED 000000000000000000000000"},
        {"consume shared", "FENCED 000000000000000000000000"},
        {"takeover 2", "OK 0 0 0"},
        {"consume 1", "FENCED 000000010000000000000002"},
        {"consume 3", "FENCED 000000010000000000000002"},
        {"consume 2 def=o.1", "STALE"},
        {"consume 2", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"consume 1 done 1000c1:a", "FENCED 000000010000000000000002"},
        {"consume 2 def=o.1 done 1000c1:a", "STALE"},
        {"prepare", "1000c1:a@31000"},
        {"slot_seal 1", "OK"},
        {"consume 2 last=1 done 1000c1:a", "NO_TOPIC"},
        {"prepare", "1000c1:a@31000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- parking --- */

static void test_passes_over_the_keys_that_are_named(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 10 b 20 c 5000", "OK aaa"},
        {"consume 1 passes=1:a", "OK 1000 5000 1 '' 0 1000c1:b 0"},
        {"store", "a@1000 c@5000"},
        {"consume 1 last=1 oldest=1 passes=1:a1:x", "OK 1000 5000 1 '' 0"},
        {"field parked", "5000"}, /* not until a, which it passes over */
        {"consume 1 last=1 oldest=1 passes=2:ab", "OK 1000 5000 2 '' 0 1000c2:a 0"},
        {"send d 30 e 40", "OK aa"},
        {"consume 1 last=2 oldest=1 n=1 passes=1:x", "OK 1000 1000 3 '' 1 1000c3:d 0"},
    };

    SCRIPT_TABLE(state, rows);
}

/* What comes before the place up to which claims have looked is found. */
static void test_what_was_put_before_what_was_passed_over_is_found(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 5", "OK a"},
        {"send b 4", "OK a"},
        {"consume 1 passes=1:a1:b", "OK 1000 '' 0 '' 0"},
        {"field looked", "4:1:b:5:1:a:4:1:b"},
        {"send c 3", "OK a"}, /* it comes behind that place */
        {"field look_again", "nil"},
        {"send d 9", "OK a"},
        {"field look_again", "9:0:"},
        {"send e 5", "OK a"},
        {"field look_again", "9:0:"},
        {"consume 1 passes=1:a1:b", "OK 1000 31000 1 '' 0 9c1:d 0 5c1:e 0 3c1:c 0"},
        {"field look_again", "nil"},
        {"consume 1 last=1 passes=1:a1:b release 5c1:e 0",
         "OK 1000 31000 2 1 0 5c2:e 0"}, /* it is given back there */
        {"consume 1 n=1 last=2 passes=1:b", "OK 1000 31000 3 '' 0 5c3:a 0"}, /* a is free */
        {"field looked", "4:1:b:4:1:b"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A suspect of a key that is passed over stops no claim of other keys.  It is claimed alone when
 * its key is free. */
static void test_a_suspect_is_passed_over_as_others_of_its_key(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 5", "OK a"},
        {"consume 1 n=1", "OK 1000 31000 1 '' 0 5c1:a 0"},
        {"send a 9", "OK a"},
        {"send b 3", "OK a"},
        {"consume 1 last=1 passes=1:a1:b", "OK 1000 31000 1 '' 0"},
        {"takeover 2", "OK 1 1 0"},
        {"field look_again", "9:0:"},
        {"send c 1", "OK a"},
        {"consume 2 last=1 passes=1:a1:b", "OK 1000 31000 2 '' 0 1c2:c 0"},
        {"send d 1", "OK a"},
        {"consume 2 last=2 passes=1:a1:b", "OK 1000 31000 3 '' 0 1c3:d 0"},
        {"field looked", "3:1:b:9:1:a:3:1:b"},
        {"send e 2", "OK a"},
        {"consume 2 last=3 passes=1:b", "OK 1000 31000 3 '' 0"}, /* a must come alone */
        {"consume 2 last=3 passes=1:b done 1c2:c done 1c3:d", "OK 1000 31000 4 11 0 9c4:a 1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Nothing of this millisecond is noted: more may come in any place. */
static void test_the_note_of_what_was_passed_over_ends_before_now(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send b +0", "OK a"},
        {"consume 1 passes=1:b", "OK 1000 '' 0 '' 0"},
        {"field looked", "nil"},
        {"at 1001", ""},
        {"consume 1 passes=1:b", "OK 1001 '' 0 '' 0"},
        {"field looked", "1000:1:b:1000:1:b"},
        {"at 1000", ""}, /* the clock steps back */
        {"send a +0", "OK a"},
        {"consume 1 passes=1:b", "OK 1000 31000 1 '' 0 1000c1:a 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_parks_until_the_next_claim_can_succeed(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"consume 1 n=0", "OK 1000 '' 0 '' 0"},
        {"field parked", "nil"}, /* n = 0 never parks */
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {"field parked", "9007199254740992"},
        {"send a +100", "OK a"},
        {"consume 1", "OK 1000 1100 0 '' 0"},
        {"field parked", "1100"},
        {"at 1100", ""},
        {"consume 1", "OK 1100 31100 1 '' 0 1100c1:a 0"},
        {"field parked", "nil"},
        {"consume 1 last=1 retry 1100c1:a 50 why", "OK 1100 1150 1 1 0"},
        {"field parked", "1150"},
        {"send b +20", "OK a"},
        {"consume 1 last=1", "OK 1100 1120 1 '' 0"},
        {"field parked", "1120"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_an_owner_that_sleeps_is_woken(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {"send a +100", "OK a"},
        {"woken", "1"},
        {"consume 1", "OK 1000 1100 0 '' 0"},
        {"send b +100", "OK a"},
        {"woken", "0"},
        {"send c +50", "OK a"},
        {"woken", "1"},
        /* its own answers wake nobody: it has the reply */
        {"consume 1", "OK 1000 1050 0 '' 0"},
        {"at 1100", ""},
        {"consume 1 n=2", NULL},
        {"consume 1 n=0 last=1 release 1050c1:c 0", NULL},
        {"woken", "0"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- bounds --- */

static void test_brings_back_a_thousand_a_call(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 5000", ""},
        {"redis EVAL for\ti=1,2500\tdo\tredis.call('ZADD',KEYS[1],17592186045416,'7r1:m'..i)\tend"
         " 1 prepare{x}",
         "nil"},
        {"consume 1 n=0", "OK 5000 7 0 '' 1"},
        {"redis ZCARD x", "1001"},
        {"redis ZCARD prepare{x}", "1501"},
        {"consume 1 n=0", "OK 5000 7 0 '' 1"},
        {"consume 1 n=0", "OK 5000 7 0 '' 1"},
        {"redis ZCARD x", "2501"},
        {"redis ZCARD prepare{x}", "1"},
        {"consume 1 n=5000", NULL},
        {"redis ZCARD x", "1501"},
        {"redis ZCARD prepare{x}", "1001"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- which calls are ordinary --- */

static void test_the_ordinary_call_settles_and_claims(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0 c 0 d 2000", "OK aaaa"},
        {"ordinary 1 n=2", "OK 1000 1000 1 '' 1 1000c1:a 0 1000c1:b 0"},
        {"ordinary 1 n=1 last=1 done 1000c1:a done 1000c1:b", "OK 1000 2000 2 11 0 1000c2:c 0"},
        {"ordinary 1 n=1 last=2 oldest=2 done 1000c2:c", "OK 1000 2000 2 1 0"},
        {"field done", "3"},
        {"field parked", "2000"},
        {"open b keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 5 one '' '' b 6 two 3 ''", "OK aa"},
        {"ordinary 1 n=1", "OK 1000 1000 1 '' 1 6c1:b 0 1000,3,,1 two"},
        {"ordinary 1 last=1 done 6c1:b", "OK 1000 31000 2 1 0 5c2:a 0 1000 one"},
        {"body", "ba=one ha=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Nothing is written then. */
static void test_other_calls_are_for_consume_any(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 x '' '' b 0 x '' 500", "OK aa"},
        {"consume 1 n=1", "OK 1000 1000 1 '' 1 1000c1:a 0 1000 x"},
        {"ordinary 1 n=0 last=1 flags=r done 1000c1:a", "ANY"},
        {"ordinary 1 n=0 last=0 done 1000c1:a", "ANY"},
        {"ordinary 1 n=0 last=1,0,1000c1:a done 1000c1:a", "ANY"},
        {"ordinary 1 n=0 last=1 dedup=5 done 1000c1:a", "ANY"},
        {"ordinary 1 n=0 last=1 dedup=5 retry 1000c1:a 5 why", "ANY"},
        {"ordinary 1 n=0 last=1 retry 1000c1:a 0 why", "ANY"},
        {"ordinary 1 n=0 last=1 done 1000c1:a retry 1000c1:a 5 why", "ANY"},
        {"ordinary 1 n=0 last=1 retry 1000c1:a 5 why retry 1000c1:a 5 why", "ANY"},
        {"ordinary 1 n=0 last=1 retry 1000c1:a 5 why retry 900c1:a 5 why", "ANY"},
        {"ordinary 1 n=0 last=1 max=0 retry 1000c1:a 5 why", "ANY"},
        {"ordinary 1 n=0 last=1 reject 1000c1:a why", "ANY"},
        {"ordinary 1 n=0 last=1 release 1000c1:a 5", "ANY"},
        {"ordinary 1 n=0 last=1 hung 1000c1:a 0", "ANY"},
        {"ordinary 1 n=0 last=1 retry a 5 why", "ANY"},
        {"ordinary 1 n=0 last=1 done 1000c1:a done 1000c1:a", "ANY"},
        {"ordinary 1 n=1 last=1 passes=1:k done 1000c1:a", "ANY"},
        {"ordinary 1 n=0 last=1 oldest=2", "ANY"}, /* a failover has lost the answer */
        {"at 1500", ""},
        {"ordinary 1 last=1 def=n.2 done 1000c1:a", "ANY"}, /* what waits has expired */
        {"at 31000", ""},
        {"ordinary 1 n=0 last=1", "ANY"}, /* a lease has ended */
        {"field def", "n.1"},
        {"prepare", "1000c1:a@31000"},
        {"store", "b@1000"},
        {"body", "ba=x bb=x ha=1000 hb=1000,,1500,1"},
        {"field done", "nil"},
        {"ordinary 2 n=0", "FENCED 000000010000000000000001"},
        {"ordinary 1 n=0 def=o.1", "STALE"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_rests_are_for_consume_any_unless_they_are_told(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0 c 0 d 0", "OK aaaa"},
        {"consume 1 n=3", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 500 why", "OK 1000 1000 1 1 1"},
        {"ordinary 1 n=0 last=1 done 1000c1:b", "OK 1000 1000 1 1 1"}, /* it rests */
        {"at 1500", ""},
        {"ordinary 1 n=0 last=1 done 1000c1:c", "ANY"},
        {"redis ZADD prepare{x} 31000 1000c1:e", "1"},
        {"ordinary 1 last=1 done 1000c1:c done 1000c1:e", "OK 1500 1500 1 11 1"}, /* is left */
        {"store", "d@1000"},
        {"consume 1 n=0 last=1", "OK 1500 1000 1 '' 1"},
        {"store", "d@1000 a@1000~1"},
        {"ordinary 1 n=2 last=1", "OK 1500 31500 2 '' 0 1000c2:d 0 1000c2:a 2"},
        {"slot_pause 1", NULL},
        {"ordinary 1 n=0 last=2", "ANY"},
        {"open t shared", "OK"},
        {"ordinary shared n=1 last=w1", "OK 1000 '' 1 '' 0"},
        {"send a 0", "OK a"},
        {"ordinary shared n=1 last=w1", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"at 2000", ""},
        {"send b 0", "OK a"},
        {"ordinary shared n=1 last=w1", "OK 2000 31000 2 '' 0 2000c2:b 0"},
        {"at 31000", ""},
        {"ordinary shared n=1 last=w2", "ANY"},
        {"consume shared n=1 last=w2", NULL},
        {"ordinary shared n=0 last=w1 done 1000c1:a done 2000c2:b", "OK 31000 1000 2 01 1"},
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"ordinary 1", "ANY"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_ordinary_call_takes_retries(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0 c 0 d 0", "OK aaaa"},
        {"ordinary 1 n=3", NULL},
        {"ordinary 2 n=0 last=1 done 1000c1:b retry 1000c1:a 500 why",
         "FENCED 000000010000000000000001"},
        {"ordinary 1 n=0 last=1 done 1000c1:b retry 1000c1:a 500 why", "OK 1000 1000 1 11 1"},
        {"prepare", "1000c1:c@31000 1000r1:a@17592186045916~1"},
        {"why", "Ra=why|t1000"},
        {"field retried", "1"},
        {"field done", "1"},
        {"ordinary 1 n=0 last=1 retry 1000c1:b 500 why retry 1000c1:c 700 then",
         "OK 1000 1000 1 01 1"},
        {"at 1600", ""},
        {"ordinary 1 flags=t n=2 last=1", "OK 1600 1700 2 '' 0 1000c2:d 0 1000c2:a 2"},
        {"at 1700", ""},
        {"ordinary 1 flags=t n=2 last=2 done 1000c2:d retry 1000c2:a 100 again",
         "OK 1700 1800 3 11 0 1000c3:c 2"},
        {"why", "Ra=again|t1700|t1000:why Rc=then|t1000"},
        {"at 1800", ""},
        {"ordinary 1 flags=t last=3 retried-done 1000c3:c 0", "OK 1800 31800 4 1 0 1000c4:a 4"},
        {"why", "Ra=again|t1700|t1000:why"},
        {"ordinary 1 last=4 max=2 retry 1000c4:a 100 why", "ANY"},
        {"ordinary 1 last=4 retried-done 1000c4:a 0 retry 1000c3:c 5 why", "OK 1800 '' 4 10 0"},
        {"prepare", ""},
        {"why", ""},
        {"field retried", "3"},
        {"field done", "4"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_retries_keep_what_is_stored_beside_them(void **state)
{
    static const struct script_row rows[] = {
        {"open b keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 5 one '' '' b 6 two 1 ''", "OK aa"},
        {"ordinary 1 n=2", NULL},
        {"ordinary 1 n=0 last=1 retry 5c1:a 5 why retry 6c1:b 5 why", "OK 1000 1005 1 11 0"},
        {"body", "ba=one bb=two ha=1000 hb=1000,1,,1"},
        {"at 1005", ""},
        {"send c 5 three '' ''", "OK a"},
        {"ordinary 1 flags=t n=3 last=1",
         "OK 1005 31005 2 '' 0 6c2:b 2 1000,1,,1 two 5c2:a 2 1000 one 5c2:c 0 1005 three"},
        {"ordinary 1 n=0 last=2 retry 6c2:b 5 why", "ANY"},
        {"send a 5 four '' ''", "OK a"},
        {"ordinary 1 n=0 last=2 retried-done 5c2:a 0", "ANY"},
        {"ordinary 1 n=0 last=2 done 5c2:c retried-done 6c2:b 0 retry 5c2:a 5 x",
         "OK 1005 1005 2 111 1"},
        {"body", "ba=four ha=1005,,,2"},
        {"at 1010", ""},
        {"ordinary 1 flags=t n=3 last=2", "ANY"}, /* it waits, too */
        {"store", "a@5"},
        {"consume 1 flags=t n=3 last=2", NULL},
        {"field merged", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A suspect waits behind them, and in the end a lease has ended. */
static void test_the_ordinary_call_returns_rests_or_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0 b 0 c 0", "OK aaa"},
        {"ordinary 1 n=3", NULL},
        {"ordinary 1 n=0 last=1 retry 1000c1:a 5 x retry 1000c1:b 5 x", NULL},
        {"redis ZADD x 1001.0078125 s", "1"},
        {"at 1005", ""},
        {"ordinary 1 flags=t n=3 last=1", "ANY"},
        {"prepare", "1000c1:c@31000 1000r1:a@17592186045421~1 1000r1:b@17592186045421~1"},
        {"store", "s@1001~0s"},
        {"ordinary 1 flags=t n=2 last=1 done 1000c1:c",
         "OK 1005 31005 2 1 0 1000c2:a 2 1000c2:b 2"},
        {"redis ZREM x s", "1"},
        {"ordinary 1 n=0 last=2 retry 1000c2:a 5 x", NULL},
        {"at 31005", ""},
        {"ordinary 1 flags=t n=3 last=2", "OK 31005 31005 2 '' 1"},
        {"prepare", "1000c2:b@31005~1"},
        {"store", "a@1000~2"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(consume)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_ordinary_call_settles_and_claims),
        cmocka_unit_test(test_other_calls_are_for_consume_any),
        cmocka_unit_test(test_rests_are_for_consume_any_unless_they_are_told),
        cmocka_unit_test(test_the_ordinary_call_takes_retries),
        cmocka_unit_test(test_retries_keep_what_is_stored_beside_them),
        cmocka_unit_test(test_the_ordinary_call_returns_rests_or_nothing),
        cmocka_unit_test(test_claims_what_is_due_in_order),
        cmocka_unit_test(test_claims_priorities_from_the_largest),
        cmocka_unit_test(test_claims_no_more_than_n_and_says_that_more_is_there),
        cmocka_unit_test(test_claims_more_than_are_read_at_once),
        cmocka_unit_test(test_max_bytes_bounds_a_claim_but_one_always_comes),
        cmocka_unit_test(test_attempts_come_along),
        cmocka_unit_test(test_a_retried_message_is_due_in_its_millisecond),
        cmocka_unit_test(test_done_is_gone),
        cmocka_unit_test(test_a_missing_claim_is_told_only_when_asked_for),
        cmocka_unit_test(test_what_was_tried_before_has_its_size_once),
        cmocka_unit_test(test_retry_without_a_delay_goes_straight_back),
        cmocka_unit_test(test_retry_with_a_delay_rests_and_keeps_its_time),
        cmocka_unit_test(test_retries_end_in_dead),
        cmocka_unit_test(test_no_retries_at_all),
        cmocka_unit_test(test_reject_is_dead_at_once),
        cmocka_unit_test(test_a_second_death_replaces_the_first),
        cmocka_unit_test(test_a_reason_is_cut),
        cmocka_unit_test(test_release_is_as_if_never_claimed),
        cmocka_unit_test(test_an_answer_clears_the_suspicion),
        cmocka_unit_test(test_answers_of_all_kinds_in_one_call),
        cmocka_unit_test(test_answers_to_what_was_never_claimed),
        cmocka_unit_test(test_fenced_stale_and_no_topic_write_nothing),
        cmocka_unit_test(test_passes_over_the_keys_that_are_named),
        cmocka_unit_test(test_what_was_put_before_what_was_passed_over_is_found),
        cmocka_unit_test(test_a_suspect_is_passed_over_as_others_of_its_key),
        cmocka_unit_test(test_the_note_of_what_was_passed_over_ends_before_now),
        cmocka_unit_test(test_parks_until_the_next_claim_can_succeed),
        cmocka_unit_test(test_an_owner_that_sleeps_is_woken),
        cmocka_unit_test(test_brings_back_a_thousand_a_call),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
