/* test_faults.c - the faults that a queue must stand, each as the calls in which it happens. */
#include <stdio.h>
#include <string.h>

#include "script_table.h"
#include "support/group.h"

static void test_a_lost_reply_of_consume_with_the_same_message_sent_again(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL}, /* its reply is lost */
        {"send a +0", "OK a"},
        /* the first again, not the second: one at a time */
        {"consume 1", "OK 1000 1000 1 '' 1 1000c1:a 0"},
        {"consume 1 last=1 done 1000c1:a", "OK 1000 31000 2 1 0 1000c2:a 0"},
        {"consume 1 last=2 done 1000c2:a", "OK 1000 '' 2 1 0"},
        {"field done", "2"},
        {"field retried", "nil"},
        {"field lease_lost", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_lost_reply_of_a_consume_that_settled(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 1 n=1", NULL},
        {"consume 1 n=1 last=1 retry 1000c1:a 0 why", NULL}, /* lost */
        {"consume 1 n=1 last=1 retry 1000c1:a 0 why", "OK 1000 1000 2 0 1 1000c2:b 0"},
        {"store", "a@1000~1"},
        {"field retried", "1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_late_doubled_takeover(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 1 n=1", NULL},
        {"takeover 2", "OK 1 1 0"},
        {"consume 2 last=1", "OK 1000 31000 2 '' 0 1000c2:b 0"},
        /* its own claims stay in flight */
        {"takeover 2", "OK 1 0 0"},
        {"prepare", "1000c2:b@31000"},
        {"field base", "1"},
        {"takeover 1 owner=old", "FENCED 000000010000000000000002"},
        {"consume 2 last=2 done 1000c2:b", "OK 1000 31000 3 1 0 1000c3:a 1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_late_settle_after_the_slot_changed_hands(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"takeover 2", "OK 1 1 0"},
        {"consume 1 n=0 last=1 done 1000c1:a", "FENCED 000000010000000000000002"},
        {"consume 2 last=1", "OK 1000 31000 2 '' 0 1000c2:a 1"},
        {"consume 1 n=0 last=1 done 1000c1:a", "FENCED 000000010000000000000002"},
        {"consume 1 n=0 last=1 done 1000c2:a", "FENCED 000000010000000000000002"},
        {"renew 1 1000c2:a", "FENCED 000000010000000000000002"},
        {"prepare", "1000c2:a@31000~0s"},
        {"field done", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_owners_own_lease_lapsed_during_an_outage(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 1 n=1", NULL},
        {"at 9000000", ""},
        {"send a +0", "OK a"},
        {"consume 1 last=1 done 1000c1:a", "OK 9000000 9030000 2 1 0 1000c2:b 0 9000000c2:a 0"},
        {"at 99000000", ""},
        {"renew 1 1000c2:b", "OK 99000000 1"},
        {"consume 1 last=2 done 9000000c2:a done 1000c2:b", "OK 99000000 '' 2 11 0"},
        {"field lease_lost", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_clock_jumps(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000000", ""},
        {"send a 0 b 0", "OK aa"},
        {"consume 1 n=1", NULL},
        {"at 1000", ""}, /* back */
        {"consume 1 last=1", "OK 1000 1000000 1 '' 0"},
        {"renew 1 1000000c1:a", "OK 1000 1"},
        {"at 88000000", ""},
        {"consume 1 last=1 done 1000000c1:a", "OK 88000000 88030000 2 1 0 1000000c2:b 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_send_with_an_old_stamp_after_the_topic_was_deleted(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"slot_seal 1", "OK"},
        {"slot_clear 1000", "OK 0"},
        {"send a +0", "NO_TOPIC"},
        {"store", ""},
        {"redis EXISTS x slot{x}", "2"},
        /* created anew, with other slots or another type */
        {"slot_open def=m.1 t 0 gen=2 deletes=1", "OK 0"},
        {"send a +0", "STALE"},
        {"store", ""},
        {"consume 1", "STALE"},
        {"takeover 1", "STALE"},
        {"slot_seal 1", "GONE"},
        {"slot_unseal", "GONE"},
        {"slot_clear 1000", "IN_USE"},
        {"slot_open m 0", "GONE"},
        {"send a 5 def=m.1", "OK a"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_message_that_kills_its_process_is_dead_after_18_deliveries(void **state)
{
    static const struct script_row before[] = {
        {"open b", "OK"},
        {"send killer 5", "OK a"},
    };
    /* clang-format off */
    static const struct script_row after[] = {
        {"takeover 19", "OK 18 1 0"},
        {"store", ""},
        {"prepare", ""},
        {"dead", "5d:killer@1000~16s"},
        {"why", NULL},
        {"field lease_lost", "18"},
    };
    /* clang-format on */
    struct fixture *fixture = *state;
    char line[128], expected[128];
    struct script_row kill[] = {{line, NULL}, {line, NULL}};

    SCRIPT_TABLE(state, before);
    for (int i = 1; i <= 18; i++) {
        int attempts = i == 1 ? 0 : 2 * (i - 2) + 1;

        snprintf(line, sizeof(line), "takeover %d", i);
        script_table_run(fixture, kill, 1);
        snprintf(line, sizeof(line), "consume %d n=1 last=%d", i, i - 1);
        snprintf(expected, sizeof(expected), "OK 1000 31000 %d '' 0 5c%d:killer %d", i, i,
                 attempts);
        kill[1].expected = expected;
        script_table_run(fixture, kill + 1, 1);
    }
    SCRIPT_TABLE(state, after);
}

/* It was claimed together with others: they are delivered again, too, and are done. */
static void test_a_killer_does_not_take_its_neighbours_along(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", NULL},
        {"send a 9 killer 5 z 1", "OK aaa"},
        {"consume 1", NULL},
        {"takeover 2", "OK 1 3 0"},
        {"consume 2 last=1 max=1", "OK 1000 31000 2 '' 0 9c2:a 1"},
        {"consume 2 last=2 max=1 done 9c2:a", "OK 1000 31000 3 1 0 5c3:killer 1"},
        {"takeover 3 max=1", "OK 3 1 0"},
        {"consume 3 last=3 max=1", "OK 1000 31000 4 '' 0 5c4:killer 3"},
        {"takeover 4 max=1", "OK 4 1 0"},
        {"dead", "5d:killer@1000~1s"},
        {"consume 4 last=4 max=1", "OK 1000 31000 5 '' 0 1c5:z 1"},
        {"consume 4 last=5 max=1 done 1c5:z", "OK 1000 '' 5 1 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_killer_that_is_sent_again_each_time_is_dead_after_its_retries(void **state)
{
    static const struct script_row before[] = {
        {"open b", "OK"},
        {"send killer 5", "OK a"},
    };
    /* clang-format off */
    static const struct script_row after[] = {
        {"dead", ""},
        {"takeover 19", "OK 18 1 0"},
        {"dead", "5d:killer@1000~16s"},
        {"store", "killer@5"}, /* the one sent last is a new message */
        {"field merged", "17"},
    };
    /* clang-format on */
    struct fixture *fixture = *state;
    char line[128];
    struct script_row lines[] = {{line, NULL}};

    SCRIPT_TABLE(state, before);
    for (int i = 1; i <= 18; i++) {
        snprintf(line, sizeof(line), "takeover %d", i);
        script_table_run(fixture, lines, 1);
        snprintf(line, sizeof(line), "consume %d n=1 last=%d", i, i - 1);
        script_table_run(fixture, lines, 1);
        snprintf(line, sizeof(line), "send killer 5");
        script_table_run(fixture, lines, 1);
    }
    SCRIPT_TABLE(state, after);
}

/* What a takeover reads must not grow with what rests: bounded by what it gives back. */
static void test_half_a_million_resting_messages_at_a_takeover(void **state)
{
    /* clang-format off */
    static const struct script_row before[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 1", NULL},
    };
    /* clang-format on */
    static const struct script_row after[] = {
        {"redis CONFIG RESETSTAT", "OK"},
        {"takeover 2 limit=1", "OK 1 1 1"},
        {"takeover 2 limit=1", "OK 1 1 0"},
        {"redis ZCARD prepare{x}", "500001"},
        {"consume 2 last=1", "OK 1000 10001 2 '' 0 1000c2:a 1"},
        {"at 20000", ""},
        {"consume 2 last=2 n=0", NULL},
        {"redis ZCARD prepare{x}", "499002"}, /* 1,000 of 10,000 that have ended */
        {"takeover 3 limit=1000", "OK 2 1 0"},
        {"redis ZCARD prepare{x}", "499001"},
    };
    struct fixture *fixture = *state;
    redisReply *reply;

    SCRIPT_TABLE(state, before);
    reply = redisCommand(fixture->redis, "EVAL %s 1 prepare{x}",
                         "for i = 1, 500000 do redis.call('ZADD', KEYS[1], 17592186054416 + i, "
                         "'7r1:m' .. i) end return 'made'");
    assert_string_equal(reply->str, "made");
    freeReplyObject(reply);
    SCRIPT_TABLE(state, after);
    fixture_flush(fixture);
}

static void test_a_wake_up_that_overtakes_the_parking_reply(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {"send a +0 b +0", "OK aa"},
        {"send c +0", "OK a"},
        {"woken", "1"},
        {"consume 1", "OK 1000 31000 1 '' 0 1000c1:a 0 1000c1:b 0 1000c1:c 0"},
        {"send d +0", "OK a"},
        {"woken", "0"},
        {"deaf", ""},
    };

    /* The send runs between the consume and its reply: the wake-up is there before the owner
     * knows that it sleeps, and it is there only once. */
    SCRIPT_TABLE(state, rows);
}

static void test_a_late_consume_claims_and_the_next_finds_out(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"consume 1", "OK 1000 '' 0 '' 0"}, /* after its time-out the owner asked again */
        {"send a +0", "OK a"},
        {"consume 1", NULL}, /* the late one */
        {"consume 1", "OK 1000 31000 1 '' 1 1000c1:a 0"},
        {"consume 1 last=0", "OK 1000 31000 1 '' 1 1000c1:a 0"}, /* a late one again */
        {"consume 1 last=1 done 1000c1:a", "OK 1000 '' 1 1 0"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(faults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lost_reply_of_consume_with_the_same_message_sent_again),
        cmocka_unit_test(test_a_lost_reply_of_a_consume_that_settled),
        cmocka_unit_test(test_a_late_doubled_takeover),
        cmocka_unit_test(test_a_late_settle_after_the_slot_changed_hands),
        cmocka_unit_test(test_the_owners_own_lease_lapsed_during_an_outage),
        cmocka_unit_test(test_the_clock_jumps),
        cmocka_unit_test(test_a_send_with_an_old_stamp_after_the_topic_was_deleted),
        cmocka_unit_test(test_a_message_that_kills_its_process_is_dead_after_18_deliveries),
        cmocka_unit_test(test_a_killer_does_not_take_its_neighbours_along),
        cmocka_unit_test(test_a_killer_that_is_sent_again_each_time_is_dead_after_its_retries),
        cmocka_unit_test(test_half_a_million_resting_messages_at_a_takeover),
        cmocka_unit_test(test_a_wake_up_that_overtakes_the_parking_reply),
        cmocka_unit_test(test_a_late_consume_claims_and_the_next_finds_out),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
