/* test_takeover.c - the takeover script: a new owner, and what the old one had claimed. */
#include "script_table.h"
#include "support/group.h"

#define ID                 "0000000003e80000000000000000000"
#define WHOLE(limit, last) "!w" limit ",,1:k" ID last

static void test_the_first_owner(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 7 owner=host-1", "OK 0 0 0"},
        {"field token", "000000010000000000000007"},
        {"field owner", "host-1"},
        {"field base", "0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_claims_come_back_as_suspects(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 900 a 901.015625 b", "2"}, /* b: one retry used */
        {"consume 1", NULL},
        {"send c 0 a 950", "OK aa"},
        {"takeover 2", "OK 1 2 0"},
        {"store", "b@901~1s c@1000 a@1000~0s"}, /* a joined the new one */
        {"prepare", ""},
        {"field base", "1"},
        {"field lease_lost", "2"},
        {"field merged", "1"},
        {"consume 2 last=1", "OK 1000 31000 2 '' 0 901c2:b 3"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_suspect_uses_a_retry_and_dies_without_one(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD x 5.0078125 a", "1"},
        {"consume 1", "OK 1000 31000 1 '' 0 5c1:a 1"},
        {"takeover 2 max=1", "OK 1 1 0"},
        {"store", "a@5~1s"},
        {"consume 2 last=1", "OK 1000 31000 2 '' 0 5c2:a 3"},
        {"takeover 3 max=1", "OK 2 1 0"},
        {"store", ""},
        {"prepare", ""},
        {"dead", "5d:a@1000~1s"},
        {"redis HGET why{x} 5d:a", "its process died or hung|l1000|l1000:|l:"},
        {"field lease_lost", "2"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_resting_messages_are_left_alone(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 500 why", NULL},
        {"takeover 2", "OK 1 0 0"},
        {"prepare", "1000r1:a@17592186045916~1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_gives_back_in_steps(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0", "OK aaa"},
        {"consume 1", NULL},
        {"takeover 2 limit=2", "OK 1 2 1"},
        {"prepare", "1000c1:c@31000"},
        {"takeover 2 limit=2", "OK 1 1 0"},
        {"takeover 2 limit=2", "OK 1 0 0"},
        {"store", "a@1000~0s b@1000~0s c@1000~0s"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A whole message has its limit in its member; dead, it has the member of all others. */
static void test_a_whole_message_has_its_own_limit(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"whole " WHOLE("0", "a") " +0 " WHOLE("", "b") " +0", "OK aa"},
        {"consume 1", NULL},
        {"takeover 2", "OK 1 2 0"},
        {"store", WHOLE("", "b") "@1000~0s " WHOLE("0", "a") "@1000~0s"},
        {"consume 2 last=1 n=1", NULL},
        {"takeover 3", "OK 2 1 0"},
        {"consume 3 last=2 n=1", "OK 1000 31000 3 '' 0 1000c3:" WHOLE("0", "a") " 1 '' ''"},
        {"takeover 4", "OK 3 1 0"},
        {"store", WHOLE("", "b") "@1000~1s"},
        {"dead", "1000d:!1:k" ID "a@1000~0s"},
        {"why", "1000d:!1:k" ID "a=its process died or hung|l1000|l: B1000d:!1:k" ID
                "a= H1000d:!1:k" ID "a=1000,0,,1 R" WHOLE("", "b") "=|l1000|l:"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Its key is in its member. */
static void test_strict_keeps_the_key_of_a_whole_message(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"whole " WHOLE("", "a") " +0", "OK a"},
        {"consume 1", NULL},
        {"takeover 2 mode=strict", "OK 1 0 0"},
        {"send !1:kc +0 c '' '' d +0 d '' ''", "OK aa"},
        {"consume 2 last=1 flags=w", "OK 1000 31000 2 '' 0 1000c2:d 0 1000 d"},
        {"store", "!1:kc@1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_strict_waits_for_the_leases(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"takeover 2 mode=strict", "OK 1 0 0"},
        {"send b +0", "OK a"},
        {"consume 2 last=1", "OK 1000 31000 2 '' 0 1000c2:b 0"},
        {"at 30999", ""},
        {"renew 2 1000c2:b", "OK 30999 1"},
        {"consume 2 last=2", "OK 30999 31000 2 '' 0"},
        {"field parked", "31000"},
        {"at 31000", ""},
        {"consume 2 last=2", "OK 31000 60999 2 '' 0"}, /* a suspect waits for b */
        {"store", "a@1000~0s"},
        {"consume 2 last=2 done 1000c2:b", "OK 31000 61000 3 1 0 1000c3:a 1"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Inline without a key the body is the key.  No send may claim in the meantime. */
static void test_strict_keeps_the_keys_of_what_is_claimed(void **state)
{
    static const struct script_row rows[] = {
        {"listen", ""},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"heard", NULL},
        {"takeover 2 mode=strict", "OK 1 0 0"},
        {"field former", "31000"},
        {"at 2000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 2 last=1 flags=w", "OK 2000 31000 2 '' 0 2000c2:b 0"},
        {"consume 2 last=2 flags=w open=1 done 2000c2:b", "OK 2000 31000 2 1 0"},
        {"field parked", "31000"},
        {"send c +0", "OK a"},
        {"heard", "''"},
        {"store", "a@2000 c@2000"},
        {"at 31000", ""},
        {"consume 2 last=2 flags=w open=1", "OK 31000 61000 3 '' 0 1000c3:a 1"},
        {"field former", "nil"},
        {"consume 2 last=3 flags=w open=1 done 1000c3:a", "OK 31000 61000 4 1 0 2000c4:c 0"},
        {"consume 2 last=4 flags=w open=1", "OK 31000 61000 4 '' 0"},
        {"field parked", "61000/30000"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_a_strict_owner_leaves_unclaimed_keeps_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 1", NULL},
        {"takeover 2 mode=strict", "OK 1 0 0"},
        {"consume 2 last=1 flags=w open=1", "OK 1000 31000 1 '' 0"},
        {"field parked", "31000"},
        {"at 31000", ""},
        {"consume 2 last=1 flags=w", "OK 31000 61000 2 '' 0 1000c2:a 1"},
        {"consume 2 last=2 flags=w done 1000c2:a", "OK 31000 '' 2 1 0"},
        {"send b +0", "OK a"},
        {"takeover 3 mode=strict", "OK 2 0 0"},
        {"field former", "nil"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_smaller_token_is_refused(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 5", "OK 0 0 0"},
        {"takeover 4 owner=late", "FENCED 000000010000000000000005"},
        {"takeover 000000000000000000000000 owner=nobody", "FENCED 000000010000000000000005"},
        {"field token", "000000010000000000000005"},
        {"field owner", "me"},
        {"takeover 000000020000000000000001", "OK 0 0 0"},
        {"takeover 00000001ffffffffffffffff", "FENCED 000000020000000000000001"},
        {"takeover 000000020000000100000000", "OK 0 0 0"},
        {"takeover 0000000200000000ffffffff", "FENCED 000000020000000100000000"},
        {"takeover ffffffffffffffffffffffff", "OK 0 0 0"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Redis lost what made the tokens differ: one of two owners must get another token. */
static void test_an_equal_token_of_another_owner_is_refused(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 5 owner=host-1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0", "OK a"},
        {"consume 5", NULL},
        {"takeover 5 owner=host-2", "FENCED 000000010000000000000005"},
        {"field owner", "host-1"},
        {"prepare", "1000c1:a@31000"},
        {"takeover 5 owner=host-1", "OK 0 0 0"},
        {"takeover 6 owner=host-2", "OK 1 1 0"},
        {"field owner", "host-2"},
    };

    SCRIPT_TABLE(state, rows);
}

/* So WAIT after the repeat is a WAIT for the first call: without a write it would wait for nothing.
 * EXEC answers nil when a watched key was written to. */
static void test_a_repeat_is_a_write(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 5", "OK 0 0 0"},
        {"redis WATCH slot{x}", "OK"},
        {"takeover 5", "OK 0 0 0"},
        {"redis MULTI", "OK"},
        {"redis EXEC", "nil"},
        {"redis WATCH slot{x}", "OK"},
        {"takeover 4", "FENCED 000000010000000000000005"},
        {"redis MULTI", "OK"},
        {"redis EXEC", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_nobody_is_no_owner(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 000000000000000000000000", "FENCED 000000000000000000000000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_shared_slots_have_no_owner(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"takeover 1", "FENCED shared"},
        {"field token", "shared"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_stale_and_no_topic_write_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1 def=o.1", "STALE"},
        {"slot_seal 1", "OK"},
        {"takeover 1", "NO_TOPIC"},
        {"field token", "000000000000000000000000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* What was bound later has a larger generation: that of the token, or of the topic that was bound
 * to something else. */
static void test_the_slot_is_told_what_the_topic_is_bound_to(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"field bound", "nil"},
        {"takeover 5 coord=a", "OK 0 0 0"},
        {"field bound", "1 a"},
        {"takeover 4 coord=b", "FENCED 000000010000000000000005"},
        {"takeover 5 coord=b", "OK 0 0 0"},
        {"field bound", "1 a"},
        {"takeover 6 coord=b", "OK 0 0 0"},
        {"field bound", "1 b"},
        {"slot_bind 7 c", "OK"},
        {"takeover 000000060000000000000001 coord=b", "OK 0 0 0"},
        {"field bound", "7 c"},
        {"takeover 000000070000000000000001 coord=d", "OK 0 0 0"},
        {"field bound", "7 d"},
        {"takeover ffffffff0000000000000001 coord=e", "OK 0 0 0"},
        {"field bound", "4294967295 e"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_repairs_sentinels(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"redis DEL x prepare{x} dead{x} why{x}", "4"},
        {"takeover 1", "OK 0 0 0"},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(takeover)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_owner),
        cmocka_unit_test(test_claims_come_back_as_suspects),
        cmocka_unit_test(test_a_suspect_uses_a_retry_and_dies_without_one),
        cmocka_unit_test(test_resting_messages_are_left_alone),
        cmocka_unit_test(test_gives_back_in_steps),
        cmocka_unit_test(test_a_whole_message_has_its_own_limit),
        cmocka_unit_test(test_strict_keeps_the_key_of_a_whole_message),
        cmocka_unit_test(test_strict_waits_for_the_leases),
        cmocka_unit_test(test_strict_keeps_the_keys_of_what_is_claimed),
        cmocka_unit_test(test_what_a_strict_owner_leaves_unclaimed_keeps_nothing),
        cmocka_unit_test(test_a_smaller_token_is_refused),
        cmocka_unit_test(test_an_equal_token_of_another_owner_is_refused),
        cmocka_unit_test(test_a_repeat_is_a_write),
        cmocka_unit_test(test_nobody_is_no_owner),
        cmocka_unit_test(test_shared_slots_have_no_owner),
        cmocka_unit_test(test_stale_and_no_topic_write_nothing),
        cmocka_unit_test(test_the_slot_is_told_what_the_topic_is_bound_to),
        cmocka_unit_test(test_repairs_sentinels),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
