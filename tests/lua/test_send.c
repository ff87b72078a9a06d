/* test_send.c - the send script: what is stored, merged, refused, and who is woken. */
#include <stdio.h>

#include "script_table.h"
#include "support/group.h"

static void test_range_merge_keeps_the_first_time(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"at 1000", ""},
        {"send a +20 b +0 a +5", "OK aam"},
        {"store", "b@1000 a@1020"},
        {"at 1010", ""},
        {"send a +0", "OK m"},
        {"store", "b@1000 a@1020"},
        {"field sent", "2"},
        {"field merged", "2"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

static void test_fixed_time_takes_the_last_time(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1000", ""},
        {"send a 5000 b 900 c +7 d 5000", "OK aaaa"},
        {"store", "b@1000 c@1007 a@5000 d@5000"},
        {"send a 2000 a 1500 b 3000 c 1", "OK mmmm"},
        {"store", "c@1000 a@1500 b@3000 d@5000"},
        {"field sent", "4"},
        {"field merged", "4"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_many_for_one_time_merge_like_one(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1000", ""},
        {"redis ZADD x 1500.0234375 a", "1"}, /* 1 retry, suspect */
        {"send a +9 b +9 a +9 b +9 c +9", "OK mamma"},
        {"store", "b@1009 c@1009 a@1009~1s"},
        {"field sent", "2"},
        {"field merged", "3"},
        {"send b +9 d +9", "OK ma"}, /* some have this time already */
        {"store", "b@1009 c@1009 d@1009 a@1009~1s"},
        {"open m", "OK"},
        {"at 1000", ""},
        {"redis ZADD x 1500.0234375 a", "1"},
        {"send a +9 b +9 a +9 b +9", "OK mamm"},
        {"store", "b@1009 a@1500~1s"},
        {"send a +9 b +9", "OK mm"},
        {"store", "b@1009 a@1500~1s"},
        {"field sent", "1"},
        {"field merged", "5"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_send_that_changes_nothing_wakes_after_a_lost_push(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"listen", ""},
        {"woken", NULL},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {"send b +9000", "OK a"},
        {"woken", "1"}, /* the push */
        {"at 1999", ""},
        {"send b +9000", "OK m"},
        {"woken", "0"},
        {"at 2000", ""},
        {"send b +9000", "OK m"},
        {"heard", "''"},
        {"field parked", "-1000:2000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_priority_by_bytes_takes_the_last_priority(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"send a 5 b -3 c 0 a 7 b -1099511627776", "OK aaamm"},
        {"store", "b@-1099511627776 c@0 a@7"},
        {"send c 1099511627776", "OK m"},
        {"store", "b@-1099511627776 a@7 c@1099511627776"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_priority_by_arrival_keeps_the_place_of_the_same_priority(void **state)
{
    static const struct script_row rows[] = {
        {"open p", "OK"},
        {"send a 5 b 5", "OK aa"},
        {"store", "b@25769803774 a@25769803775"},
        {"send a 5", "OK m"},
        {"store", "b@25769803774 a@25769803775"},
        {"field seq", "2"},
        {"send a 4 c 5 a 5", "OK mam"},
        {"store", "a@25769803771 c@25769803772 b@25769803774"},
        {"field seq", "5"},
        {"send d -8191", "OK a"},
        {"store", "d@-35175782154246 a@25769803771 c@25769803772 b@25769803774"},
    };

    /* 5 * 2^32 + 2^32 - 1 - place */
    SCRIPT_TABLE(state, rows);
}

static void test_a_merge_keeps_the_attempts(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 1000", ""},
        {"redis ZADD x 1500.0234375 a", "1"}, /* 1 retry, suspect */
        {"send a 3000", "OK m"},
        {"store", "a@3000~1s"},
        {"open m", "OK"},
        {"redis ZADD x 1500.0234375 a", "1"},
        {"send a +0", "OK m"},
        {"store", "a@1500~1s"},
        {"open b", "OK"},
        {"redis ZADD x -2.9765625 a", "1"},
        {"send a 9 a -9", "OK mm"},
        {"store", "a@-9~1s"},
        {"open p", "OK"},
        {"redis ZADD x 25769803775.25 a", "1"},
        {"send a 5", "OK m"},
        {"store", "a@25769803775~16"},
        {"send a 6", "OK m"},
        {"store", "a@30064771071~16"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_message_that_is_claimed_or_rests_is_a_new_one(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"send a +5", "OK a"},
        {"store", "a@1005"},
        {"prepare", "1000c1:a@31000"},
        {"consume 1 n=0 last=1 retry 1000c1:a 100 why", "OK 1000 1005 1 1 0"},
        {"send a +0", "OK m"},
        {"store", "a@1005"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_full_at_the_end_of_the_places(void **state)
{
    static const struct script_row rows[] = {
        {"open p", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 1", "OK a"},
        {"redis HSET slot{x} seq 4294967294", "0"},
        {"send b 1 c 1", "OK aa"},
        {"field seq", "4294967296"},
        {"send d 1", "FULL"},
        {"send a 1", "FULL"},
        {"store", "c@4294967296 b@4294967297 a@8589934591"},
        {"field sent", "3"},
        /* what is claimed holds its place too */
        {"consume 1", NULL},
        {"send d 1", "FULL"},
        {"consume 1 n=0 last=1 done 8589934591c1:a done 4294967297c1:b done 4294967296c1:c", NULL},
        {"send d 1", "OK a"},
        {"store", "d@8589934591"},
        {"field seq", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_places_begin_anew_when_the_slot_is_empty(void **state)
{
    static const struct script_row rows[] = {
        {"open p", "OK"},
        {"redis HSET slot{x} seq 2147483648", "1"},
        {"send a 0", "OK a"},
        {"field seq", "1"},
        {"redis HSET slot{x} seq 2147483648", "0"},
        {"send b 0", "OK a"},
        {"field seq", "2147483649"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_no_topic_and_stale_write_nothing(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"send a +0 def=o.1", "STALE"},
        {"send a +0 def=other.1", "STALE"},
        {"slot_seal 0", "OK"},
        {"send a +0", "NO_TOPIC"},
        {"store", ""},
        {"field sent", "nil"},
        {"field merged", "nil"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

static void test_a_batch_with_a_bad_message_is_refused_whole(void **state)
{
    /* clang-format off */
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"send a +0 '' +0", NULL},
        {"store", ""},
        {"send a +0 b soon", NULL},
        {"send a +0 b", NULL},
        {"store", ""},
        {"field sent", "nil"},
    };
    /* clang-format on */

    SCRIPT_TABLE(state, rows);
}

static void test_members_of_any_bytes(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"at 1000", ""},
    };
    struct fixture *fixture = *state;
    static const char body[] = "\0\xff:%s\r\n20c17:";
    struct args args = {0};
    struct buf out = {0};
    redisReply *reply;

    SCRIPT_TABLE(state, rows);
    args_add(&args, "n.1");
    args_add(&args, "m");
    args_add(&args, "wake{x}");
    args_add(&args, "0");
    args_add(&args, "0");
    args_add(&args, "0");
    args_add(&args, "0");
    args_add(&args, "-");
    args_add(&args, "0");
    args_add_bytes(&args, body, sizeof(body) - 1);
    args_add(&args, "+0");
    reply = fixture_call(fixture, fixture_script("send"), &args);
    reply_format(&out, reply);
    assert_string_equal(out.data, "OK a");
    freeReplyObject(reply);
    reply = redisCommand(fixture->redis, "ZSCORE x %b", body, sizeof(body) - 1);
    assert_string_equal(reply->str, "1000");
    freeReplyObject(reply);
    args_clear(&args);
    buf_fini(&out);
}

/* While another message is claimed, what waits behind a suspect cannot be claimed. */
static void test_a_suspect_that_is_sent_to_a_later_time_wakes(void **state)
{
    static const struct script_row first[] = {
        {"open t shared", "OK"},
        {"at 1000", ""},
        {"redis ZADD x 900 a 901.0078125 s 902 b", "3"},
        {"listen", ""},
        {"consume shared n=1", NULL},
        {"consume shared", "OK 1000 31000 1 '' 0"},
        {"field parked", "31000 0 -|wa@31000 "},
        {"send s 90000", "OK m"},
        {"woken", "1"},
        {"store", "b@902 s@90000~0s"},
        {"field parked", "nil"},
        {"deaf", ""},
    };
    static const struct script_row second[] = {
        {"open t", "OK"},
        {"at 1000", ""},
        {"redis ZADD x 901.0078125 s", "1"},
        {"listen", ""},
        {"redis HSET slot{x} parked 31000", "1"},
        {"send s 90000 c 90001", "OK ma"},
        {"woken", "1"},
        {"deaf", ""},
    };
    static const struct script_row third[] = {
        {"open m", "OK"},
        {"at 1000", ""},
        {"redis ZADD x 901.0078125 s", "1"},
        {"listen", ""},
        {"redis HSET slot{x} parked 31000", "1"},
        {"send s +90000 c +90000", "OK ma"},
        {"woken", "0"},
        {"deaf", ""},
    };
    static const struct script_row fourth[] = {
        {"open m keyed", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"send s +0 one '' ''", "OK a"},
        {"redis ZADD x 1000.0078125 s", "0"},
        {"redis HSET slot{x} parked 31000", "1"},
        {"send s +90000 two '' ''", "OK m"},
        {"woken", "0"}, /* keeps its time */
        {"send debounce=99999 s +90000 two '' ''", "OK m"},
        {"woken", "1"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, first);
    SCRIPT_TABLE(state, second);
    SCRIPT_TABLE(state, third); /* keeps its time */
    SCRIPT_TABLE(state, fourth);
}

static void test_wakes_who_sleeps_longer(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"send a +0", "OK a"},
        {"woken", "0"}, /* nobody sleeps */
        {"redis HSET slot{x} parked 5000", "1"},
        {"send b +4000", "OK a"},
        {"woken", "0"}, /* not earlier */
        {"send a +0", "OK m"},
        {"woken", "0"}, /* nothing is earlier than it was */
        {"send c +3999 d +9000", "OK aa"},
        {"woken", "1"},
        {"field parked", "nil"},
        {"send e +0", "OK a"},
        {"woken", "0"}, /* reported already */
        {"deaf", ""},
        {"redis HSET slot{x} parked 5000", "1"},
        {"send f +0", "OK a"},
        {"field parked", "5000"}, /* nobody heard it */
        {"open b", "OK"},
        {"listen", ""},
        {"redis HSET slot{x} parked 9007199254740992", "1"},
        {"send a 0", "OK a"},
        {"woken", "1"},
        {"open p", "OK"},
        {"redis HSET slot{x} parked 9007199254740992", "1"},
        {"send a 0", "OK a"},
        {"woken", "1"},
        {"redis HSET slot{x} parked 9007199254740992", "1"},
        {"send a 0", "OK m"},
        {"woken", "0"}, /* keeps its place */
        {"open t", "OK"},
        {"redis HSET slot{x} parked 9007199254740992", "1"},
        {"send a 2000", "OK a"},
        {"woken", "1"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* What a backup has: a time that has passed, and deliveries. */
static void test_a_restored_message_keeps_its_time_and_attempts(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"at 5000", ""},
        {"send a 900/0// b 800/4// c 9000/2// d +7/2// e 0/0//", "OK aaaaa"},
        {"store", "b@800~2 a@900 e@5000 d@5007~1 c@9000~1"},
        {"send b 800/4// a 900/0//", "OK mm"}, /* once more */
        {"store", "b@800~2 a@900 e@5000 d@5007~1 c@9000~1"},
        {"send f 900 g 900/2//", "OK aa"}, /* beside one that is new */
        {"store", "b@800~2 a@900 g@900~1 e@5000 f@5000 d@5007~1 c@9000~1"},
        {"open m", "OK"},
        {"send a 700/2//", "OK a"},
        {"send a 600/4//", "OK m"},
        {"store", "a@700~1"},
        {"open p", "OK"},
        {"send a 5/4// b -3/0//", "OK aa"},
        {"store", "b@-8589934594 a@25769803775~2"},
        {"open b", "OK"},
        {"send a 5/4// b -3/2//", "OK aa"},
        {"store", "b@-3~1 a@5~2"},
        {"send c 1/x//", "ERROR ERR an empty message, or no number for when"},
        {"send c 1/2/", "ERROR ERR an empty message, or no number for when"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_restored_message_keeps_its_first_send_and_its_expiry(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"at 5000", ""},
        {"send a 900/2/800/7000 one 3 '' b 900/0// two '' 50 c 900/0/700/ three '' ''", "OK aaa"},
        {"store", "b@900 c@900 a@900~1"},
        {"body", "ba=one bb=two bc=three ha=800,3,7000,1 hb=5000,,5050,1 hc=700"},
        {"open f keyed", "OK"},
        {"send a 0/2/800/ one '' '' b 0/0/900/ two '' ''", "OK aa"},
        {"store", "a@1~1 b@2"},
        {"body", "ba=one bb=two ha=800 hb=900"},
    };

    SCRIPT_TABLE(state, rows);
}

/* The owner would not see its attempts. */
static void test_a_restored_message_is_not_pushed(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume 1 open=1", NULL},
        {"send a 900/2//", "OK a"},
        {"store", "a@900~1"},
        {"woken", "1"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(send)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range_merge_keeps_the_first_time),
        cmocka_unit_test(test_fixed_time_takes_the_last_time),
        cmocka_unit_test(test_many_for_one_time_merge_like_one),
        cmocka_unit_test(test_a_send_that_changes_nothing_wakes_after_a_lost_push),
        cmocka_unit_test(test_priority_by_bytes_takes_the_last_priority),
        cmocka_unit_test(test_priority_by_arrival_keeps_the_place_of_the_same_priority),
        cmocka_unit_test(test_a_merge_keeps_the_attempts),
        cmocka_unit_test(test_a_message_that_is_claimed_or_rests_is_a_new_one),
        cmocka_unit_test(test_full_at_the_end_of_the_places),
        cmocka_unit_test(test_the_places_begin_anew_when_the_slot_is_empty),
        cmocka_unit_test(test_no_topic_and_stale_write_nothing),
        cmocka_unit_test(test_a_batch_with_a_bad_message_is_refused_whole),
        cmocka_unit_test(test_members_of_any_bytes),
        cmocka_unit_test(test_a_suspect_that_is_sent_to_a_later_time_wakes),
        cmocka_unit_test(test_wakes_who_sleeps_longer),
        cmocka_unit_test(test_a_restored_message_keeps_its_time_and_attempts),
        cmocka_unit_test(test_a_restored_message_keeps_its_first_send_and_its_expiry),
        cmocka_unit_test(test_a_restored_message_is_not_pushed),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
