/* test_send_groups.c - a send to all groups of a slot, or to none: by tables of calls, and by
 * random calls whose effect on each group must be that of a plain send to a slot like it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "fixture.h"
#include "support/group.h"

enum { LINE_SIZE = 1024, LONG_LINE_SIZE = 8192, GROUPS = 3 };

/* Its name is also the seed of its keys: store.NAME{x}.  A mirror is a slot that gets plain sends.
 */
static const char *const groups[GROUPS] = {"a", "b", "c"};
static const char *const mirrors[GROUPS] = {"ma", "mb", "mc"};

static const char *kind;
static bool keyed;

/* --- calls --- */

static const char *key_of(const char *noun, const char *group)
{
    static char text[8][64];
    static int next;
    char *out = text[next++ % 8];

    snprintf(out, sizeof(text[0]), "%s.%s{x}", noun, group);
    return out;
}

static void add_send_keys(struct args *args, const char *group)
{
    args_add(args, key_of("store", group));
    args_add(args, key_of("prepare", group));
    args_add(args, key_of("slot", group));
    if (keyed) {
        args_add(args, key_of("body", group));
        args_add(args, key_of("done", group));
    }
}

/* Run "EVALSHA sha keys ..." with the arguments; the reply as a line, which lasts until the next
 * but 7. */
static const char *run(struct fixture *fixture, const char *script, int keys,
                       const struct args *args)
{
    static char lines[8][LINE_SIZE];
    static int next;
    const char *argv[FIXTURE_ARGS_MAX + 3];
    size_t lens[FIXTURE_ARGS_MAX + 3];
    char count[16];
    char *line = lines[next++ % 8];
    struct buf text = {0};
    redisReply *reply;

    snprintf(count, sizeof(count), "%d", keys);
    argv[0] = "EVALSHA";
    argv[1] = fixture_script(script)->sha1;
    argv[2] = count;
    for (size_t i = 0; i < 3; i++) {
        lens[i] = strlen(argv[i]);
    }
    for (size_t i = 0; i < args->count; i++) {
        argv[3 + i] = args->data[i];
        lens[3 + i] = args->lens[i];
    }
    assert_int_equal(redisAppendCommandArgv(fixture->redis, (int) args->count + 3, argv, lens),
                     REDIS_OK);
    reply = fixture_reply(fixture);
    reply_format(&text, reply);
    snprintf(line, LINE_SIZE, "%s", text.len > 0 ? text.data : "");
    buf_fini(&text);
    freeReplyObject(reply);
    return line;
}

/* Any command, and its reply as a line. */
static const char *ask(struct fixture *fixture, const char *format, ...)
{
    static char lines[8][LONG_LINE_SIZE];
    static int next;
    char command[LINE_SIZE];
    char *line = lines[next++ % 8];
    struct buf text = {0};
    redisReply *reply;
    va_list list;

    va_start(list, format);
    vsnprintf(command, sizeof(command), format, list);
    va_end(list);
    reply = fixture_redis(fixture, command);
    reply_format(&text, reply);
    snprintf(line, LONG_LINE_SIZE, "%s", text.len > 0 ? text.data : "");
    buf_fini(&text);
    freeReplyObject(reply);
    return line;
}

static void open_slot(struct fixture *fixture, const char *group)
{
    static const char *const nouns[] = {"store", "prepare", "dead", "why", "slot", "body", "done"};
    static const char *const fixed[] = {"0", "d", "1", "0", "0", "0"};
    struct args args = {.count = 0};
    int keys = keyed ? 7 : 5;

    for (int i = 0; i < keys; i++) {
        args_add(&args, key_of(nouns[i], group));
    }
    args_add(&args, "n.1");
    args_add(&args, kind);
    args_add(&args, "wake{x}");
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        args_add(&args, fixed[i]);
    }
    assert_string_equal(run(fixture, "slot_open", keys, &args), "OK 1");
    args_clear(&args);
}

static void open_all(struct fixture *fixture, const char *its_kind, bool is_keyed)
{
    fixture_flush(fixture);
    kind = its_kind;
    keyed = is_keyed;
    for (int i = 0; i < GROUPS; i++) {
        open_slot(fixture, groups[i]);
        open_slot(fixture, mirrors[i]);
    }
}

static void add_words(struct args *args, const char *words)
{
    char line[LINE_SIZE];
    char *save = NULL;

    snprintf(line, sizeof(line), "%s", words);
    for (char *word = strtok_r(line, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        args_add_name(args, strcmp(word, "''") == 0 ? "" : word);
    }
}

/* From how many bytes on a body has a field of its own. */
static const char *field_from = "0";

/* `fixed` is "BOUND DEBOUNCE WINDOW PRODUCER SEQUENCE". */
static void add_fixed(struct args *args, const char *fixed)
{
    char bound[3][16];
    int length = 0;

    assert_int_equal(sscanf(fixed, "%15s %15s %15s %n", bound[0], bound[1], bound[2], &length), 3);
    for (int i = 0; i < 3; i++) {
        args_add(args, bound[i]);
    }
    args_add(args, field_from);
    add_words(args, fixed + length);
}

static const char *send_plain(struct fixture *fixture, const char *group, const char *fixed,
                              const char *messages)
{
    struct args args = {.count = 0};
    const char *line;

    add_send_keys(&args, group);
    args_add(&args, "n.1");
    args_add(&args, kind);
    args_add(&args, "wake{x}");
    add_fixed(&args, fixed);
    add_words(&args, messages);
    line = run(fixture, "send", keyed ? 5 : 3, &args);
    args_clear(&args);
    return line;
}

static const char *send_to(struct fixture *fixture, int count, const char *def, const char *fixed,
                           const char *messages)
{
    struct args args = {.count = 0};
    char number[16];
    const char *line;

    for (int i = 0; i < count; i++) {
        add_send_keys(&args, groups[i]);
    }
    snprintf(number, sizeof(number), "%d", count);
    args_add(&args, def);
    args_add(&args, kind);
    args_add(&args, number);
    add_fixed(&args, fixed);
    for (int i = 0; i < count; i++) {
        args_add(&args, "wake{x}");
    }
    add_words(&args, messages);
    line = run(fixture, "send_groups", count * (keyed ? 5 : 3), &args);
    args_clear(&args);
    return line;
}

#define ID   "0000000003e80000000000000000000a"
#define FREE "0 0 0 - 0" /* no bound, no debounce, no window, no send ids */

static const char *store_of(struct fixture *fixture, const char *group)
{
    return ask(fixture, "ZRANGE store.%s{x} 0 -1 WITHSCORES", group);
}

static const char *prepare_of(struct fixture *fixture, const char *group)
{
    return ask(fixture, "ZRANGE prepare.%s{x} 0 -1 WITHSCORES", group);
}

static void assert_waiting(struct fixture *fixture, const char *group, int count)
{
    char expected[16];

    snprintf(expected, sizeof(expected), "%d", count + 1);
    assert_string_equal(ask(fixture, "ZCARD store.%s{x}", group), expected);
}

/* --- by example --- */

static void test_each_group_gets_all(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", false);
    fixture_set_time(fixture, 1000);
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "one 0 two 2000"), "OK aa");
    for (int i = 0; i < GROUPS; i++) {
        assert_string_equal(store_of(fixture, groups[i]), "one 1000 two 2000 '' inf");
        assert_string_equal(ask(fixture, "HGET slot.%s{x} sent", groups[i]), "2");
    }
}

/* Nothing is stored beside a whole message; another copy of its id, which is not whole, is another
 * message. */
static void test_whole_ones_are_members_of_each_group(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", true);
    fixture_set_time(fixture, 1000);
    assert_string_equal(send_plain(fixture, "b", FREE, ID " 0 text '' ''"), "OK a");
    keyed = false;
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "!w,,0:" ID "one 0"), "OK a");
    assert_string_equal(send_to(fixture, 3, "n.1", "1 5 5 - 0", "!w,,0:" ID "one 0"), "OK m");
    for (int i = 0; i < GROUPS; i++) {
        assert_waiting(fixture, groups[i], groups[i][0] == 'b' ? 2 : 1);
    }
    assert_string_equal(store_of(fixture, "c"), "!w,,0:" ID "one 1000 '' inf");
    assert_string_equal(ask(fixture, "HLEN body.c{x}"), "1");
    assert_string_equal(ask(fixture, "HLEN body.b{x}"), "3");
}

static void test_merged_in_one_is_merged(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", false);
    fixture_set_time(fixture, 1000);
    assert_string_equal(send_plain(fixture, "b", FREE, "two 0"), "OK a");
    assert_string_equal(send_plain(fixture, "c", FREE, "three 0"), "OK a");
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "one 0 two 0 three 0"), "OK amm");
    assert_waiting(fixture, "a", 3);
    assert_string_equal(ask(fixture, "HMGET slot.a{x} sent merged"), "3 nil");
    assert_string_equal(ask(fixture, "HMGET slot.b{x} sent merged"), "3 1");
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "one 0 four 0"), "OK ma");
}

static void test_full_in_one_is_refused_in_all(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", false);
    fixture_set_time(fixture, 1000);
    assert_string_equal(send_plain(fixture, "b", FREE, "old 0"), "OK a");
    assert_string_equal(send_to(fixture, 3, "n.1", "2 0 0 - 0", "one 0 two 0 old 0 one 0"),
                        "OK afmm -B--");
    assert_waiting(fixture, "a", 2);
    assert_waiting(fixture, "b", 2);
    assert_string_equal(send_to(fixture, 3, "n.1", "2 0 0 - 0", "two 0 three 0"), "OK ff AA");
    assert_string_equal(send_to(fixture, 2, "n.1", "2 0 0 - 0", "two 0 one 0"), "OK fm A-");
}

/* The user may not run one command.  In group b one message waits already, so that the groups need
 * different commands. */
static void test_an_error_stores_in_all_groups_or_in_none(void **state)
{
    static const char *const commands[] = {"zadd",  "hset",  "hincrby", "zcount",  "hdel", "hget",
                                           "hmget", "zcard", "zscore",  "zmscore", "hscan"};
    struct fixture *fixture = *state;

    for (int i = 0; i < 2 * (int) (sizeof(commands) / sizeof(commands[0])); i++) {
        const char *in_a, *in_c;

        open_all(fixture, "m", i % 2 == 1);
        fixture_set_time(fixture, 1000);
        for (int j = 0; j < GROUPS; j++) {
            (void) ask(fixture, "HSET slot.%s{x} parked 9007199254740992", groups[j]);
        }
        (void) send_plain(fixture, "b", FREE, keyed ? "one +0 text '' ''" : "one +0");
        fixture_listen(fixture, true);
        (void) ask(fixture, "ACL SETUSER default -%s", commands[i / 2]);
        (void) send_to(fixture, 3, "n.1", "0 0 0 p 1",
                       keyed ? "one +0 text '' ''" : "one +0 two +0");
        (void) ask(fixture, "ACL SETUSER default +@all");
        fixture_listen(fixture, false);
        in_a = ask(fixture, "ZSCORE store.a{x} one");
        in_c = ask(fixture, "ZSCORE store.c{x} one");
        if (strcmp(in_a, in_c) != 0) {
            fail_msg("without %s: %s in group a, %s in c", commands[i / 2], in_a, in_c);
        }
        assert_string_equal(keyed ? ask(fixture, "HLEN body.a{x}") : "1",
                            keyed && strcmp(in_a, "nil") != 0 ? "3" : "1");
    }
}

/* What is refused leaves its room to what comes behind it. */
static void test_a_refused_message_takes_no_room(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", false);
    fixture_set_time(fixture, 1000);
    assert_string_equal(send_plain(fixture, "b", FREE, "x 0 y 0"), "OK aa");
    assert_string_equal(send_to(fixture, 3, "n.1", "2 0 0 - 0", "one 0 x 0 y 0"), "OK fmm B--");
    assert_waiting(fixture, "a", 2);
    assert_waiting(fixture, "b", 2);
}

/* Each group knows by itself what it has handled. */
static void test_a_duplicate_in_all_is_one(void **state)
{
    static const char window[] = "0 0 500 - 0";
    struct fixture *fixture = *state;

    open_all(fixture, "t", true);
    fixture_set_time(fixture, 1000);
    (void) ask(fixture, "ZADD done.a{x} 600 one 500 two");
    (void) ask(fixture, "ZADD done.b{x} 600 one");
    (void) ask(fixture, "HSET body.c{x} hone 900");
    assert_string_equal(
        send_to(fixture, 3, "n.1", window, "one 0 body '' '' two 0 body '' '' three 0 body '' ''"),
        "OK daa");
    assert_waiting(fixture, "a", 2);
    assert_string_equal(ask(fixture, "HGET slot.a{x} duplicates"), "1");
    (void) ask(fixture, "ZADD done.b{x} 600 four");
    assert_string_equal(send_to(fixture, 3, "n.1", window, "four 0 body '' ''"), "OK m");
    assert_waiting(fixture, "b", 2);
    assert_waiting(fixture, "c", 3);
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "one 0 body '' ''"), "OK a");
}

/* A group that is full refuses for all, but a duplicate needs no room there. */
static void test_a_duplicate_needs_no_room(void **state)
{
    static const char window[] = "1 0 500 me 1";
    struct fixture *fixture = *state;

    open_all(fixture, "t", true);
    fixture_set_time(fixture, 1000);
    assert_string_equal(send_plain(fixture, "b", FREE, "old 0 body '' ''"), "OK a");
    (void) ask(fixture, "ZADD done.b{x} 600 one");
    assert_string_equal(send_to(fixture, 2, "n.1", window, "one 0 body '' '' two 0 body '' ''"),
                        "OK mf -A");
    assert_waiting(fixture, "a", 1);
    assert_waiting(fixture, "b", 1);
    assert_string_equal(ask(fixture, "HGET slot.a{x} Pme"), "2,2,1000,mf");
}

/* A time behind the priority: in each group it waits until then, and the last send says when. */
static void test_what_is_scheduled_is_scheduled_in_all(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "b", false);
    fixture_set_time(fixture, 1000);
    assert_string_equal(send_plain(fixture, "b", FREE, "two 3"), "OK a");
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "one 5@+50 two 4@1020 three 1"), "OK ama");
    for (int i = 0; i < GROUPS; i++) {
        assert_string_equal(store_of(fixture, groups[i]), "'' -inf three 1");
        assert_string_equal(prepare_of(fixture, groups[i]),
                            "4s:two 26388279067644 5s:one 26388279067674 '' inf");
        assert_string_equal(ask(fixture, "HMGET slot.%s{x} Sone Stwo", groups[i]), "5 4");
    }
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "one 6 two 4@+90"), "OK mm");
    for (int i = 0; i < GROUPS; i++) {
        assert_string_equal(store_of(fixture, groups[i]), "'' -inf three 1 one 6");
        assert_string_equal(prepare_of(fixture, groups[i]), "4s:two 26388279067714 '' inf");
    }
}

/* A group that is full takes another time and another priority for what is scheduled there, and
 * refuses what it does not have for all. */
static void test_what_is_scheduled_needs_no_room(void **state)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 4; i++) {
        const char *body = i % 2 == 1 ? " body '' ''" : "";
        char one[64], two[128];

        open_all(fixture, i < 2 ? "b" : "p", i % 2 == 1);
        fixture_set_time(fixture, 1000);
        snprintf(one, sizeof(one), "old 1%s", body);
        assert_string_equal(send_plain(fixture, "b", FREE, one), "OK a");
        snprintf(one, sizeof(one), "late 5@+50%s", body);
        assert_string_equal(send_to(fixture, 3, "n.1", "2 0 0 me 1", one), "OK a");
        assert_string_equal(send_to(fixture, 3, "n.1", "2 0 0 me 1", one), "OK a");
        snprintf(two, sizeof(two), "late 7@+90%s new 1@+90%s", body, body);
        assert_string_equal(send_to(fixture, 3, "n.1", "2 0 0 me 2", two), "OK mf -B");
        for (int j = 0; j < GROUPS; j++) {
            assert_non_null(strstr(prepare_of(fixture, groups[j]), "s:late 26388279067714 '' inf"));
            assert_waiting(fixture, groups[j], j == 1 ? 1 : 0);
        }
        snprintf(one, sizeof(one), "late 2%s", body);
        assert_string_equal(send_to(fixture, 3, "n.1", "2 0 0 me 4", one), "OK m");
        for (int j = 0; j < GROUPS; j++) {
            assert_string_equal(prepare_of(fixture, groups[j]), "'' inf");
            assert_waiting(fixture, groups[j], j == 1 ? 2 : 1);
        }
    }
}

static void test_a_stale_group_refuses_for_all(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", false);
    fixture_set_time(fixture, 1000);
    (void) ask(fixture, "HSET slot.c{x} def n.2");
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "one 0"), "STALE");
    assert_waiting(fixture, "a", 0);
    assert_string_equal(send_to(fixture, 2, "n.1", FREE, "one 0"), "OK a");
    (void) ask(fixture, "HDEL slot.c{x} def");
    assert_string_equal(send_to(fixture, 3, "n.2", FREE, "two 0"), "NO_TOPIC");
    assert_waiting(fixture, "a", 1);
    assert_string_equal(ask(fixture, "HGET slot.a{x} def"), "n.1");
}

/* The stamp of the caller is newer: an alteration has not reached the slots yet. */
static void test_groups_take_a_newer_stamp(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", false);
    fixture_set_time(fixture, 1000);
    assert_string_equal(send_to(fixture, 2, "n.2", FREE, "one 0"), "OK a");
    assert_string_equal(ask(fixture, "HGET slot.a{x} def"), "n.2");
    assert_string_equal(ask(fixture, "HGET slot.b{x} def"), "n.2");
    assert_string_equal(ask(fixture, "HGET slot.c{x} def"), "n.1");
}

static void test_a_repeat_for_one_is_a_repeat_for_all(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", false);
    fixture_set_time(fixture, 1000);
    assert_string_equal(send_plain(fixture, "b", FREE, "one 0"), "OK a");
    assert_string_equal(send_to(fixture, 2, "n.1", "2 0 0 me 1", "one 0 two 0 three 0"),
                        "OK maf --A");
    assert_string_equal(ask(fixture, "HGET slot.a{x} Pme"), "3,3,1000,maf");
    assert_string_equal(ask(fixture, "HGET slot.b{x} Pme"), "3,3,1000,maf");
    assert_string_equal(send_to(fixture, 3, "n.1", "0 0 0 me 1", "one 0 two 0 three 0"), "OK maf");
    assert_waiting(fixture, "a", 2);
    assert_waiting(fixture, "c", 0);
    assert_string_equal(ask(fixture, "HGET slot.c{x} Pme"), "3,3,1000,maf");
    assert_string_equal(send_to(fixture, 3, "n.1", "0 0 0 me 4", "four 0"), "OK a");
    assert_string_equal(ask(fixture, "HGET slot.c{x} Pme"), "4,1,1000,a");
    assert_string_equal(ask(fixture, "HMGET slot.a{x} sent merged"), "3 nil");
}

static void test_each_group_is_woken(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", false);
    fixture_set_time(fixture, 1000);
    fixture_listen(fixture, true);
    (void) ask(fixture, "HSET slot.a{x} parked 5000");
    (void) ask(fixture, "HSET slot.c{x} parked 1500");
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "one 2000"), "OK a");
    assert_int_equal(fixture_woken(fixture), 1);
    assert_string_equal(ask(fixture, "HGET slot.a{x} parked"), "nil");
    assert_string_equal(ask(fixture, "HGET slot.c{x} parked"), "1500");
    fixture_listen(fixture, false);
}

static void assert_begins(const char *line, const char *begin)
{
    if (strncmp(line, begin, strlen(begin)) != 0) {
        fail_msg("%s does not begin with %s", line, begin);
    }
}

/* The user may not publish: the reply says so behind all else. */
static void test_what_is_denied_stands_at_the_end(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", false);
    fixture_set_time(fixture, 1000);
    (void) ask(fixture, "HSET slot.b{x} parked 5000");
    assert_string_equal(ask(fixture, "ACL SETUSER default -spublish"), "OK");
    assert_begins(send_to(fixture, 3, "n.1", "0 0 0 me 1", "one 0"),
                  "OK a '' SPUBLISH wake{x} ERR ");
    assert_begins(send_to(fixture, 3, "n.1", "0 0 0 me 1", "one 0"),
                  "OK a '' SPUBLISH wake{x} ERR ");
    assert_begins(send_to(fixture, 3, "n.1", "2 0 0 me 2", "two 0 three 0"),
                  "OK af -A SPUBLISH wake{x} ERR ");
    assert_string_equal(ask(fixture, "ACL SETUSER default +spublish"), "OK");
    assert_waiting(fixture, "b", 2);
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "four 0"), "OK a");
}

/* The owner of one group sleeps with its door open, that of another one does not. */
static void test_a_push_is_of_one_group(void **state)
{
    struct fixture *fixture = *state;
    struct buf heard = {0};

    open_all(fixture, "t", false);
    fixture_set_time(fixture, 1000);
    fixture_listen(fixture, true);
    (void) ask(fixture, "HSET slot.b{x} parked 9000/30000 token 000000010000000000000001");
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "one 0"), "OK a");
    assert_int_equal(fixture_hear(fixture, &heard), 1);
    assert_non_null(strstr(heard.data, "1000c1:one"));
    assert_waiting(fixture, "a", 1);
    assert_waiting(fixture, "b", 0);
    assert_waiting(fixture, "c", 1);
    fixture_listen(fixture, false);
    buf_fini(&heard);
}

/* A key of another type stops the call before it has written anything. */
static void test_a_key_of_another_type(void **state)
{
    static const char *const nouns[] = {"store", "prepare", "slot", "body", "done"};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(nouns) / sizeof(nouns[0]); i++) {
        open_all(fixture, "t", true);
        (void) ask(fixture, "DEL %s.c{x}", nouns[i]);
        (void) ask(fixture, "SET %s.c{x} text", nouns[i]);
        assert_non_null(
            strstr(send_to(fixture, 3, "n.1", "0 0 0 me 1", "one 0 body '' ''"), "WRONGTYPE"));
        assert_waiting(fixture, "a", 0);
        assert_string_equal(ask(fixture, "HLEN body.a{x}"), "1");
        assert_string_equal(ask(fixture, "HGET slot.a{x} Pme"), "nil");
    }
}

static void test_a_bad_message_stops_all(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "t", false);
    assert_non_null(strstr(send_to(fixture, 3, "n.1", FREE, "one 0 two soon"), "no number"));
    assert_waiting(fixture, "a", 0);
    assert_waiting(fixture, "c", 0);
}

static void test_no_places_in_one(void **state)
{
    struct fixture *fixture = *state;

    open_all(fixture, "p", false);
    fixture_set_time(fixture, 1000);
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "one 0"), "OK a");
    (void) ask(fixture, "HSET slot.b{x} seq 4294967295");
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "two 0 three 0"), "FULL 2");
    assert_waiting(fixture, "a", 1);
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "last 0"), "OK a");
    (void) ask(fixture, "ZREM store.b{x} one last");
    assert_string_equal(send_to(fixture, 3, "n.1", FREE, "two 0 three 0"), "OK aa");
}

/* --- by random calls --- */

struct shape {
    const char *kind;
    bool keyed;
    const char *debounce, *window;
};

static const struct shape shapes[] = {
    {"t", false, "0", "0"}, {"m", false, "0", "0"}, {"p", false, "0", "0"}, {"b", false, "0", "0"},
    {"f", true, "0", "0"},  {"t", true, "0", "0"},  {"m", true, "50", "0"}, {"p", true, "0", "0"},
    {"t", true, "0", "90"}, {"m", true, "50", "90"}};

static unsigned chance(uint64_t *seed, unsigned most)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (unsigned) (*seed >> 33) % most;
}

static void random_messages(char out[LINE_SIZE], uint64_t *seed, const struct shape *shape)
{
    static const char *const later[] = {"", "", "@+30", "@1090", "@+0"};
    bool has_times = shape->kind[0] == 'p' || shape->kind[0] == 'b';
    unsigned count = 1 + chance(seed, chance(seed, 2) == 0 ? 1 : 6);
    bool one_time = chance(seed, 2) == 0;
    unsigned when = chance(seed, 4);
    size_t len = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        bool relative = shape->kind[0] == 'm';

        when = one_time ? when : chance(seed, 4);
        len += (size_t) snprintf(out + len, LINE_SIZE - len, "m%u %s%u%s ", chance(seed, 8),
                                 relative ? "+" : "", relative ? 10 * when : 1000 + 20 * when,
                                 has_times ? later[chance(seed, 5)] : "");
        if (shape->keyed) {
            len += (size_t) snprintf(out + len, LINE_SIZE - len, "body%u '' '' ", chance(seed, 9));
        }
    }
}

/* What a plain send to each slot with these messages answers; the groups together. */
static void mirror_sends(char out[LINE_SIZE], struct fixture *fixture, const char *fixed,
                         const char *messages)
{
    for (int i = 0; i < GROUPS; i++) {
        const char *one = send_plain(fixture, mirrors[i], fixed, messages);

        if (i == 0) {
            snprintf(out, LINE_SIZE, "%s", one);
        }
        for (size_t at = 3; at < strlen(one) && strncmp(one, "OK ", 3) == 0; at++) {
            if (one[at] != out[at]) {
                out[at] = 'm';
            }
        }
    }
}

static void assert_mirrored(struct fixture *fixture, uint64_t seed)
{
    for (int i = 0; i < GROUPS; i++) {
        const char *fields =
            "def seq sent merged duplicates parked Sm0 Sm1 Sm2 Sm3 Sm4 Sm5 Sm6 Sm7";

        if (strcmp(store_of(fixture, groups[i]), store_of(fixture, mirrors[i])) != 0) {
            fail_msg("seed %llu, group %s: its store is %s, not %s", (unsigned long long) seed,
                     groups[i], store_of(fixture, groups[i]), store_of(fixture, mirrors[i]));
        }
        assert_string_equal(prepare_of(fixture, groups[i]), prepare_of(fixture, mirrors[i]));
        assert_string_equal(ask(fixture, "HMGET slot.%s{x} %s", groups[i], fields),
                            ask(fixture, "HMGET slot.%s{x} %s", mirrors[i], fields));
        for (int m = 0; keyed && m < 8; m++) {
            assert_string_equal(
                ask(fixture, "HMGET body.%s{x} bm%d hm%d Sm%d", groups[i], m, m, m),
                ask(fixture, "HMGET body.%s{x} bm%d hm%d Sm%d", mirrors[i], m, m, m));
        }
    }
}

/* A message that was claimed is done: as a consume leaves it. */
static void end(struct fixture *fixture, const char *group, int id, int at)
{
    (void) ask(fixture, "ZREM store.%s{x} m%d", group, id);
    (void) ask(fixture, "HDEL body.%s{x} bm%d hm%d", group, id, id);
    (void) ask(fixture, "ZADD done.%s{x} %d m%d", group, at, id);
}

/* One step: a send to all; or to one of them, so that they differ. */
static void random_step(struct fixture *fixture, uint64_t *seed, const struct shape *shape)
{
    char messages[LINE_SIZE], expected[LINE_SIZE], fixed[32];
    uint64_t from = *seed;

    random_messages(messages, seed, shape);
    snprintf(fixed, sizeof(fixed), "0 %s %s - 0", shape->debounce, shape->window);
    if (chance(seed, 3) == 0) {
        unsigned group = chance(seed, GROUPS);

        (void) send_plain(fixture, groups[group], fixed, messages);
        (void) send_plain(fixture, mirrors[group], fixed, messages);
        if (chance(seed, 2) == 0) { /* what waits longest is gone */
            (void) ask(fixture, "ZREM store.%s{x} m%u", groups[group], from % 8);
            (void) ask(fixture, "ZREM store.%s{x} m%u", mirrors[group], from % 8);
        }
        if (shape->window[0] != '0') { /* another one is done */
            int id = (int) chance(seed, 8), at = 1000 + (int) chance(seed, 300);

            end(fixture, groups[group], id, at);
            end(fixture, mirrors[group], id, at);
        }
        return;
    }
    mirror_sends(expected, fixture, fixed, messages);
    if (strcmp(send_to(fixture, GROUPS, "n.1", fixed, messages), expected) != 0) {
        fail_msg("seed %llu: %s of kind %s: not %s", (unsigned long long) from, messages,
                 shape->kind, expected);
    }
    assert_mirrored(fixture, from);
}

static void test_groups_are_like_plain_slots(void **state)
{
    struct fixture *fixture = *state;
    const char *given = getenv("SMQ_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : random_u64() % 1000000000;

    print_message("SMQ_TEST_SEED=%llu\n", (unsigned long long) seed);
    for (int round = 0; round < 64; round++) {
        const struct shape *shape = &shapes[round % (int) (sizeof(shapes) / sizeof(shapes[0]))];

        open_all(fixture, shape->kind, shape->keyed);
        for (int step = 0; step < 40; step++) {
            field_from = chance(&seed, 2) == 0 ? "0" : "4096";
            if (step % 4 == 0) {
                fixture_set_time(fixture, 1000 + 7 * step);
            }
            random_step(fixture, &seed, shape);
        }
    }
    field_from = "0";
}

/* With a bound the groups together hold what the narrowest takes: no group has more than it, a
 * message is in all or in none, and one is refused only if a group is full. */
static void test_bounds_hold_in_all(void **state)
{
    static const struct shape shape = {"t", false, "0", "0"};
    struct fixture *fixture = *state;
    uint64_t seed = random_u64() % 1000000000;

    print_message("seed %llu\n", (unsigned long long) seed);
    for (int round = 0; round < 48; round++) {
        open_all(fixture, "t", false);
        fixture_set_time(fixture, 1000);
        for (int step = 0; step < 12; step++) {
            char messages[LINE_SIZE], stores[GROUPS][LONG_LINE_SIZE];
            const char *answer;

            random_messages(messages, &seed, &shape);
            answer = send_to(fixture, GROUPS, "n.1", "4 0 0 - 0", messages);
            assert_int_equal(strncmp(answer, "OK ", 3), 0);
            for (int i = 0; i < GROUPS; i++) {
                snprintf(stores[i], sizeof(stores[i]), "%s",
                         ask(fixture, "ZRANGE store.%s{x} 0 -1", groups[i]));
                assert_true(atoi(ask(fixture, "ZCARD store.%s{x}", groups[i])) <= 5);
                assert_string_equal(stores[i], stores[0]);
            }
            if (strchr(answer, 'f') != NULL) {
                assert_string_equal(ask(fixture, "ZCARD store.a{x}"), "5");
            }
        }
    }
}

TEST_GROUP(send_groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_group_gets_all),
        cmocka_unit_test(test_whole_ones_are_members_of_each_group),
        cmocka_unit_test(test_merged_in_one_is_merged),
        cmocka_unit_test(test_full_in_one_is_refused_in_all),
        cmocka_unit_test(test_an_error_stores_in_all_groups_or_in_none),
        cmocka_unit_test(test_a_refused_message_takes_no_room),
        cmocka_unit_test(test_a_duplicate_in_all_is_one),
        cmocka_unit_test(test_a_duplicate_needs_no_room),
        cmocka_unit_test(test_what_is_scheduled_is_scheduled_in_all),
        cmocka_unit_test(test_what_is_scheduled_needs_no_room),
        cmocka_unit_test(test_a_stale_group_refuses_for_all),
        cmocka_unit_test(test_groups_take_a_newer_stamp),
        cmocka_unit_test(test_a_repeat_for_one_is_a_repeat_for_all),
        cmocka_unit_test(test_each_group_is_woken),
        cmocka_unit_test(test_what_is_denied_stands_at_the_end),
        cmocka_unit_test(test_a_push_is_of_one_group),
        cmocka_unit_test(test_a_key_of_another_type),
        cmocka_unit_test(test_a_bad_message_stops_all),
        cmocka_unit_test(test_no_places_in_one),
        cmocka_unit_test(test_groups_are_like_plain_slots),
        cmocka_unit_test(test_bounds_hold_in_all),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
