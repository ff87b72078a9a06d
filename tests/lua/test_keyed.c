/* test_keyed.c - bodies beside the members: references, retry limits, times to live, debouncing. */
#include "script_table.h"
#include "support/group.h"

#include <string.h>

static void test_a_body_lives_as_long_as_its_message(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 text '' '' b +0 '' '' ''", "OK aa"},
        {"body", "ba=text bb= ha=1000 hb=1000"},
        {"consume 1 n=1", "OK 1000 1000 1 '' 1 1000c1:a 0 1000 text"},
        {"consume 1 n=1 last=1 done 1000c1:a", "OK 1000 31000 2 1 0 1000c2:b 0 1000 ''"},
        {"body", "bb= hb=1000"},
        {"consume 1 last=2 done 1000c2:b", "OK 1000 '' 2 1 0"},
        {"body", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_last_body_wins(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"at 1000", ""},
        {"send a +0 one '' ''", "OK a"},
        {"at 2000", ""},
        {"send a +0 two '' '' a +5 three 3 ''", "OK mm"},
        {"store", "a@2005"},
        {"body", "ba=three ha=1000,3,,1"},
        {"field merged", "2"},
    };

    SCRIPT_TABLE(state, rows);
}

/* Of a producer that the slot knows; most calls are such. */
static void test_new_messages_of_a_known_producer(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send id=me.1 a +0 text '' ''", "OK a"},
        {"send id=me.2 b +5 two 3 ''", "OK a"},
        {"send id=me.3 c +5 three '' 9 d +5 four 0 9", "OK aa"},
        {"store", "a@1000 b@1005 c@1005 d@1005"},
        {"body", "ba=text bb=two bc=three bd=four ha=1000 hb=1000,3,,1 hc=1000,,1009,1 "
                 "hd=1000,0,1009,1"},
        {"field sent", "4"},
        {"field Pme", "4,2,1000,a"},
        {"send id=me.5 a +7 more '' ''", "OK m"}, /* it waits */
        {"send id=me.6 e +7 one '' '' e +7 two '' ''", "OK am"},
        {"send id=me.8 f +7 one '' '' e +7 three '' ''", "OK am"},
        {"body", "ba=more bb=two bc=three bd=four be=three bf=one ha=1000 hb=1000,3,,1 "
                 "hc=1000,,1009,1 hd=1000,0,1009,1 he=1000 hf=1000"},
        {"field merged", "3"},
        {"at 1006", ""},
        {"consume 1 n=1", NULL},
        {"send id=me.10 b +0 again '' ''", "OK a"}, /* it is in flight */
        {"field Pme", "10,1,1006,a"},
        {"redis HDEL body{x} bf hf", "2"},
        {"send id=me.11 f +7 found '' ''", "OK m"}, /* it waits without its body */
        {"redis HDEL body{x} bf hf", "2"},
        {"send id=me.12 f +7 found '' '' g +7 new '' ''", "OK ma"},
        {"redis HMGET body{x} bb hb bf hf bg hg", "again 1006,,,2 found 1006 new 1006"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_message_sent_while_claimed_shares_the_body(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' ''", "OK a"},
        {"consume 1", NULL},
        {"at 1500", ""},
        {"send a +0 two '' ''", "OK a"},
        {"body", "ba=two ha=1500,,,2"},
        {"consume 1 n=0 last=1 done 1000c1:a", NULL},
        {"body", "ba=two ha=1500"},
        {"consume 1 last=1", "OK 1500 31500 2 '' 0 1500c2:a 0 1500 two"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_messages_that_become_one_have_one_reference(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' ''", "OK a"},
        {"consume 1", NULL},
        {"send a +9 two '' ''", "OK a"},
        {"consume 1 n=0 last=1 release 1000c1:a 0", NULL},
        {"store", "a@1000"},
        {"body", "ba=two ha=1000"},
        {"consume 1 last=1", NULL},
        {"send a +9 three '' ''", "OK a"},
        {"consume 1 n=0 last=2 retry 1000c2:a 5 why", NULL},
        {"body", "ba=three ha=1000,,,2"},
        {"at 1005", ""},
        {"consume 1 n=0 last=2", NULL},
        {"store", "a@1000~1"},
        {"body", "ba=three ha=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A short body stands behind its header, and is read there. */
static void test_one_field(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send from=5 id=me.1 a +0 text '' '' b +0 five5 '' '' c +0 '' 3/0 90", "OK aaa"},
        {"send from=5 id=me.4 d +0 four '' '' d +0 less '' ''", "OK am"},
        {"send from=5 id=me.6 e +0 e '' ''", "OK a"},
        {"body", "bb=five5 ha=1000!text hb=1000 hc=1000,3/0,1090,1! hd=1000!less he=1000!e"},
        {"find c", "OK 1000 000000010000000000000001 me 0 '' w c 1000 '' 1000,3/0,1090,1 ''"},
        {"page w contains=less",
         "OK 1000 000000010000000000000001 me 0 '' 0 1000 e d 1000 '' 1000 less"},
        {"ordinary 1 n=3", "OK 1000 1000 1 '' 1 1000c1:a 0 1000 text 1000c1:b 0 1000 five5 "
                           "1000c1:c 0 1000,3/0,1090,1 ''"},
        {"consume 1 n=0", NULL}, /* the same again */
        {"consume 1 n=2 last=1", NULL},
        {"ordinary 1 n=0 last=2 done 1000c1:a done 1000c1:b done 1000c2:d", NULL},
        {"body", "hc=1000,3/0,1090,1! he=1000!e"},
        {"ordinary 1 n=0 last=2 retry 1000c1:c 5 why retried-done 1000c2:e 0", NULL},
        {"body", "hc=1000,3/0,1090,1!"},
        {"at 1090", ""},
        {"consume 1 n=1 last=2 flags=x", NULL}, /* it has expired */
        {"dead", "1000d:c@1090~1"},
        {"why", "1000d:c=expired|t1000:why B1000d:c= H1000d:c=1000,3/0,1090,1"},
        {"body", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* What is stored in two fields stays so, and a body that becomes long gets a field. */
static void test_one_field_or_two(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send from=5 a +0 text '' '' b +0 text '' '' c +0 long! '' ''", "OK aaa"},
        {"send d +0 text '' ''", "OK a"},
        {"body", "bc=long! bd=text ha=1000!text hb=1000!text hc=1000 hd=1000"},
        {"at 2000", ""},
        {"send from=5 a +0 longer '' '' c +0 now '' '' d +0 two '' ''", "OK mmm"},
        {"send b +0 two '' ''", "OK m"},
        {"body", "ba=longer bb=two bc=now bd=two ha=1000 hb=1000 hc=1000 hd=1000"},
        {"ordinary 1 n=9", NULL},
        {"ordinary 1 n=0 last=1 done 2000c1:a done 2000c1:b done 2000c1:c done 2000c1:d", NULL},
        {"body", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* The header counts those that share the body, wherever that stands. */
static void test_one_field_for_several(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send from=5 a +0 one '' ''", "OK a"},
        {"consume 1", NULL},
        {"send from=5 a +9 two '' ''", "OK a"},
        {"body", "ha=1000,,,2!two"},
        {"ordinary 1 n=0 last=1 done 1000c1:a", "ANY"},
        {"ordinary 1 n=0 last=1 retried-done 1000c1:a 0", "ANY"},
        {"consume 1 n=0 last=1 done 1000c1:a", NULL},
        {"body", "ha=1000!two"},
        {"at 1009", ""},
        {"consume 1 last=1", NULL},
        {"send from=5 a +9 3 '' ''", "OK a"},
        {"consume 1 n=0 last=2 reject 1009c2:a no", NULL},
        {"body", "ha=1009!3"},
        {"edit remove w a", "OK 1"},
        {"body", ""},
        {"edit requeue 1009d:a", "OK 1"}, /* in two */
        {"body", "ba=3 ha=1009"},
    };

    SCRIPT_TABLE(state, rows);
}

/* A failover has lost claims: what waits, or is claimed again, keeps what is beside it. */
static const struct script_row lost_claims[] = {
    {"takeover 1", "OK 0 0 0"},
    {"send a +0 1 '' '' b +0 2 '' '' c +0 3 '' '' d +0 4 '' ''", "OK aaaa"},
    {"whole !w,,0:0000000003e80000000000000000000aone +0", "OK a"},
    {"send from=9 e +0 5 '' ''", "OK a"},
    {"ordinary 1 n=9", NULL},
    {"redis ZREM prepare{x} 1000c1:a 1000c1:b", "2"},
    {"redis ZADD x 1000 a", "1"},
    {"redis ZADD prepare{x} 31000 1000c0:b", "1"},
    {"ordinary 1 n=0 last=1 oldest=0 done 1000c1:a done 1000c1:b done 1000c1:c "
     "done 1000c1:!w,,0:0000000003e80000000000000000000aone done 1000c1:e",
     "OK 1000 1000 1 00111 1"},
    {"body", "ba=1 bb=2 bd=4 ha=1000 hb=1000 hd=1000"},
    {"ordinary 1 n=0 last=1 oldest=0 done 1000c0:b done 1000c1:b", "ANY"},
    {"ordinary 1 n=0 last=1 oldest=0 done 1000c1:b done 1000c1:a", "OK 1000 1000 1 00 1"},
    {"body", "ba=1 bb=2 bd=4 ha=1000 hb=1000 hd=1000"},
    {"field done", "3"},
};

static void test_claims_that_are_lost_keep_their_bodies(void **state)
{
    static const struct script_row rows[] = {{"open t keyed", "OK"}};

    SCRIPT_TABLE(state, rows);
    SCRIPT_TABLE(state, lost_claims);
}

/* In a slot of which not all is read to find those that were lost. */
static void test_claims_that_are_lost_among_many_keep_their_bodies(void **state)
{
    static const struct script_row rows[] = {{"open t keyed", "OK"}};
    static const char many[] = "for i = 1, 10000 do redis.call('ZADD', KEYS[1], 2^44 + 5000, "
                               "'1000r0:r' .. i) end";
    struct fixture *fixture = *state;

    SCRIPT_TABLE(state, rows);
    freeReplyObject(redisCommand(fixture->redis, "EVAL %s 1 prepare{x}", many));
    SCRIPT_TABLE(state, lost_claims);
}

/* Versions before 0.3.0 read two fields. */
static void test_one_field_becomes_two(void **state)
{
    static const struct script_row rows[] = {
        {"open t keyed", "OK"},
        {"send from=9 a +0 text '' '' b +0 '' '' 9", "OK aa"},
        {"send c +0 two '' ''", "OK a"},
        {"slot_divide 0 100 def=n.0", "STALE"},
        {"slot_divide 0 100 def=m.1", "STALE"},
        {"body", "bc=two ha=1000!text hb=1000,,1009,1! hc=1000"},
        {"slot_divide 0 100", "OK 0 2"},
        {"body", "ba=text bb= bc=two ha=1000 hb=1000,,1009,1 hc=1000"},
        {"slot_divide 0 100", "OK 0 0"},
        {"slot_seal 1", "OK"},
        {"slot_divide 0 100", "NO_TOPIC"},
    };

    SCRIPT_TABLE(state, rows);
}

/* In a hash that Redis scans in parts; some of it ends in between. */
static void test_many_become_two(void **state)
{
    static const char more[] = "for i = 1, 3000 do redis.call('HSET', KEYS[1], 'h' .. i, "
                               "'1000\\0' .. string.rep('x', 90)) end";
    static const char end[] = "local all, n = redis.call('HGETALL', KEYS[1]), 0 "
                              "for i = 1, #all, 2 do if string.find(all[i + 1], '%z') then "
                              "n = n + 1 end end return n";
    static const struct script_row rows[] = {{"open t keyed", "OK"}};
    struct fixture *fixture = *state;
    char cursor[24] = "0", row[64];
    int steps = 0, divided = 0;

    SCRIPT_TABLE(state, rows);
    freeReplyObject(redisCommand(fixture->redis, "EVAL %s 1 body{x}", more));
    do {
        struct args args = {0};
        redisReply *reply;

        args_add(&args, "n.1");
        args_add(&args, cursor);
        args_add(&args, "100");
        reply = fixture_call(fixture, fixture_script("slot_divide"), &args);
        args_clear(&args);
        assert_int_equal(reply->elements, 3);
        snprintf(cursor, sizeof(cursor), "%s", reply->element[1]->str);
        divided += (int) reply->element[2]->integer;
        assert_true(reply->element[2]->integer < 500);
        freeReplyObject(reply);
        snprintf(row, sizeof(row), "HDEL body{x} h%d", 1 + steps++);
        freeReplyObject(redisCommand(fixture->redis, row));
    } while (strcmp(cursor, "0") != 0);
    assert_true(steps > 10);
    assert_true(divided > 3000 - steps);
    redisReply *reply = redisCommand(fixture->redis, "EVAL %s 1 body{x}", end);
    assert_int_equal(reply->integer, 0);
    freeReplyObject(reply);
}

/* How many bytes of the body are headers stays beside it: LIMIT/BYTES. */
static void test_headers_stay_with_their_body(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 HEADbody /4 '' b +0 Hb 1/1 90000", "OK aa"},
        {"body", "ba=HEADbody bb=Hb ha=1000,/4,,1 hb=1000,1/1,91000,1"},
        {"consume 1", "OK 1000 31000 1 '' 0 1000c1:a 0 1000,/4,,1 HEADbody"
                      " 1000c1:b 0 1000,1/1,91000,1 Hb"},
        /* what was sent in the meantime gives both claims its body and its headers */
        {"send a +9 XYnew 3/2 ''", "OK a"},
        {"body", "ba=XYnew bb=Hb ha=1000,3/2,,2 hb=1000,1/1,91000,1"},
        {"consume 1 n=0 last=1 retry 1000c1:a 5 why", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:b 5 why", NULL},
        {"at 1005", ""},
        {"consume 1 last=1", NULL},
        {"consume 1 n=0 last=2 reject 1000c2:a bad retry 1000c2:b 5 worse", NULL},
        {"body", ""},
        {"why", "1000d:a=bad|x1005|t1000:why 1000d:b=worse|t1005|t1000:why B1000d:a=XYnew "
                "B1000d:b=Hb H1000d:a=1000,3/2,,1 H1000d:b=1000,1/1,91000,1"},
        {"edit requeue 1000d:a 1000d:b", "OK 11"},
        {"body", "ba=XYnew bb=Hb ha=1000,3/2,,1 hb=1000,1/1,,1"},
        /* a merge keeps those of the later send, also if it has none */
        {"send a +0 plain '' ''", "OK m"},
        {"body", "ba=plain bb=Hb ha=1000 hb=1000,1/1,,1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_two_claims_of_one_member_end_in_one_call(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' ''", "OK a"},
        {"consume 1", NULL},
        {"send a +0 two '' ''", "OK a"},
        {"consume 1 last=1", NULL},
        {"body", "ba=two ha=1000,,,2"},
        {"consume 1 n=0 last=2 done 1000c1:a done 1000c2:a", "OK 1000 '' 2 11 0"},
        {"body", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_takeover_keeps_bodies(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' '' b +0 two '' ''", "OK aa"},
        {"consume 1", NULL},
        {"send a +0 three '' ''", "OK a"},
        {"takeover 2", "OK 1 2 0"},
        {"store", "a@1000~0s b@1000~0s"},
        {"body", "ba=three bb=two ha=1000 hb=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_lost_reply_comes_again_with_bodies(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one 2 '' b +0 two '' ''", "OK aa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=0",
         "OK 1000 31000 1 '' 1 1000c1:a 0 1000,2,,1 one 1000c1:b 0 1000 two"},
    };

    SCRIPT_TABLE(state, rows);
}

/* It was claimed in time; and a send may have given it a larger body. */
static void test_a_lost_reply_comes_again_whatever_was_sent_since(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' 10 b +0 two '' ''", "OK aa"},
        {"consume 1 bytes=8", NULL},
        {"send b +90 larger '' ''", "OK a"},
        {"at 1010", ""},
        {"consume 1 last=0 bytes=8", "OK 1010 1090 0 '' 1 1000c1:a 0 1000,,1010,1 one"},
        {"consume 1 last=0,0,1000c1:a bytes=8", "OK 1010 1090 1 '' 1 1000c1:b 0 1000,,,2 larger"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_body_missing_at_a_lost_reply_is_a_dead_letter(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' '' b +0 two '' ''", "OK aa"},
        {"consume 1", NULL},
        {"redis HDEL body{x} ba ha", "2"},
        {"consume 1 n=0 last=0", "OK 1000 31000 1 '' 1 1000c1:b 0 1000 two"},
        {"prepare", "1000c1:b@31000"},
        {"why", "1000d:a=its body is missing"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_dead_letter_holds_its_message(void **state)
{
    static const struct script_row rows[] = {
        {"open p keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 1 one 3 700", "OK a"},
        {"consume 1", NULL},
        {"send a 2 two '' ''", "OK a"},
        {"consume 1 n=0 last=1 reject 8589934591c1:a bad", NULL},
        {"why", "8589934591d:a=bad|x1000 B8589934591d:a=two H8589934591d:a=1000"},
        {"body", "ba=two ha=1000"},
        {"edit requeue 8589934591d:a", "OK 1"},
        {"why", ""},
        {"store", "a@12884901886"},
        {"body", "ba=two ha=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_requeue_brings_the_body_back(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one 3 700", "OK a"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 reject 1000c1:a bad", NULL},
        {"why", "1000d:a=bad|x1000 B1000d:a=one H1000d:a=1000,3,1700,1"},
        {"body", ""},
        {"at 5000", ""},
        {"edit requeue 1000d:a", "OK 1"},
        {"why", ""},
        {"store", "a@1000"},
        {"body", "ba=one ha=1000,3,,1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_message_has_its_own_retry_limit(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one 1 '' b +0 two 0 ''", "OK aa"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 retry 1000c1:a 0 why retry 1000c1:b 0 why", NULL},
        {"store", "a@1000~1"},
        {"dead", "1000d:b@1000"},
        {"consume 1 last=1", NULL},
        {"takeover 2", NULL},
        {"store", "a@1000~1s"},
        {"consume 2 last=2", NULL},
        {"takeover 3", NULL},
        {"store", ""},
        {"dead", "1000d:b@1000 1000d:a@1000~1s"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_hung_claim_is_lost(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' ''", "OK a"},
        {"consume 1", NULL},
        {"consume 1 n=0 last=1 hung 1000c1:a 0", "OK 1000 1000 1 1 1"},
        {"store", "a@1000~0s"},
        {"field lease_lost", "1"},
        {"consume 1 last=1", NULL},
        {"consume 1 n=0 max=0 last=2 hung 1000c2:a 0", NULL},
        {"why", "1000d:a=its handler took too long|h1000|l: B1000d:a=one H1000d:a=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_has_expired_is_dropped(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' 100 b +0 two '' 101 c +0 three '' 100", "OK aaa"},
        {"at 1100", ""},
        {"consume 1 n=1", "OK 1100 1000 1 '' 1 1000c1:b 0 1000,,1101,1 two 1"},
        {"consume 1 n=2 last=1", "OK 1100 31100 1 '' 0 1"},
        {"prepare", "1000c1:b@31100"},
        {"store", ""},
        {"body", "bb=two hb=1000,,1101,1"},
        {"field expired", "2"},
        {"dead", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* The ordinary call sees it, too, and leaves it to consume_any. */
static void test_what_has_expired_is_dropped_where_a_reply_is_full(void **state)
{
    static const struct script_row rows[] = {
        {"open b keyed", "OK"}, {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},        {"send a 7 one '' '' long-name 5 two '' 100", "OK aa"},
        {"at 1100", ""},        {"consume 1 bytes=9", "OK 1100 31100 1 '' 0 7c1:a 0 1000 one 1"},
        {"store", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_has_expired_dies_if_the_topic_says_so(void **state)
{
    static const struct script_row rows[] = {
        {"open b keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 5 one '' 100 b 7 two '' ''", "OK aa"},
        {"at 1100", ""},
        {"consume 1 flags=x", "OK 1100 31100 1 '' 0 7c1:b 0 1000 two 1"},
        {"dead", "5d:a@1100"},
        {"why", "5d:a=expired B5d:a=one H5d:a=1000,,1100,1"},
        {"body", "bb=two hb=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_missing_body_is_a_dead_letter(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' ''", "OK a"},
        {"redis HDEL body{x} ba ha", "2"},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {"why", "1000d:a=its body is missing"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_header_without_a_body_is_a_dead_letter(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' '' b +0 two '' ''", "OK aa"},
        {"redis HDEL body{x} ba", "1"},
        {"redis HDEL body{x} hb", "1"},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {"why", "1000d:a=its body is missing 1000d:b=its body is missing B1000d:a= "
                "H1000d:a=1000"},
        {"field expired", "nil"},
        {"prepare", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_what_is_dropped_takes_no_room_in_a_claim_but_what_dies_does(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 0123456789 '' 5 b +0 0123456789 '' 5 c +0 0123456789 '' 5 d +0 1 '' ''",
         "OK aaaa"},
        {"at 1005", ""},
        {"consume 1 bytes=22 flags=x", "OK 1005 1000 0 '' 1 2"},
        {"field expired", "2"},
        {"dead", "1000d:a@1005 1000d:b@1005"},
        {"consume 1 bytes=1", "OK 1005 31005 1 '' 0 1000c1:d 0 1000 1 1"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_an_entry_that_is_answered_twice_in_a_call_is_one(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' ''", "OK a"},
        {"consume 1", NULL},
        {"send a +0 two '' ''", "OK a"},
        {"consume 1 n=0 last=1 done 1000c1:a done 1000c1:a", NULL},
        {"field done", "1"},
        {"body", "ba=two ha=1000"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_debouncing_moves_the_time_up_to_its_cap(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"at 1000", ""},
        {"send debounce=250 a +100 one '' ''", NULL},
        {"store", "a@1100"},
        {"at 1090", ""},
        {"send debounce=250 a +100 two '' ''", "OK m"},
        {"store", "a@1190"},
        {"at 1180", ""},
        {"send debounce=250 a +100 three '' ''", "OK m"},
        {"store", "a@1250"},
        {"body", "ba=three ha=1000"},
        {"at 1200", ""},
        {"send debounce=250 a +10 four '' ''", "OK m"},
        {"store", "a@1210"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_bound_refuses_what_would_be_added(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"at 1000", ""},
        {"send bound=2 a +0 one '' '' b +0 two '' '' c +0 three '' '' a +0 four '' ''", "OK aafm"},
        {"store", "a@1000 b@1000"},
        {"body", "ba=four bb=two ha=1000 hb=1000"},
        {"field sent", "2"},
        {"open p", "OK"},
        {"send bound=1 a 1 b 2 a 3", "OK afm"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_bodies_count_for_the_size_of_a_claim(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 0123456789 '' '' b +0 0123456789 '' '' c +0 0 '' ''", "OK aaa"},
        {"consume 1 bytes=20", "OK 1000 1000 1 '' 1 1000c1:a 0 1000 0123456789"},
        {"consume 1 bytes=20 last=1",
         "OK 1000 31000 2 '' 0 1000c2:b 0 1000 0123456789 1000c2:c 0 1000 0"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_cleared_slot_has_no_bodies(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a +0 one '' '' b +0 two '' '' c +0 three '' ''", "OK aaa"},
        {"consume 1 n=2", NULL},
        {"consume 1 n=0 last=1 reject 1000c1:a bad", NULL},
        {"slot_seal 1", "OK"},
        {"slot_clear 2", "OK 1"},
        {"slot_clear 9", "OK 0"},
        {"body", ""},
        {"why", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_foreign_key_in_the_place_of_the_bodies(void **state)
{
    static const struct script_row rows[] = {
        {"open m keyed", "OK"},
        {"redis SET body{x} mine", "OK"},
        {"redis EVAL return{} 0", ""},
        {"redis DEL body{x}", "1"},
        {"redis HSET body{x} mine 1", "1"},
        {"redis HGET body{x} mine", "1"},
        {"redis DEL body{x}", "1"},
        {"slot_open m 0", "OK 0"},
        {"body", ""},
    };

    SCRIPT_TABLE(state, rows);
}

TEST_GROUP(keyed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_body_lives_as_long_as_its_message),
        cmocka_unit_test(test_the_last_body_wins),
        cmocka_unit_test(test_new_messages_of_a_known_producer),
        cmocka_unit_test(test_a_message_sent_while_claimed_shares_the_body),
        cmocka_unit_test(test_messages_that_become_one_have_one_reference),
        cmocka_unit_test(test_one_field),
        cmocka_unit_test(test_one_field_or_two),
        cmocka_unit_test(test_one_field_for_several),
        cmocka_unit_test(test_claims_that_are_lost_keep_their_bodies),
        cmocka_unit_test(test_claims_that_are_lost_among_many_keep_their_bodies),
        cmocka_unit_test(test_one_field_becomes_two),
        cmocka_unit_test(test_many_become_two),
        cmocka_unit_test(test_headers_stay_with_their_body),
        cmocka_unit_test(test_two_claims_of_one_member_end_in_one_call),
        cmocka_unit_test(test_a_takeover_keeps_bodies),
        cmocka_unit_test(test_a_lost_reply_comes_again_with_bodies),
        cmocka_unit_test(test_a_lost_reply_comes_again_whatever_was_sent_since),
        cmocka_unit_test(test_a_body_missing_at_a_lost_reply_is_a_dead_letter),
        cmocka_unit_test(test_a_dead_letter_holds_its_message),
        cmocka_unit_test(test_a_requeue_brings_the_body_back),
        cmocka_unit_test(test_a_message_has_its_own_retry_limit),
        cmocka_unit_test(test_a_hung_claim_is_lost),
        cmocka_unit_test(test_what_has_expired_is_dropped),
        cmocka_unit_test(test_what_has_expired_is_dropped_where_a_reply_is_full),
        cmocka_unit_test(test_what_has_expired_dies_if_the_topic_says_so),
        cmocka_unit_test(test_a_missing_body_is_a_dead_letter),
        cmocka_unit_test(test_a_header_without_a_body_is_a_dead_letter),
        cmocka_unit_test(test_what_is_dropped_takes_no_room_in_a_claim_but_what_dies_does),
        cmocka_unit_test(test_an_entry_that_is_answered_twice_in_a_call_is_one),
        cmocka_unit_test(test_debouncing_moves_the_time_up_to_its_cap),
        cmocka_unit_test(test_a_bound_refuses_what_would_be_added),
        cmocka_unit_test(test_bodies_count_for_the_size_of_a_claim),
        cmocka_unit_test(test_a_cleared_slot_has_no_bodies),
        cmocka_unit_test(test_a_foreign_key_in_the_place_of_the_bodies),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
