/* test_bounds.c - what one call may cost when a slot holds much: the size of its reply, how many
 * calls something takes, and that a call does not look through what it does not need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_table.h"
#include "support/commandstats.h"
#include "support/group.h"

enum { REPLY_BYTES_MAX = 8 * 1024 * 1024, BIG = 3 * 1024 * 1024 };

/* Runs on the keys of the slot. */
static void evaluate(struct fixture *fixture, const char *script)
{
    redisReply *reply = redisCommand(
        fixture->redis, "EVAL %s 6 x prepare{x} dead{x} why{x} slot{x} body{x}", script);

    if (reply->type == REDIS_REPLY_ERROR) {
        fail_msg("%s", reply->str);
    }
    freeReplyObject(reply);
}

/* --- a claim whose reply was lost --- */

struct part {
    char claims[32];
    char position[256]; /* for the next call: ",attempts,entry" */
    size_t count, bytes;
};

/* What an owner asks that has lost a reply. */
static void ask(struct fixture *fixture, const char *kind, const char *last, struct part *part)
{
    static const char *const before[] = {"n.1", "000000010000000000000001"};
    static const char *const behind[] = {"wake{x}", "1000", "1048576", "30000", "16", "0"};
    struct args args = {0};
    redisReply *reply;

    args_add(&args, before[0]);
    args_add(&args, before[1]);
    args_add(&args, kind);
    for (size_t i = 0; i < 6; i++) {
        args_add(&args, behind[i]);
    }
    args_add(&args, last);
    args_add(&args, "1");
    args_add(&args, "0");
    args_add(&args, "0");
    args_add(&args, "-");
    args_add(&args, "r");
    args_add(&args, "0");
    reply = fixture_call(fixture, fixture_script("consume"), &args);
    args_clear(&args);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_string_equal(reply->element[0]->str, "OK");
    memset(part, 0, sizeof(*part));
    snprintf(part->claims, sizeof(part->claims), "%lld", reply->element[3]->integer);
    for (size_t i = 6; i + 3 < reply->elements; i += 4) {
        part->count++;
        part->bytes += reply->element[i]->len + reply->element[i + 3]->len;
        snprintf(part->position, sizeof(part->position), ",%lld,%s", reply->element[i + 1]->integer,
                 reply->element[i]->str);
    }
    freeReplyObject(reply);
}

static void test_one_claim_of_which_all_bodies_were_replaced_by_large_ones(void **state)
{
    static const char *const kinds[] = {"m", "p", "f"};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < 3; i++) {
        char open[32], last[320] = "0";
        struct part part = {.claims = "0"};
        size_t count = 0;
        int calls = 0;

        snprintf(open, sizeof(open), "open %s keyed", kinds[i]);
        script_table_call(fixture, open);
        script_table_call(fixture, "takeover 1");
        for (int j = 0; j < 100; j++) {
            char send[64];

            snprintf(send, sizeof(send), "send m%d %s small '' ''", j, i == 0 ? "+0" : "5");
            script_table_call(fixture, send);
        }
        script_table_call(fixture, "consume 1 n=100");
        evaluate(fixture, "local big = string.rep('x', 3 * 1024 * 1024) "
                          "for j = 0, 99 do redis.call('HSET', KEYS[6], 'bm' .. j, big) end");
        for (; strcmp(part.claims, "1") != 0; calls++) {
            assert_in_range(calls, 0, 100);
            ask(fixture, kinds[i], last, &part);
            assert_true(part.bytes <= REPLY_BYTES_MAX || part.count == 1);
            count += part.count;
            snprintf(last, sizeof(last), "%s%s", part.claims, part.position);
        }
        assert_int_equal(count, 100);
    }
    fixture_flush(fixture);
}

/* --- work --- */

/* A field of what the server did for a command since the last CONFIG RESETSTAT. */
static long long did(struct fixture *fixture, const char *command, const char *field)
{
    redisReply *reply = redisCommand(fixture->redis, "INFO commandstats");
    long long value = commandstats_read(reply->str, command, field);

    freeReplyObject(reply);
    return value;
}

/* How long the server worked for one call since then: of consume, and of consume_any if that was
 * not ordinary. */
static long long microseconds(struct fixture *fixture)
{
    assert_in_range(did(fixture, "evalsha", "calls"), 1, 2);
    return did(fixture, "evalsha", "usec");
}

/* How often the scripts read a range since then. */
static long long ranges(struct fixture *fixture)
{
    long long calls = did(fixture, "zrange", "calls");

    assert_true(calls > 0);
    return calls;
}

/* The least that the server worked for handing over again what a lost reply had: 100 messages. */
static long long work_of_a_lost_reply(struct fixture *fixture, int in_flight)
{
    long long least = INT64_MAX;
    char line[160];

    script_table_call(fixture, "open m");
    script_table_call(fixture, "takeover 1");
    snprintf(line, sizeof(line),
             "for j = 1, %d do redis.call('ZADD', KEYS[2], 500000 + j, j .. 'c1:m' .. j) end",
             in_flight);
    evaluate(fixture, line);
    script_table_call(fixture, "redis HSET slot{x} claims 1");
    evaluate(fixture, "for j = 1, 100 do redis.call('ZADD', KEYS[1], 1, 'n' .. j) end");
    script_table_call(fixture, "consume 1 n=100 last=1");
    for (int i = 0; i < 5; i++) {
        long long usec;

        script_table_call(fixture, "redis CONFIG RESETSTAT");
        script_table_call(fixture, "consume 1 n=100 last=1");
        usec = microseconds(fixture);
        least = usec < least ? usec : least;
    }
    return least;
}

/* Of what else is in flight there may be any number. */
static void test_a_lost_reply_does_not_look_through_what_is_in_flight(void **state)
{
    struct fixture *fixture = *state;
    long long few = work_of_a_lost_reply(fixture, 500);
    long long many = work_of_a_lost_reply(fixture, 50000);

    print_message("%lld us beside 500 in flight, %lld us beside 50,000\n", few, many);
    assert_true(many < 5 * few);
    fixture_flush(fixture);
}

static void test_expired_messages_take_few_calls_when_one_is_asked_for(void **state)
{
    static const char *const flags[] = {"consume 1 n=1", "consume 1 n=1 flags=x"};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < 2; i++) {
        int calls = 0;
        redisReply *left;

        script_table_call(fixture, "open m keyed");
        script_table_call(fixture, "takeover 1");
        evaluate(fixture, "for j = 1, 20000 do redis.call('ZADD', KEYS[1], 1000, 'm' .. j) "
                          "redis.call('HSET', KEYS[6], 'hm' .. j, '900,,950,1', 'bm' .. j, 'text') "
                          "end");
        do {
            script_table_call(fixture, flags[i]);
            left = redisCommand(fixture->redis, "ZCARD x");
            calls++;
            assert_in_range(calls, 1, 100);
        } while (left->integer > 1 && (freeReplyObject(left), true));
        freeReplyObject(left);
        print_message("%d calls\n", calls);
    }
    fixture_flush(fixture);
}

/* A message of key k rests; `held` others of it wait, and then one of another key. */
static void hold_a_key(struct fixture *fixture, int held)
{
    char script[640];

    script_table_call(fixture, "open f keyed");
    script_table_call(fixture, "takeover 1");
    script_table_call(fixture, "at 1000");
    snprintf(script, sizeof(script),
             "local k = string.char(0) .. '1:k' "
             "local function put(j, name) redis.call('ZADD', KEYS[1], j, name) "
             "redis.call('HSET', KEYS[6], 'h' .. name, '900', 'b' .. name, '') end "
             "for j = 2, %d do put(j, k .. j) end put(1000000, 'f') "
             "redis.call('HSET', KEYS[5], 'seq', 1000000) "
             "redis.call('ZADD', KEYS[2], 17592186044416 + 5000 + 2 / 128, '1r1:' .. k .. '1') "
             "redis.call('HSET', KEYS[6], 'h' .. k .. '1', '900', 'b' .. k .. '1', '')",
             held + 1);
    evaluate(fixture, script);
}

static long long number(struct fixture *fixture, const char *command)
{
    redisReply *reply = fixture_redis(fixture, command);
    long long value = reply->integer;

    freeReplyObject(reply);
    return value;
}

/* Up to which place messages of the slot were found to be held. */
static long long passed(struct fixture *fixture)
{
    redisReply *reply = fixture_redis(fixture, "HGET slot{x} passed");
    long long place = reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : 0;

    freeReplyObject(reply);
    return place;
}

/* The places of those that are held are 2 to 100,001. */
static void test_a_call_looks_at_a_thousand_that_are_held_and_none_at_them_again(void **state)
{
    enum { CALLS = 101, LOOK_MOST = 1000, HELD = 100000 };
    struct fixture *fixture = *state;
    long long all = 0, looks = 0, again;
    int calls = 0;

    hold_a_key(fixture, HELD);
    while (number(fixture, "ZCARD prepare{x}") < 3) {
        assert_in_range(++calls, 1, CALLS);
        script_table_call(fixture, "redis CONFIG RESETSTAT");
        script_table_call(fixture, "consume 1");
        all += microseconds(fixture);
        looks = calls == 1 ? ranges(fixture) : looks;
        assert_int_equal(passed(fixture), 1 + (calls < CALLS ? calls * LOOK_MOST : HELD));
    }
    assert_int_equal(calls, CALLS);
    script_table_call(fixture, "redis CONFIG RESETSTAT");
    script_table_call(fixture, "consume 1 last=1");
    again = microseconds(fixture);
    print_message("%lld us for 1,000 that are held, %lld us behind all\n", all / CALLS, again);
    assert_true(ranges(fixture) < looks); /* it begins behind them */
    assert_int_equal(passed(fixture), 1 + HELD);
    assert_int_equal(number(fixture, "ZCARD x"), 1 + HELD);
    fixture_flush(fixture);
}

/* `count` messages of key k, with the time or priority 900, and one of another key. */
static void send_a_key(struct fixture *fixture, const char *open, int count, int other)
{
    char script[320];

    script_table_call(fixture, open);
    script_table_call(fixture, "takeover 1");
    script_table_call(fixture, "at 1000");
    snprintf(script, sizeof(script),
             "for j = 1, %d do "
             "redis.call('ZADD', KEYS[1], 900, string.char(0) .. '1:k' .. j) end "
             "redis.call('ZADD', KEYS[1], %d, 'other')",
             count, other);
    evaluate(fixture, script);
}

/* They have one time, or priority. */
static void test_a_call_looks_at_two_thousand_that_are_passed_over_and_none_at_them_again(
    void **state)
{
    enum { CALLS = 11, PASSED = 20000 };
    static const struct {
        const char *open;
        int other;
    } rows[] = {{"open m", 950}, {"open b", 800}, {"open p", 800}};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        long long all = 0, looks = 0, again;
        int calls = 0;

        send_a_key(fixture, rows[i].open, PASSED, rows[i].other);
        while (number(fixture, "ZCARD prepare{x}") < 2) {
            assert_in_range(++calls, 1, CALLS);
            script_table_call(fixture, "redis CONFIG RESETSTAT");
            script_table_call(fixture, "consume 1 n=5 passes=1:k");
            all += microseconds(fixture);
            looks = calls == 1 ? ranges(fixture) : looks;
        }
        assert_int_equal(calls, CALLS);
        script_table_call(fixture, "redis CONFIG RESETSTAT");
        script_table_call(fixture, "consume 1 n=5 last=1 passes=1:k");
        again = microseconds(fixture);
        print_message("%s: %lld us for 2,000 that are passed over, %lld us behind all\n",
                      rows[i].open, all / CALLS, again);
        assert_true(ranges(fixture) < looks); /* it begins behind them */
        fixture_flush(fixture);
    }
}

/* Rests of a thousand keys: what a call reads does not grow further. */
static void test_a_slot_of_a_thousand_rests_claims_others_one_at_a_time(void **state)
{
    static const struct script_row rows[] = {
        {"consume 1", "OK 1000 7000 1 '' 0 5001c1:a 0 900 ''"},
        {"consume 1 last=1", "OK 1000 7000 1 '' 0"},
        {"consume 1 last=1 done 5001c1:a", "OK 1000 7000 2 1 0 5002c2:b 0 900 ''"},
        {"at 7000", ""}, /* the first rest has ended, which came before them */
        {"consume 1 last=2", "OK 7000 31000 3 '' 0 1c3:o1 2 900 ''"},
    };
    struct fixture *fixture = *state;

    script_table_call(fixture, "open f keyed");
    script_table_call(fixture, "takeover 1");
    script_table_call(fixture, "at 1000");
    evaluate(fixture,
             "local function body(name) "
             "redis.call('HSET', KEYS[6], 'h' .. name, '900', 'b' .. name, '') end "
             "for j = 1, 1000 do body('o' .. j) redis.call('ZADD', KEYS[2], "
             "17592186044416 + (j == 1 and 7000 or 90000) + 2 / 128, j .. 'r1:o' .. j) end "
             "body('a') body('b') redis.call('ZADD', KEYS[1], 5001, 'a', 5002, 'b')");
    SCRIPT_TABLE(state, rows);
    fixture_flush(fixture);
}

/* A call does not read the keys of more claims than that. */
static void test_five_thousand_claims_of_a_former_owner_keep_the_slot(void **state)
{
    static const struct script_row rows[] = {
        {"takeover 2 mode=strict", "OK 1 0 0"},
        {"send a +0", "OK a"},
        {"consume 2 last=1 flags=w", "OK 1000 9000 1 '' 0"},
        {"redis ZREM prepare{x} 1c1:m1", "1"},
        {"consume 2 last=1 flags=w", "OK 1000 9000 2 '' 0 1000c2:a 0"},
    };
    struct fixture *fixture = *state;

    script_table_call(fixture, "open m");
    script_table_call(fixture, "takeover 1");
    script_table_call(fixture, "at 1000");
    evaluate(fixture, "for j = 1, 5000 do redis.call('ZADD', KEYS[2], 9000, '1c1:m' .. j) end "
                      "redis.call('HSET', KEYS[5], 'claims', 1)");
    SCRIPT_TABLE(state, rows);
    script_table_call(fixture, "redis CONFIG RESETSTAT");
    script_table_call(fixture, "consume 2 last=2 flags=w");
    print_message("%lld us beside 4,999\n", microseconds(fixture));
    fixture_flush(fixture);
}

TEST_GROUP(bounds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_five_thousand_claims_of_a_former_owner_keep_the_slot),
        cmocka_unit_test(test_one_claim_of_which_all_bodies_were_replaced_by_large_ones),
        cmocka_unit_test(test_a_lost_reply_does_not_look_through_what_is_in_flight),
        cmocka_unit_test(test_a_call_looks_at_a_thousand_that_are_held_and_none_at_them_again),
        cmocka_unit_test(
            test_a_call_looks_at_two_thousand_that_are_passed_over_and_none_at_them_again),
        cmocka_unit_test(test_a_slot_of_a_thousand_rests_claims_others_one_at_a_time),
        cmocka_unit_test(test_expired_messages_take_few_calls_when_one_is_asked_for),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
