/* test_wrong_type.c - a key of a slot was given another type: every call that fails in the
 * middle leaves the message in one of its places, with its body, and can be repeated when the key
 * is fixed. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_table.h"
#include "support/group.h"

enum { STEPS_MAX = 6 };

/* What brings a message "a" of an open slot to where `call` finds it; `$` is its place. */
struct change {
    const char *what;
    const char *kinds; /* of topics in which this can happen */
    const char *steps[STEPS_MAX];
    const char *call;
    bool keyed_only;
};

static const struct change changes[] = {
    {"done", "mtpbf", {"consume 1"}, "consume 1 n=0 last=1 flags=r done $c1:a", false},
    {"done, with a window of ids",
     "mtpbf",
     {"consume 1"},
     "consume 1 n=0 last=1 dedup=5 flags=r done $c1:a",
     true},
    {"done after a retry, with a window of ids",
     "mf",
     {"consume 1", "consume 1 n=0 last=1 retry $c1:a 0 why", "consume 1 last=1"},
     "consume 1 n=0 last=2 dedup=5 retried-done $c2:a 0",
     true},
    {"done, of a shared topic", "m", {"consume shared"}, "consume shared n=0 done $c1:a", false},
    {"done after a retry",
     "mf",
     {"consume 1", "consume 1 n=0 last=1 retry $c1:a 0 why", "consume 1 last=1"},
     "consume 1 n=0 last=2 retried-done $c2:a 0",
     false},
    {"retry at once", "mtpbf", {"consume 1"}, "consume 1 n=0 last=1 retry $c1:a 0 why", false},
    {"retry later", "mtpbf", {"consume 1"}, "consume 1 n=0 last=1 retry $c1:a 5 why", false},
    {"retry without a reason", "m", {"consume 1"}, "consume 1 n=0 last=1 retry $c1:a 5 ''", false},
    {"retry of one sent again",
     "mt",
     {"consume 1", "send a"},
     "consume 1 n=0 last=1 retry $c1:a 0 why",
     false},
    {"retry with none left",
     "mtpbf",
     {"consume 1"},
     "consume 1 n=0 last=1 max=0 retry $c1:a 0 why",
     false},
    {"reject", "mtpbf", {"consume 1"}, "consume 1 n=0 last=1 reject $c1:a why", false},
    {"reject after a retry",
     "mf",
     {"consume 1", "consume 1 n=0 last=1 retry $c1:a 0 why", "consume 1 last=1"},
     "consume 1 n=0 last=2 reject $c2:a why",
     false},
    {"release at once", "mtpbf", {"consume 1"}, "consume 1 n=0 last=1 release $c1:a 0", false},
    {"release later", "mtpbf", {"consume 1"}, "consume 1 n=0 last=1 release $c1:a 5", false},
    {"hung", "mtpbf", {"consume 1"}, "consume 1 n=0 last=1 hung $c1:a 0", false},
    {"hung and dead",
     "mf",
     {"consume 1", "consume 1 n=0 last=1 hung $c1:a 0", "consume 1 last=1"},
     "consume 1 n=0 last=2 max=0 hung $c2:a 0",
     false},
    {"a rest is over",
     "mtpb",
     {"consume 1", "consume 1 n=0 last=1 retry $c1:a 5 why", "at 2000"},
     "consume 1 n=0 last=1",
     false},
    {"a rest is over, and it was sent again",
     "mt",
     {"consume 1", "consume 1 n=0 last=1 retry $c1:a 5 why", "send a", "at 2000"},
     "consume 1 n=0 last=1",
     false},
    {"a lease is over", "m", {"consume shared", "at 90000"}, "consume shared n=0", false},
    {"a lease is over, and it is dead",
     "m",
     {"consume shared", "at 90000", "consume shared n=0", "consume shared", "at 190000"},
     "consume shared n=0 max=0",
     false},
    {"an owner's lease is over", "m", {"consume 1", "at 90000"}, "consume 1 n=0 last=1", false},
    {"a lost reply", "mpf", {"consume 1"}, "consume 1", false},
    {"a lost reply of one without a body",
     "mpf",
     {"consume 1", "redis HDEL body{x} ba"},
     "consume 1",
     true},
    {"takeover", "mtpbf", {"consume 1"}, "takeover 2", false},
    {"takeover of one sent again", "mt", {"consume 1", "send a"}, "takeover 2", false},
    {"takeover, dead",
     "mf",
     {"consume 1", "takeover 2", "consume 2 last=1"},
     "takeover 3 max=0",
     false},
    {"claim", "mtpbf", {"at 1000"}, "consume 1", false},
    {"claim of one retried",
     "mf",
     {"consume 1", "consume 1 n=0 last=1 retry $c1:a 0 why"},
     "consume 1 last=1",
     false},
    {"claim of what has expired, to be dead", "mtpbf", {"at 9000"}, "consume 1 flags=x", true},
    {"claim of one that failed and has expired, to be dead",
     "f",
     {"consume 1", "consume 1 n=0 last=1 retry $c1:a 0 why", "at 9000"},
     "consume 1 last=1 flags=x",
     true},
    {"claim beside one that has expired",
     "f",
     {"send b", "consume 1", "consume 1 n=0 last=1 retry $c1:a 0 why retry 2c1:b 0 why", "at 9000",
      "redis HSET body{x} ha 1000"},
     "consume 1 last=1 flags=sx",
     true},
    {"claim of one without a body", "mpf", {"redis HDEL body{x} ba"}, "consume 1", true},
    {"requeue",
     "mtpbf",
     {"consume 1", "consume 1 n=0 last=1 reject $c1:a why"},
     "edit requeue $d:a",
     false},
    {"requeue of one sent again",
     "mt",
     {"consume 1", "consume 1 n=0 last=1 reject $c1:a why", "send a"},
     "edit requeue $d:a",
     false},
    {"reschedule", "mtpb", {"at 1000"}, "edit reschedule a 7", false},
    {"send again", "mtpbf", {"at 1000"}, "send a", false},
    {"renew", "m", {"consume 1"}, "renew 1 $c1:a", false},
};

/* --- a look --- */

static bool has_field(struct fixture *fixture, const char *key, const char *field)
{
    redisReply *reply = redisCommand(fixture->redis, "HEXISTS %s %s", key, field);
    bool has = reply->integer == 1;

    freeReplyObject(reply);
    return has;
}

/* In how many places "a" is, with its body if it is to have one. */
static int places(struct fixture *fixture, bool with_body)
{
    static const enum fixture_key keys[] = {KEY_STORE, KEY_PREPARE, KEY_DEAD};
    int found = 0;

    for (size_t i = 0; i < 3; i++) {
        redisReply *all = redisCommand(fixture->redis, "ZRANGE %s 0 -1", fixture_keys[keys[i]]);

        for (size_t j = 0; j < all->elements; j++) {
            const char *name = all->element[j]->str;
            size_t len = strlen(name);
            char body[80];

            snprintf(body, sizeof(body), "B%s", name);
            if (strcmp(name, "a") == 0 || (len > 2 && strcmp(name + len - 2, ":a") == 0)) {
                found += !with_body || (keys[i] == KEY_DEAD ? has_field(fixture, "why{x}", body)
                                                            : has_field(fixture, "body{x}", "ba"));
            }
        }
        freeReplyObject(all);
    }
    return found;
}

/* --- a case --- */

struct trial {
    struct fixture *fixture;
    const struct change *change;
    char kind;
    bool keyed;
};

/* The integer part of the score of "a", the first that is sent. */
static const char *place_of(char kind)
{
    return kind == 'p' ? "25769803775" : kind == 'b' ? "5" : kind == 'f' ? "1" : "1000";
}

static void do_send(const struct trial *trial, const char *line)
{
    bool timed = trial->kind == 'm' || trial->kind == 't';
    bool expires = strstr(trial->change->what, "expired") != NULL;
    char command[256];

    snprintf(command, sizeof(command), "%s %s%s", line, timed ? "+0" : "5",
             !trial->keyed ? ""
             : expires     ? " text '' 500"
                           : " text '' ''");
    script_table_call(trial->fixture, command);
}

/* A `$` of a line is the place of "a". */
static void do_line(const struct trial *trial, const char *line)
{
    const char *place = place_of(trial->kind);
    char command[256];
    size_t len = 0;

    if (strncmp(line, "send ", 5) == 0) {
        do_send(trial, line);
        return;
    }
    for (; *line != '\0'; line++) {
        assert_true(len + strlen(place) + 1 < sizeof(command));
        len += (size_t) (*line == '$' ? sprintf(command + len, "%s", place)
                                      : sprintf(command + len, "%c", *line));
    }
    script_table_call(trial->fixture, command);
}

static void set_up(const struct trial *trial)
{
    bool shared = strstr(trial->change->call, "shared") != NULL;
    char open[64];

    snprintf(open, sizeof(open), "open %c%s%s", trial->kind, shared ? " shared" : "",
             trial->keyed ? " keyed" : "");
    do_line(trial, open);
    if (!shared) {
        do_line(trial, "takeover 1");
    }
    do_line(trial, "send a");
    for (size_t i = 0; i < STEPS_MAX && trial->change->steps[i] != NULL; i++) {
        do_line(trial, trial->change->steps[i]);
    }
}

static int fixture_number(struct fixture *fixture, const char *command)
{
    redisReply *reply = fixture_redis(fixture, command);
    long long number = reply->str != NULL ? strtoll(reply->str, NULL, 10) : reply->integer;

    freeReplyObject(reply);
    return (int) number;
}

static void on_key(const struct trial *trial, const char *format, const char *key)
{
    redisReply *reply = redisCommand(trial->fixture->redis, format, key, key);

    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* false: the message is lost. */
static bool stands(const struct trial *trial, const char *key)
{
    bool with_body = trial->keyed && strstr(trial->change->what, "without a body") == NULL;
    bool ends = strncmp(trial->change->what, "done", 4) == 0;
    int before, failed, repeated;

    set_up(trial);
    before = places(trial->fixture, with_body);
    assert_in_range(before, 1, 2);
    on_key(trial, "RENAME %s kept.%s", key);
    on_key(trial, "SET %s text", key);
    do_line(trial, trial->change->call);
    on_key(trial, "RENAME kept.%s %s", key);
    failed = places(trial->fixture, with_body);
    do_line(trial, trial->change->call);
    repeated = places(trial->fixture, with_body);
    if (ends ? repeated == 0 : failed > 0 && repeated > 0) {
        return true;
    }
    print_error("%s, kind %c, %s, %s has another type: in %d places, then %d, repeated %d\n",
                trial->change->what, trial->kind, trial->keyed ? "keyed" : "inline", key, before,
                failed, repeated);
    return false;
}

static void test_no_message_is_lost_to_a_key_of_another_type(void **state)
{
    int cases = 0, lost = 0;

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        for (const char *kind = changes[i].kinds; *kind != '\0'; kind++) {
            for (int keyed = changes[i].keyed_only || *kind == 'f' ? 1 : 0; keyed <= 1; keyed++) {
                const struct trial trial = {*state, &changes[i], *kind, keyed == 1};

                for (int key = KEY_STORE; key <= (keyed == 1 ? KEY_DONE : KEY_SLOT); key++) {
                    lost += stands(&trial, fixture_keys[key]) ? 0 : 1;
                    cases++;
                }
            }
        }
    }
    print_message("%d of %d cases lose the message\n", lost, cases);
    assert_int_equal(lost, 0);
}

/* So what a send says that ends with such an error is: not done. */
static void test_a_send_is_stored_and_counted_or_neither(void **state)
{
    struct fixture *fixture = *state;

    for (const char *kind = "mtpbf"; *kind != '\0'; kind++) {
        for (int keyed = 0; keyed <= 1; keyed++) {
            static const struct change change = {.what = "send", .call = ""};
            const struct trial trial = {fixture, &change, *kind, keyed == 1};

            for (int key = KEY_STORE; key <= (keyed == 1 ? KEY_DONE : KEY_SLOT); key++) {
                set_up(&trial);
                on_key(&trial, "RENAME %s kept.%s", fixture_keys[key]);
                on_key(&trial, "SET %s text", fixture_keys[key]);
                do_line(&trial, "send b");
                on_key(&trial, "RENAME kept.%s %s", fixture_keys[key]);
                assert_int_equal(fixture_number(fixture, "ZCARD x"),
                                 1 + fixture_number(fixture, "HGET slot{x} sent"));
                assert_int_equal(fixture_number(fixture, "HLEN body{x}") - keyed,
                                 keyed * 2 * fixture_number(fixture, "HGET slot{x} sent"));
            }
        }
    }
}

TEST_GROUP(wrong_type)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_message_is_lost_to_a_key_of_another_type),
        cmocka_unit_test(test_a_send_is_stored_and_counted_or_neither),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
