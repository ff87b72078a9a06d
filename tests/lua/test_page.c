/* test_page.c - the page script: messages of one state in the order of consumption. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_table.h"
#include "support/group.h"

#define TOKEN "000000010000000000000001"
#define HEAD  TOKEN " me 0 ''"

static void test_waiting_by_time(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"page w", "OK 1000 " HEAD " 0 '' ''"},
        {"send c 3000 a 2000 b 2000", "OK aaa"},
        {"page w", "OK 1000 " HEAD " 0 3000 c a 2000 '' b 2000 '' c 3000 ''"},
        {"page w limit=2", "OK 1000 " HEAD " 1 2000 b a 2000 '' b 2000 ''"},
        {"page w 2000 b limit=2", "OK 1000 " HEAD " 0 3000 c c 3000 ''"},
        {"page w 3000 c", "OK 1000 " HEAD " 0 3000 c"},
        {"page w limit=0", "OK 1000 " HEAD " 1 '' ''"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_waiting_by_priority(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"send a 1 b 2 c 2 d -3", "OK aaaa"},
        {"page w", "OK 1000 " HEAD " 0 -3 d c 2 '' b 2 '' a 1 '' d -3 ''"},
        {"page w limit=1", "OK 1000 " HEAD " 1 2 c c 2 ''"},
        {"page w 2 c limit=2", "OK 1000 " HEAD " 1 1 a b 2 '' a 1 ''"},
        {"page w -3 d", "OK 1000 " HEAD " 0 -3 d"},
    };

    SCRIPT_TABLE(state, rows);
}

/* The last one seen is gone, or has moved: it continues where that was. */
static void test_goes_on_behind_what_is_gone(void **state)
{
    static const struct script_row before[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"redis ZADD x 5 a 5 b 5 bb 5 c 6 d 7 e", "6"},
        {"page w 5 b limit=1", "OK 1000 " HEAD " 1 5 bb bb 5 ''"},
        {"page w 5 ba limit=1", "OK 1000 " HEAD " 1 5 bb bb 5 ''"},
        {"page w 5 bbb limit=1", "OK 1000 " HEAD " 1 5 c c 5 ''"},
        {"page w 5 z limit=1", "OK 1000 " HEAD " 1 6 d d 6 ''"},
        {"page w 4 z limit=1", "OK 1000 " HEAD " 1 5 a a 5 ''"},
        {"page w 8 a limit=1", "OK 1000 " HEAD " 0 8 a"},
        {"redis ZADD x 9 b", "0"},
        {"page w 5 b limit=1", "OK 1000 " HEAD " 1 5 bb bb 5 ''"},
    };
    static const struct script_row after[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"redis ZADD x 5 a 5 b 5 bb 5 c 6 d 7 e", "6"},
        {"page w 5 bbb limit=1", "OK 1000 " HEAD " 1 5 bb bb 5 ''"},
        {"page w 5 ba limit=1", "OK 1000 " HEAD " 1 5 b b 5 ''"},
        {"page w 6 a limit=1", "OK 1000 " HEAD " 1 5 c c 5 ''"},
        {"page w 5 0 limit=1", "OK 1000 " HEAD " 0 5 0"},
    };

    SCRIPT_TABLE(state, before);
    SCRIPT_TABLE(state, after);
}

static void test_claimed_and_resting(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0 c +0 d +0", "OK aaaa"},
        {"consume 1 n=4", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:b 50 no retry 1000c1:d 20 no", NULL},
        {"page w", "OK 1000 " HEAD " 0 '' ''"},
        {"page c", "OK 1000 " HEAD " 0 31000 1000c1:c 1000c1:a 31000 '' 1000c1:c 31000 ''"},
        {"page r", "OK 1000 " HEAD " 0 17592186045466.016 1000r1:b 1000r1:d 17592186045436.016 "
                   "no|t1000 1000r1:b 17592186045466.016 no|t1000"},
        {"page c 31000 1000c1:c", "OK 1000 " HEAD " 0 31000 1000c1:c"},
        {"page r 31000 1000c1:c limit=1",
         "OK 1000 " HEAD " 1 17592186045436.016 1000r1:d 1000r1:d 17592186045436.016 no|t1000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* What is noted is shown with its message alone; the owner and its first claim always are. */
static void test_the_oldest_claim_has_its_note(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 b +0", "OK aa"},
        {"consume 1 n=2", NULL},
        {"renew 1 age=400 oldest=1000c1:a 1000c1:a", "OK 1000 1"},
        {"page c limit=1",
         "OK 1000 " TOKEN " me 0 600 me 1000c1:a 1 31000 1000c1:a 1000c1:a 31000 ''"},
        {"page c member=b", "OK 1000 " HEAD " 0 31000 1000c1:b 1000c1:b 31000 ''"},
        {"find a", "OK 1000 " TOKEN " me 0 600 me 1000c1:a c 1000c1:a 31000 ''"},
        {"find b", "OK 1000 " HEAD " c 1000c1:b 31000 ''"},
        {"takeover 2 mode=strict owner=you", "OK 1 0 0"},
        {"page c limit=1",
         "OK 1000 000000010000000000000002 you 1 600 me 1000c1:a 1 31000 1000c1:a "
         "1000c1:a 31000 ''"},
        {"redis HSET slot{x} oldest 1000c1:a", "0"},
        {"find a", "OK 1000 000000010000000000000002 you 1 '' c 1000c1:a 31000 ''"},
        {"redis HDEL slot{x} oldest owner", "2"},
        {"find a", "OK 1000 000000010000000000000002 '' 1 '' c 1000c1:a 31000 ''"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_dead_with_reasons(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send c +0 b +0 a +0", "OK aaa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 reject 1000c1:c first", NULL},
        {"at 2000", ""},
        {"consume 1 n=0 last=1 reject 1000c1:a second reject 1000c1:b third", NULL},
        {"page d limit=2",
         "OK 2000 " HEAD " 1 2000 1000d:a 1000d:c 1000 first|x1000 1000d:a 2000 second|x2000"},
        {"page d 2000 1000d:a limit=2", "OK 2000 " HEAD " 0 2000 1000d:b 1000d:b 2000 third|x2000"},
        {"page d reason=ir limit=2", "OK 2000 " HEAD " 1 2000 1000d:a 1000d:c 1000 first|x1000"},
        {"page d reason=ir exact=1", "OK 2000 " HEAD " 0 2000 1000d:b"},
        {"page d reason=third exact=1", "OK 2000 " HEAD " 0 2000 1000d:b 1000d:b 2000 third|x2000"},
        {"page d exact=1", "OK 2000 " HEAD " 0 2000 1000d:b"},
        {"page d member=b", "OK 2000 " HEAD " 0 2000 1000d:b 1000d:b 2000 third|x2000"},
        {"redis HDEL why{x} 1000d:c", "1"},
        {"page d limit=1", "OK 2000 " HEAD " 1 1000 1000d:c 1000d:c 1000 ''"},
        {"page d exact=1", "OK 2000 " HEAD " 0 2000 1000d:b 1000d:c 1000 ''"},
        {"page d older=1000", "OK 2000 " HEAD " 0 1000 1000d:c 1000d:c 1000 ''"},
        {"page d older=1001", "OK 2000 " HEAD " 0 '' ''"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_filters(void **state)
{
    static const struct script_row before[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send order-1 500 order-2 1500 %d+ 1700 other 1800", "OK aaaa"},
        {"page w contains=der-", "OK 1000 " HEAD " 0 1800 other order-1 1000 '' order-2 1500 ''"},
        {"page w contains=%d", "OK 1000 " HEAD " 0 1800 other %d+ 1700 ''"},
        {"page w contains=der- limit=1", "OK 1000 " HEAD " 1 1000 order-1 order-1 1000 ''"},
        {"page w reason=x", "OK 1000 " HEAD " 0 1800 other"},
        {"page w member=other", "OK 1000 " HEAD " 0 '' '' other 1800 ''"},
        {"page w 1800 other member=other", "OK 1000 " HEAD " 0 1800 other"},
        {"page w member=othe", "OK 1000 " HEAD " 0 '' ''"},
        {"at 1600", ""},
        {"page w older=100", "OK 1600 " HEAD " 0 1500 order-2 order-1 1000 '' order-2 1500 ''"},
        {"page w older=600 contains=2", "OK 1600 " HEAD " 0 1000 order-1"},
    };
    static const struct script_row after[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"redis ZADD prepare{x} 31000 900c1:a 31000 300c1:b 32000 100c2:c", "3"},
        {"page c older=500", "OK 1000 " HEAD " 0 32000 100c2:c 300c1:b 31000 '' 100c2:c 32000 ''"},
        {"open b", "OK"},
        {"send a 5", "OK a"},
        {"page w older=0", "OK 1000 000000000000000000000000 '' 0 '' 0 5 a"},
    };

    SCRIPT_TABLE(state, before);
    /* claimed and resting ones are not in the order of their times; priorities have none */
    SCRIPT_TABLE(state, after);
}

/* Header and body of a dead letter are its own. */
static void test_keyed(void **state)
{
    static const struct script_row before[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 body-a 3 500 b +0 body-b '' '' c +9 '' '' ''", "OK aaa"},
        {"page w", "OK 1000 " HEAD " 0 1009 c a 1000 '' 1000,3,1500,1 body-a"
                   " b 1000 '' 1000 body-b c 1009 '' 1000 ''"},
        {"page w bodies=0 limit=1", "OK 1000 " HEAD " 1 1000 a a 1000 '' 1000,3,1500,1 ''"},
        {"page w contains=dy-b bodies=0", "OK 1000 " HEAD " 0 1009 c b 1000 '' 1000 ''"},
        {"page w member=c", "OK 1000 " HEAD " 0 '' '' c 1009 '' 1000 ''"},
        {"page w contains=c", "OK 1000 " HEAD " 0 1009 c c 1009 '' 1000 ''"},
        {"page w bytes=7", "OK 1000 " HEAD " 1 1000 a a 1000 '' 1000,3,1500,1 body-a"},
        {"consume 1 n=2", NULL},
        {"page c", "OK 1000 " HEAD " 0 31000 1000c1:b 1000c1:a 31000 '' 1000,3,1500,1 body-a"
                   " 1000c1:b 31000 '' 1000 body-b"},
        {"consume 1 n=0 last=1 reject 1000c1:a bad", NULL},
        {"send a +5 new '' ''", "OK a"},
        {"page d", "OK 1000 " HEAD " 0 1000 1000d:a 1000d:a 1000 bad|x1000 1000,3,1500,1 body-a"},
        {"page d contains=new", "OK 1000 " HEAD " 0 1000 1000d:a"},
        {"redis HDEL body{x} ba ha", "2"},
        {"page w member=a", "OK 1000 " HEAD " 0 '' '' a 1005 '' '' ''"},
    };
    static const struct script_row after[] = {
        {"open b keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 5 '' '' ''", "OK a"},
        {"at 1500", ""},
        {"send b 4 '' '' ''", "OK a"},
        {"page w older=100", "OK 1500 " HEAD " 0 4 b a 5 '' 1000 ''"},
    };

    SCRIPT_TABLE(state, before);
    /* what has no time of its own is as old as its first send */
    SCRIPT_TABLE(state, after);
}

/* A text is looked for in key and id, each by itself. */
static void test_text_in_key_and_id(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
    };
    struct fixture *fixture = *state;
    static const struct {
        const char *contains;
        bool found;
    } cases[] = {{"key", true}, {"the-id", true}, {"yt", false}, {"5:", false}, {"t", true}};

    SCRIPT_TABLE(state, rows);
    freeReplyObject(redisCommand(fixture->redis, "ZADD x 1000 %b",
                                 "\0"
                                 "5:a-keythe-id",
                                 (size_t) 14));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const fixed[] = {"n.1", "m", "w", "", "", "9", "9", "0", "", cases[i].contains,
                                     "",    "0", "",  ""};
        struct args args = {0};
        redisReply *reply;

        for (size_t j = 0; j < sizeof(fixed) / sizeof(fixed[0]); j++) {
            args_add(&args, fixed[j]);
        }
        reply = fixture_call(fixture, fixture_script("page"), &args);
        args_clear(&args);
        assert_int_equal(reply->elements, cases[i].found ? 14 : 9);
        freeReplyObject(reply);
    }
}

/* The stored text of a message is "a" NUL "1:x" "b" NUL "4:2:xy" and its body. */
static void test_header_and_body_are_told_apart(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"redis HSET body{x} hm 1000,2/12,,1", "1"},
    };
    static const struct {
        const char *header;
        size_t len;
        const char *contains;
        bool found;
    } cases[] = {
        {"a\0001:x", 5, "", true},      {"b\0004:2:xy", 8, "", false},
        {"b\0003:2:x", 7, "", true},    {"a\0001:y", 5, "", false},
        {"2\0001:x", 5, "", false},     {"y\0001:x", 5, "", false},
        {"a\0001:x", 5, "body", true},  {"a\0001:x", 5, "2:x", false},
        {"c\0001:x", 5, "body", false}, {"", 0, "body", true},
        {"", 0, "2:x", false},          {"", 0, "y-body", false},
    };
    struct fixture *fixture = *state;

    SCRIPT_TABLE(state, rows);
    freeReplyObject(redisCommand(fixture->redis, "ZADD x 1000 m"));
    freeReplyObject(redisCommand(fixture->redis, "HSET body{x} bm %b", "a\0001:xb\0003:2:xthe-body",
                                 (size_t) 20));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const fixed[] = {
            "n.1", "m", "w", "", "", "9", "999", "0", "", cases[i].contains, "", "0"};
        struct args args = {0};
        redisReply *reply;

        for (size_t j = 0; j < sizeof(fixed) / sizeof(fixed[0]); j++) {
            args_add(&args, fixed[j]);
        }
        args_add_bytes(&args, cases[i].header, cases[i].len);
        args_add(&args, "");
        reply = fixture_call(fixture, fixture_script("page"), &args);
        args_clear(&args);
        assert_int_equal(reply->elements, cases[i].found ? 14 : 9);
        freeReplyObject(reply);
    }
}

/* Bytes bound a page, but for the first. */
static void test_bytes(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"redis ZADD x 1 aaaa 2 bbbb 3 cccc 4 dddd 5 eeee 6 ffff", "6"},
        {"page w bytes=1", "OK 1000 " HEAD " 1 1 aaaa aaaa 1 ''"},
        {"page w bytes=8", "OK 1000 " HEAD " 1 2 bbbb aaaa 1 '' bbbb 2 ''"},
        {"page w 2 bbbb bytes=19",
         "OK 1000 " HEAD " 0 6 ffff cccc 3 '' dddd 4 '' eeee 5 '' ffff 6 ''"},
        {"page w bytes=21",
         "OK 1000 " HEAD " 1 5 eeee aaaa 1 '' bbbb 2 '' cccc 3 '' dddd 4 '' eeee 5 ''"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_stale_and_no_topic(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"page w def=z.1", "STALE"},
        {"slot_seal 1", "OK"},
        {"page w", "NO_TOPIC"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Walks through thousands of equal scores, where each last one seen is gone when it continues. */
static void test_equal_scores_page_by_page(void **state)
{
    static const struct script_row rows[] = {
        {"open b", "OK"},
        {"takeover 1", "OK 0 0 0"},
    };
    enum { COUNT = 3000 };
    struct fixture *fixture = *state;
    char name[32] = "", score[32] = "";
    int seen = 0;

    SCRIPT_TABLE(state, rows);
    for (int i = 0; i < COUNT; i++) {
        redisAppendCommand(fixture->redis, "ZADD x 7 m-%d", i);
    }
    for (int i = 0; i < COUNT; i++) {
        freeReplyObject(fixture_reply(fixture));
    }
    for (bool more = true; more;) {
        const char *const fixed[] = {"n.1", "b", "w", score, name, "100", "262144",
                                     "1",   "",  "",  "",    "0",  "",    ""};
        struct args args = {0};
        redisReply *reply;

        for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
            args_add(&args, fixed[i]);
        }
        reply = fixture_call(fixture, fixture_script("page"), &args);
        args_clear(&args);
        assert_true(reply->elements >= 9);
        more = reply->element[6]->integer == 1;
        snprintf(score, sizeof(score), "%s", reply->element[7]->str);
        snprintf(name, sizeof(name), "%s", reply->element[8]->str);
        seen += (int) (reply->elements - 9) / 3;
        freeReplyObject(reply);
        freeReplyObject(redisCommand(fixture->redis, "ZREM x %s", name));
    }
    assert_int_equal(seen, COUNT);
}

TEST_GROUP(page)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting_by_time),
        cmocka_unit_test(test_waiting_by_priority),
        cmocka_unit_test(test_goes_on_behind_what_is_gone),
        cmocka_unit_test(test_claimed_and_resting),
        cmocka_unit_test(test_the_oldest_claim_has_its_note),
        cmocka_unit_test(test_dead_with_reasons),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_keyed),
        cmocka_unit_test(test_text_in_key_and_id),
        cmocka_unit_test(test_header_and_body_are_told_apart),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_equal_scores_page_by_page),
        cmocka_unit_test(test_stale_and_no_topic),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
