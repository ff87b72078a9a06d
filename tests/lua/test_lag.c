/* test_lag.c - what inspect says of the oldest message of a priority slot in layout inline: its
 * place tells about when it got it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "script_table.h"
#include "support/group.h"

enum { UNKNOWN = -1, NOTES_BYTES = 2540 };

/* How long the oldest message has waited at least, as the slot says; UNKNOWN: it does not, or no
 * message waits. */
static long long lag(struct fixture *fixture, const char *kind)
{
    struct args args = {0};
    redisReply *reply;
    long long age = UNKNOWN;

    args_add(&args, "n.1");
    args_add(&args, kind);
    reply = fixture_call(fixture, fixture_script("inspect"), &args);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    if (reply->element[7]->type == REDIS_REPLY_INTEGER) {
        age = reply->element[1]->integer - reply->element[7]->integer;
        assert_true(age >= 0);
    }
    freeReplyObject(reply);
    args_clear(&args);
    return age;
}

/* A call, what it answers, and the lag after it. */
struct lag_row {
    const char *command;
    const char *expected; /* NULL: whatever it is */
    long long lag;
};

static void run_rows(struct fixture *fixture, const char *kind, const struct lag_row *rows,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct script_row row = {rows[i].command, rows[i].expected};
        long long seen;

        script_table_run(fixture, &row, 1);
        seen = lag(fixture, kind);
        if (seen != rows[i].lag) {
            fail_msg("row %zu, %s: the lag is %lld, not %lld", i, rows[i].command, seen,
                     rows[i].lag);
        }
    }
}

#define LAG_TABLE(state, rows) run_rows(*(state), "p", rows, sizeof(rows) / sizeof((rows)[0]))

/* clang-format off */

/* One second is not told apart: of those that were sent in it the age is that of the last. */
static void test_it_is_the_age_of_the_oldest_of_any_priority(void **state)
{
    static const struct lag_row rows[] = {
        {"open p", "OK", UNKNOWN},
        {"takeover 1", "OK 0 0 0", UNKNOWN},
        {"at 1000", "", UNKNOWN},
        {"send a -5", "OK a", 0},
        {"at 1999", "", 0},
        {"send b 7", "OK a", 0},
        {"at 2000", "", 1},
        {"send c 7", "OK a", 1},
        {"at 61000", "", 59001},
        {"send d 9 e -5", "OK aa", 59001},
        {"consume 1 n=3", NULL, 59001},
        {"consume 1 n=1 last=1", NULL, 0}, /* a and e were left */
        {"at 62000", "", 1},
        {"consume 1 n=1 last=2", NULL, UNKNOWN},
    };

    LAG_TABLE(state, rows);
}

static void test_what_is_given_back_has_its_age(void **state)
{
    static const struct lag_row rows[] = {
        {"open p", "OK", UNKNOWN},
        {"takeover 1", "OK 0 0 0", UNKNOWN},
        {"send a 1", "OK a", 0},
        {"at 5000", "", 3001},
        {"consume 1 lease=1000", NULL, UNKNOWN},
        {"send b 1", "OK a", 0},
        {"consume 1 n=0 last=1 release 8589934591c1:a 0", NULL, 3001},
        {"consume 1 n=1 last=1 lease=1000", NULL, 0},
        {"consume 1 n=0 last=2 retry 8589934591c2:a 0 no", NULL, 3001},
        {"consume 1 n=1 last=2 lease=1000", NULL, 0},
        {"at 9000", "", 3001},
        {"takeover 2", "OK 3 1 0", 7001}, /* as a suspect */
    };

    LAG_TABLE(state, rows);
}

static void test_a_new_priority_is_a_new_place(void **state)
{
    static const struct lag_row rows[] = {
        {"open p", "OK", UNKNOWN},
        {"send a 1", "OK a", 0},
        {"at 5000", "", 3001},
        {"send a 1", "OK m", 3001},
        {"send a 2", "OK m", 0},
        {"at 9000", "", 3001},
        {"edit reschedule a 2", "OK 1", 3001},
        {"edit reschedule a 1", "OK 1", 0},
        {"at 11000", "", 1001},
        {"send b 1", "OK a", 1001},
        {"edit reschedule a 7", "OK 1", 0}, /* within the second of the note */
        {"at 12000", "", 1},
    };

    LAG_TABLE(state, rows);
}

/* It writes seq as a number, and no notes. */
static void test_a_sender_that_keeps_no_notes_leaves_the_lag_unknown(void **state)
{
    static const struct lag_row rows[] = {
        {"open p", "OK", UNKNOWN},
        {"takeover 1", "OK 0 0 0", UNKNOWN},
        {"send a 0", "OK a", 0},
        {"at 50000", "", 48001},
        {"redis ZADD x 4294967294 b", "1", 48001},
        {"redis HSET slot{x} seq 2", "0", UNKNOWN},
        {"at 60000", "", UNKNOWN},
        {"send c 0", "OK a", UNKNOWN},
        {"field times", "2:60000:999", UNKNOWN},
        {"at 70000", "", UNKNOWN},
        {"consume 1 n=1", NULL, UNKNOWN},
        {"consume 1 n=1 last=1", NULL, 9001},
        /* as many places as were noted */
        {"redis HSET slot{x} seq 3", "0", UNKNOWN},
        {"edit reschedule c 1", "OK 1", 0},
        {"at 80000", "", 9001},
        {"redis HSET slot{x} seq 4", "0", UNKNOWN},
        {"edit reschedule c 0", "OK 1", 0},
        {"field times", "4:80000:999", 0},
    };

    LAG_TABLE(state, rows);
}

/* Its send has failed midway: the message has a place above all that were noted. */
static void test_a_place_above_all_tells_no_age(void **state)
{
    static const struct lag_row rows[] = {
        {"open p", "OK", UNKNOWN},
        {"takeover 1", "OK 0 0 0", UNKNOWN},
        {"send a 0", "OK a", 0},
        {"at 50000", "", 48001},
        {"redis ZADD x 4294967290 b", "1", 48001},
        {"consume 1 n=1", NULL, UNKNOWN},
        {"send c 0", "OK a", 0},
    };

    LAG_TABLE(state, rows);
}

/* A version that keeps no notes has cleared the slot, and the topic was created anew. */
static void test_notes_of_places_that_begin_again_tell_no_age(void **state)
{
    static const struct lag_row rows[] = {
        {"open p", "OK", UNKNOWN},
        {"takeover 1", "OK 0 0 0", UNKNOWN},
        {"send a 0 b 0 c 0", "OK aaa", 0},
        {"at 50000", "", 48001},
        {"redis DEL x", "1", UNKNOWN},
        {"redis ZADD x -inf ''", NULL, UNKNOWN},
        {"redis HDEL slot{x} seq", "1", UNKNOWN},
        {"send d 0", "OK a", 0},
        {"field times", "0:50000:999", 0},
        {"at 60000", "", 9001},
        {"redis HSET slot{x} seq 1", "0", UNKNOWN},
    };
    static const struct script_row cleared[] = {
        {"slot_clear 1000", "OK 0"},
        {"field seq", "nil"},
        {"field noted", "nil"},
        {"field times", "nil"},
    };

    LAG_TABLE(state, rows);
    script_table_call(*state, "open p");
    script_table_call(*state, "send a 0 b 0 c 0");
    script_table_call(*state, "slot_seal 1");
    SCRIPT_TABLE(state, cleared);
}

static void test_notes_begin_anew_with_the_places(void **state)
{
    static const struct lag_row rows[] = {
        {"open p", "OK", UNKNOWN},
        {"takeover 1", "OK 0 0 0", UNKNOWN},
        {"send a 0", "OK a", 0},
        {"at 5000", "", 3001},
        {"send b 0", "OK a", 3001},
        {"consume 1 n=2", NULL, UNKNOWN},
        {"consume 1 n=0 last=1 done 4294967295c1:a done 4294967294c1:b", NULL, UNKNOWN},
        {"redis HSET slot{x} seq +2147483648", "0", UNKNOWN},
        {"at 90000", "", UNKNOWN},
        {"send c 0", "OK a", 0},
        {"field times", "0:90000:999", 0},
        {"at 91000", "", 1},
    };

    LAG_TABLE(state, rows);
}

/* While nothing waits or is claimed, one note is enough; a dead letter that is requeued is as old
 * as that at least. */
static void test_a_slot_that_is_empty_now_and_then_has_few_notes(void **state)
{
    static const struct lag_row rows[] = {
        {"open p", "OK", UNKNOWN},
        {"takeover 1", "OK 0 0 0", UNKNOWN},
        {"send a 0", "OK a", 0},
        {"consume 1", NULL, UNKNOWN},
        {"consume 1 n=0 last=1 reject 4294967295c1:a bad", NULL, UNKNOWN},
        {"at 5000", "", UNKNOWN},
        {"send b 0", "OK a", 0},
        {"consume 1 last=1", NULL, UNKNOWN},
        {"consume 1 n=0 last=2 done 4294967294c2:b", NULL, UNKNOWN},
        {"field times", "0:1000:999 1:5000:999", UNKNOWN},
        {"at 9000", "", UNKNOWN},
        {"send c 0", "OK a", 0},
        {"field times", "0:1000:4999 2:9000:999", 0},
        {"edit requeue 4294967295d:a", "OK 1", 3001},
        {"at 12000", "", 6001},
        {"send d 0", "OK a", 6001},
        {"field times", "0:1000:4999 2:9000:999 3:12000:999", 6001},
    };

    LAG_TABLE(state, rows);
}

static void test_a_clock_that_is_set_back_makes_nothing_older(void **state)
{
    static const struct lag_row rows[] = {
        {"open p", "OK", UNKNOWN},
        {"takeover 1", "OK 0 0 0", UNKNOWN},
        {"at 100000", "", UNKNOWN},
        {"send a 0", "OK a", 0},
        {"at 50000", "", 0},
        {"send b 0", "OK a", 0},
        {"at 60000", "", 0},
        {"consume 1 n=1", NULL, 9001},
    };

    LAG_TABLE(state, rows);
}

/* clang-format on */

/* A slot of another kind or layout is written as before. */
static void test_others_keep_no_notes(void **state)
{
    static const char *const opened[] = {"open m", "open t", "open b", "open p keyed",
                                         "open f keyed"};
    static const char *const seqs[] = {"nil", "nil", "nil", "1", "1"};

    for (size_t i = 0; i < sizeof(opened) / sizeof(opened[0]); i++) {
        const bool keyed = strstr(opened[i], "keyed") != NULL;
        const struct script_row rows[] = {
            {opened[i], "OK"},      {keyed ? "send a 0 text '' ''" : "send a 0", "OK a"},
            {"field seq", seqs[i]}, {"field noted", "nil"},
            {"field times", "nil"},
        };

        SCRIPT_TABLE(state, rows);
    }
}

static void test_of_many_priorities_the_first_messages_are_looked_at(void **state)
{
    struct fixture *fixture = *state;

    script_table_call(fixture, "open p");
    for (int i = 0; i < 303; i++) { /* a hundred and one priorities, the oldest is the lowest */
        char command[64];

        snprintf(command, sizeof(command), "at %d", 1000 + i * 10);
        script_table_call(fixture, command);
        snprintf(command, sizeof(command), "send m%d %d", i, i % 101);
        script_table_call(fixture, command);
        if (i == 200) {
            assert_int_equal(lag(fixture, "p"), UNKNOWN);
        }
    }
    script_table_call(fixture, "at 10000");
    assert_int_equal(lag(fixture, "p"), UNKNOWN);
    script_table_call(fixture, "edit remove w m100 m201 m302");
    assert_int_equal(lag(fixture, "p"), 8001);
}

/* --- many notes --- */

static unsigned long long draw(unsigned long long *random)
{
    *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
    return *random >> 33;
}

static size_t notes_size(struct fixture *fixture)
{
    redisReply *reply = fixture_redis(fixture, "HGET slot{x} times");
    size_t size;

    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    size = reply->len;
    freeReplyObject(reply);
    return size;
}

/* Messages of a slot that is never empty, sent over days: each is the oldest once.  Its age is
 * never too large, and too small by at most two seconds or 30 of 100. */
static void check_many(struct fixture *fixture, unsigned long long seed)
{
    enum { MESSAGES = 400 };
    static const long long gaps[] = {1, 100, 1000, 7000, 60000, 3600000};
    long long sent_at[MESSAGES], now = 1700000000000;
    unsigned long long random = seed;
    char command[96];

    script_table_call(fixture, "open p");
    script_table_call(fixture, "takeover 1");
    for (int i = 0; i < MESSAGES; i++) {
        long long gap = gaps[draw(&random) % (1 + seed % 6)];

        now += 1 + (long long) (draw(&random) % (unsigned long long) (2 * gap));
        sent_at[i] = now;
        snprintf(command, sizeof(command), "at %lld", now);
        script_table_call(fixture, command);
        snprintf(command, sizeof(command), "send m%d 0", i);
        script_table_call(fixture, command);
        assert_in_range(notes_size(fixture), 1, NOTES_BYTES);
    }
    now += (long long) (draw(&random) % 1000);
    snprintf(command, sizeof(command), "at %lld", now);
    script_table_call(fixture, command);
    for (int i = 0; i < MESSAGES; i++) {
        const long long age = now - sent_at[i], seen = lag(fixture, "p");

        if (seen < 0 || seen > age || seen < age - 2000 - age * 3 / 10) {
            fail_msg("seed %llu, message %d: the age is %lld, not %lld", seed, i, seen, age);
        }
        snprintf(command, sizeof(command), "consume 1 n=1 last=%d", i);
        script_table_call(fixture, command);
    }
}

static void test_many_notes_become_few_and_the_age_stays_about_right(void **state)
{
    for (unsigned long long seed = 1; seed <= 12; seed++) {
        check_many(*state, seed);
    }
}

TEST_GROUP(lag)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_the_age_of_the_oldest_of_any_priority),
        cmocka_unit_test(test_what_is_given_back_has_its_age),
        cmocka_unit_test(test_a_new_priority_is_a_new_place),
        cmocka_unit_test(test_a_sender_that_keeps_no_notes_leaves_the_lag_unknown),
        cmocka_unit_test(test_a_place_above_all_tells_no_age),
        cmocka_unit_test(test_notes_of_places_that_begin_again_tell_no_age),
        cmocka_unit_test(test_notes_begin_anew_with_the_places),
        cmocka_unit_test(test_a_slot_that_is_empty_now_and_then_has_few_notes),
        cmocka_unit_test(test_a_clock_that_is_set_back_makes_nothing_older),
        cmocka_unit_test(test_others_keep_no_notes),
        cmocka_unit_test(test_of_many_priorities_the_first_messages_are_looked_at),
        cmocka_unit_test(test_many_notes_become_few_and_the_age_stays_about_right),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
