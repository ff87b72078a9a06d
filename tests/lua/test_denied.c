/* test_denied.c - a user that may not publish, or may not ask who listens: the call does its work,
 * and its reply says what failed.  And users that may not run any other command of a script: the
 * next calls mend what the one that failed has left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "clocked.h"
#include "denied_walk.h"
#include "script_table.h"
#include "support/group.h"

#define NEVER "9007199254740992"
#define DENY  "redis ACL SETUSER default -spublish"
#define ALLOW "redis ACL SETUSER default +spublish"
#define FAILS " SPUBLISH wake{x} ERR ..."

static void test_sends_say_that_they_woke_nobody(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {"listen", ""},
        {"woken", NULL},
        {DENY, "OK"},
        {"send a +0", "OK a" FAILS},
        {"send a +0 b +0", "OK ma" FAILS},
        {"send a +0 c 5000 bound=9", "OK ma" FAILS},
        {"send id=p.1 d +0", "OK a" FAILS},
        {"send id=p.1 d +0", "OK a" FAILS},
        {"send id=p.2 e +0", "OK a" FAILS},
        {"woken", "0"},
        {"field parked", NEVER},
        {"store", "a@1000 b@1000 d@1000 e@1000 c@5000"},
        {ALLOW, "OK"},
        {"send f +0", "OK a"},
        {"woken", "1"},
        /* nobody sleeps, so there is nothing that could be denied */
        {DENY, "OK"},
        {"send g +0", "OK a"},
        {ALLOW, "OK"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* More is due, and the next caller would be woken. */
static void test_calls_say_that_they_woke_nobody(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume shared", NULL},
        {"consume shared caller=wb", NULL},
        {"send a +0", "OK a"},
        {"send b +0", "OK a"},
        {DENY, "OK"},
        {"consume shared n=1", "OK 1000 1000 1 '' 1 1000c1:a 0" FAILS},
        {ALLOW, "OK"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_channel_is_denied(void **state)
{
    static const struct script_row rows[] = {
        {"deaf", ""}, /* the server ends who listens and may not any more */
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {"redis ACL SETUSER default resetchannels", "OK"},
        {"send a +0", "OK a" FAILS},
        {"redis ACL SETUSER default allchannels", "OK"},
        {"send b +0", "OK a"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_a_push_that_may_not_ask_who_listens(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"woken", NULL},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"redis ACL SETUSER default -pubsub|shardnumsub", "OK"},
        {"send a +0", "OK a PUBSUB wake{x} ERR ..."},
        {"heard", "''"},
        {"store", "a@1000"},
        {"redis ACL SETUSER default +pubsub|shardnumsub", "OK"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* The owner of a push has not called for a second. */
static void test_a_second_wake_up_is_denied(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"listen", ""},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {DENY, "OK"},
        {"at 1500", ""},
        {"send b +0", "OK a"},
        {"at 2500", ""},
        {"send c +0", "OK a" FAILS},
        {"field parked", "-1000:2500"},
        {ALLOW, "OK"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* A call that fails has claimed nothing while its slot is open for pushes: of a claim and a push
 * that its owner does not know it would get the push alone. */
static void test_a_call_that_may_not_end_its_sleep_claims_nothing(void **state)
{
    static const struct script_row rows[] = {
        {"deaf", ""},
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a +0", "OK a"},
        {"redis ACL SETUSER default -hdel", "OK"},
        {"consume 1 open=1", "ERROR ..."},
        {"prepare", ""},
        {"store", "a@1000"},
        {"redis ACL SETUSER default +hdel", "OK"},
        {"consume 1 open=1", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"field parked", "nil"},
        /* the same of the other script */
        {"open f keyed", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1 open=1", "OK 1000 '' 0 '' 0"},
        {"send a 0 text '' ''", "OK a"},
        {"redis ACL SETUSER default -hdel", "OK"},
        {"consume 1 open=1", "ERROR ..."},
        {"prepare", ""},
        {"store", "a@1"},
        {"redis ACL SETUSER default +hdel", "OK"},
        {"listen", ""},
        {"send b 0 text '' ''", "OK a"},
        {"consume 1 open=1", "OK 1000 31000 1 '' 0 1c1:a 0 1000 text 2c1:b 0 1000 text"},
        {"deaf", ""},
    };

    SCRIPT_TABLE(state, rows);
}

/* Behind what has rested waits a suspect, so the call is not ordinary. */
static void test_a_rest_that_cannot_be_undone_waits(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 0", "OK a"},
        {"ordinary 1", "OK 1000 31000 1 '' 0 1000c1:a 0"},
        {"ordinary 1 n=0 last=1 retry 1000c1:a 5 why", "OK 1000 1005 1 1 0"},
        {"redis ZADD x 1001.0078125 s", "1"},
        {"at 1005", ""},
        {"redis ACL SETUSER default -zrem (~prepare{x} +zrem)", "OK"},
        {"ordinary 1 flags=t last=1", "ERROR ..."},
        {"redis ACL SETUSER default +zrem clearselectors", "OK"},
        {"prepare", ""},
        {"store", "a@1000~1 s@1001~0s"},
        {"ordinary 1 n=1 last=1", "OK 1005 31005 2 '' 0 1000c2:a 2"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_who_shares_a_slot_wakes_nobody(void **state)
{
    static const struct script_row rows[] = {
        {"open m shared", "OK"},
        {"at 1000", ""},
        {"consume shared", "OK 1000 '' 1 '' 0"},
        {DENY, "OK"},
        {"send a +0 b +9", "OK aa" FAILS},
        {"field parked", NEVER " 0 -|wa "},
        {"consume shared caller=wb n=1", "OK 1000 1009 1 '' 0 1000c1:a 0" FAILS},
        {"consume shared caller=wb n=1", "OK 1000 1009 2 '' 0" FAILS},
        {ALLOW, "OK"},
        {"field parked", "1009 0 -|wa wb@1009 "},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_an_edit_wakes_nobody(void **state)
{
    static const struct script_row rows[] = {
        {"open t", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"at 1000", ""},
        {"send a 9000", "OK a"},
        {"consume 1", "OK 1000 9000 0 '' 0"},
        {DENY, "OK"},
        {"edit reschedule a 2000", "OK 1" FAILS},
        {"store", "a@2000"},
        {ALLOW, "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_changes_of_the_topic_wake_nobody(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"takeover 1", "OK 0 0 0"},
        {"consume 1", "OK 1000 '' 0 '' 0"},
        {DENY, "OK"},
        {"slot_alter def=n.2", "OK" FAILS},
        {"slot_pause def=n.2 1", "OK" FAILS},
        {"slot_pause def=n.2 pauses=2 0", "OK" FAILS},
        {"field def", "n.2"},
        {"field paused", "nil"},
        {"field parked", NEVER},
        {"slot_open def=n.2 m 0", "OK 0"},
        {"redis HDEL slot{x} def", "1"},
        {"slot_open def=n.2 m 0", "OK 0" FAILS},
        {ALLOW, "OK"},
        {"slot_pause def=n.2 pauses=3 1", "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

static void test_the_rights_of_an_owner(void **state)
{
    static const struct script_row rows[] = {
        {"open m", "OK"},
        {"rights", "OK ''"},
        {"redis ACL SETUSER default -zadd -hstrlen -time", "OK"},
        {"rights", "OK ZADD,HSTRLEN,TIME"},
        {"redis ACL SETUSER default +@all -ssubscribe", "OK"},
        {"rights", "OK SSUBSCRIBE"},
        {"redis ACL SETUSER default +@all resetchannels", "OK"},
        {"rights", "OK SSUBSCRIBE"},
        /* what an owner can do without */
        {"redis ACL SETUSER default allchannels -spublish -pubsub|shardnumsub -type", "OK"},
        {"rights", "OK ''"},
        {"redis ACL SETUSER default +@all", "OK"},
        {"open m keyed", "OK"},
        {"rights", "OK ''"},
        {"redis ACL SETUSER default -zmscore", "OK"},
        {"rights", "OK ZMSCORE"},
        {"redis ACL SETUSER default +@all", "OK"},
    };

    SCRIPT_TABLE(state, rows);
}

/* --- any command of any script --- */

static const struct walk_topic walk_topics[] = {
    {.name = "range_merge inline", .kind = 'm'},
    {.name = "range_merge inline shared", .kind = 'm', .shared = true},
    {.name = "range_merge keyed", .kind = 'm', .keyed = true, .debounce = 20},
    {.name = "range_merge keyed bounded", .kind = 'm', .keyed = true, .max_waiting = 5},
    {.name = "range_merge keyed shared", .kind = 'm', .keyed = true, .shared = true},
    {.name = "fixed_time inline strict", .kind = 't', .strict = true},
    {.name = "fixed_time keyed window", .kind = 't', .keyed = true, .dedup = 30},
    {.name = "priority inline", .kind = 'p'},
    {.name = "priority keyed", .kind = 'p', .keyed = true, .expired_to_dead = true},
    {.name = "priority by bytes inline", .kind = 'b'},
    {.name = "priority by bytes keyed", .kind = 'b', .keyed = true},
    {.name = "fifo keyed", .kind = 'f', .keyed = true, .expired_to_dead = true},
    {.name = "fifo keyed window", .kind = 'f', .keyed = true, .dedup = 30},
    {.name = "fifo keyed strict", .kind = 'f', .keyed = true, .strict = true},
    {.name = "fifo keyed skip failed", .kind = 'f', .keyed = true, .skip_failed = true},
};

/* The scripts whose calls a walk makes, and who makes them. */
static const struct {
    const char *name;
    enum walk_role role;
} walk_scripts[] = {
    {"send", WALK_SENDER},    {"consume", WALK_OWNER}, {"consume_any", WALK_OWNER},
    {"takeover", WALK_OWNER}, {"renew", WALK_OWNER},   {"vacate", WALK_OWNER},
    {"edit", WALK_EDITOR},
};

enum { DENIALS_MAX = 160 };

struct denials {
    struct walk_denial item[DENIALS_MAX];
    char commands[DENIALS_MAX][24];
    size_t count;
};

/* -2: no key of a slot.  A variable of that name is any of them. */
static int key_named(const char *name, size_t len)
{
    static const char *const names[KEYS_COUNT] = {
        "store", "prepare", "dead", "why", "slot", "body", "done", "topic", "expiring", "schedule"};

    for (int i = 0; i < KEYS_COUNT; i++) {
        if (strlen(names[i]) == len && strncmp(names[i], name, len) == 0) {
            return i;
        }
    }
    return len == 3 && strncmp(name, "key", 3) == 0 ? -1 : -2;
}

static void add_denial(struct denials *denials, enum walk_role role, const char *command, int key)
{
    struct walk_denial *denial = &denials->item[denials->count];

    for (size_t i = 0; i < denials->count; i++) {
        if (denials->item[i].role == role && denials->item[i].key == key &&
            strcmp(denials->item[i].command, command) == 0) {
            return;
        }
    }
    assert_true(denials->count < DENIALS_MAX);
    snprintf(denials->commands[denials->count], 24, "%s", command);
    *denial = (struct walk_denial){role, denials->commands[denials->count], key};
    denials->count++;
}

/* What a script calls, in the order of its text: "zadd" with each of its keys, and with every
 * key. */
static void add_denials(struct denials *denials, const char *script, enum walk_role role)
{
    const char *text = fixture_script(script)->text;

    for (const char *at = text; (at = strstr(at, "redis.call('")) != NULL;) {
        char command[24];
        size_t len;
        int key;

        at += strlen("redis.call('");
        len = strcspn(at, "'");
        assert_true(len < sizeof(command));
        for (size_t i = 0; i <= len; i++) {
            command[i] = (char) (i < len ? at[i] | 0x20 : '\0');
        }
        at += len + strlen("', ");
        key = key_named(at, strcspn(at, ",)"));
        if (key >= -1) {
            add_denial(denials, role, command, -1);
            add_denial(denials, role, command, key);
        }
    }
}

static bool was_hit(const struct walk_hits *hits, const char *script,
                    const struct walk_denial *denial)
{
    for (size_t i = 0; i < hits->count; i++) {
        const struct walk_hit *hit = &hits->hit[i];

        if (strcmp(hit->script, script) == 0 && strcmp(hit->command, denial->command) == 0 &&
            hit->key == denial->key) {
            return true;
        }
    }
    return false;
}

/* What a script calls only to undo, after another command was denied, or when a call is rarely not
 * an ordinary one (test_a_rest_that_cannot_be_undone_waits). */
static bool is_undo(const char *script, const struct walk_denial *denial)
{
    bool leaves = strcmp(denial->command, "zrem") == 0;
    bool removes = leaves || (strcmp(denial->command, "hdel") == 0 && denial->key == KEY_BODY);

    return (strcmp(script, "send") == 0 && removes) ||
           (strcmp(script, "consume") == 0 && leaves && denial->key == KEY_STORE);
}

struct walks {
    struct fixture *fixture;
    struct walk_users users;
    struct walk_hits hits;
    struct buf report;
    uint64_t seed;
    int count, broken;
};

static const char *key_of(const struct walk_denial *denial)
{
    return denial->key < 0 ? "every key" : fixture_keys[denial->key];
}

/* The first that are broken are shown whole. */
static void walk_once(struct walks *walks, const struct walk_topic *topic,
                      const struct walk_denial *denial)
{
    walks->count++;
    if (!walk_run(walks->fixture, &walks->users, topic, denial, walks->seed++, &walks->hits,
                  &walks->report)) {
        fprintf(stderr, "%s\n",
                walks->broken++ < 3 ? walks->report.data : strstr(walks->report.data, "---"));
        fprintf(stderr, "^ the %s, without %s of %s: %s\n", walk_roles[denial->role],
                denial->command, key_of(denial), topic->name);
    }
}

/* In every second topic, from that one on. */
static void walk_half(struct walks *walks, const struct walk_denial *denial, size_t from)
{
    for (size_t i = from % 2; i < sizeof(walk_topics) / sizeof(walk_topics[0]); i += 2) {
        walk_once(walks, &walk_topics[i], denial);
    }
}

/* Each command that the script has is denied to it once at least. */
static void walk_until_hit(struct walks *walks, const char *script, enum walk_role role)
{
    struct denials *denials = memory_new(sizeof(*denials));

    add_denials(denials, script, role);
    for (size_t i = 0; i < denials->count; i++) {
        const struct walk_denial *denial = &denials->item[i];

        for (size_t tries = 0;
             tries < 240 && !was_hit(&walks->hits, script, denial) && !is_undo(script, denial);
             tries++) {
            walk_half(walks, denial, tries);
        }
        if (!was_hit(&walks->hits, script, denial) && !is_undo(script, denial)) {
            print_error("%s was never denied %s of %s\n", script, denial->command, key_of(denial));
            walks->broken++;
        }
    }
    free(denials);
}

/* The same walks each time.  SMQ_TEST_SEED walks others, SMQ_TEST_WALKS more of each. */
static void test_an_error_at_any_command_of_a_script_is_mended(void **state)
{
    const struct walk_denial nothing = {WALK_OWNER, "lpush", -1}; /* no script has it */
    const char *seed = getenv("SMQ_TEST_SEED"), *many = getenv("SMQ_TEST_WALKS");
    struct denials *denials = memory_new(sizeof(*denials));
    struct walks *walks = memory_new(sizeof(*walks));
    int broken;

    walks->fixture = *state;
    walks->seed = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    walk_users_init(&walks->users, *state);
    fixture_listen(*state, true);
    add_denial(denials, nothing.role, nothing.command, nothing.key);
    for (int role = 0; role < WALK_ROLES; role++) {
        add_denial(denials, (enum walk_role) role, "@write", -1);
        add_denial(denials, (enum walk_role) role, "@hash", -1);
        add_denial(denials, (enum walk_role) role, "@sortedset", -1);
    }
    for (size_t i = 0; i < sizeof(walk_scripts) / sizeof(walk_scripts[0]); i++) {
        add_denials(denials, walk_scripts[i].name, walk_scripts[i].role);
    }
    for (size_t i = 0; i < (many != NULL ? strtoull(many, NULL, 10) : 1); i++) {
        for (size_t j = 0; j < denials->count; j++) {
            walk_half(walks, &denials->item[j], i + j);
        }
    }
    for (size_t i = 0; i < sizeof(walk_scripts) / sizeof(walk_scripts[0]); i++) {
        walk_until_hit(walks, walk_scripts[i].name, walk_scripts[i].role);
    }
    print_message("%d of %d walks are broken\n", walks->broken, walks->count);
    fixture_listen(*state, false);
    walk_users_fini(&walks->users);
    buf_fini(&walks->report);
    broken = walks->broken;
    free(walks);
    free(denials);
    assert_int_equal(broken, 0);
}

/* --- changes of a topic --- */

enum { STEPS_MAX = 5 };

#define PUT_SCHEDULE "schedule_put s 0 500 500,0,,0, 1:s2:s@2:+01:x0:0:"
#define PUT_LATER    "schedule_put s 0 9500 9500,0,,0, 1:s2:s@2:+01:x0:0:"
#define ID           "0000000003e80000000000000000000a"
#define WHOLE        "!w,,1:k" ID "text"

static const struct topic_change {
    const char *steps[STEPS_MAX];
    const char *call;
} topic_changes[] = {
    {{NULL}, "slot_open m 0"},
    {{"open m"}, "slot_open def=n.2 m 0 paused=1 pauses=3"},
    {{"open m", "slot_pause 1"}, "slot_open def=n.2 m 0 pauses=3"},
    {{"open m", "slot_seal 1", "slot_clear 1000"}, "slot_open def=m.1 t 1 gen=2 deletes=1"},
    {{"open m keyed", "slot_bind 2 a"}, "slot_alter def=n.2"},
    {{"open m"}, "slot_bind 2 a"},
    {{"open m"}, "slot_pause 1"},
    {{"open m", "takeover 1", "consume 1", "slot_pause 1"}, "slot_pause pauses=2 0"},
    {{"open m", "send a +0"}, "slot_seal 1"},
    {{"open m", "slot_seal 0"}, "slot_seal 0"},
    {{"open m", "slot_seal 0"}, "slot_unseal"},
    {{"open m"}, "slot_unseal"},
    {{"open m", "send id=p.1 a +0 b +9", "takeover 1", "consume 1 n=1", "slot_seal 1"},
     "slot_clear 1000"},
    {{"open m keyed", "send a +0 x '' '' b +9 x '' ''", "takeover 1", "consume 1 n=1",
      "slot_seal 1"},
     "slot_clear 1000"},
    {{"open m keyed", "send from=9 a +0 x '' ''"}, "slot_divide 0 100"},
    {{"open m keyed"}, "slot_remove"},
    {{"open m keyed", "slot_seal 1", "slot_clear 1000"}, "slot_forget 1 '' 1000 ''"},
    {{"open m keyed"}, PUT_SCHEDULE},
    {{"open m keyed", PUT_SCHEDULE}, "schedule_put s 1000 '' '' ''"},
    {{"open m keyed", PUT_SCHEDULE}, "schedule_tick s 1000 500 '' f"},
    {{"open m", PUT_SCHEDULE}, "schedule_tick s 1000 500 900 f"},
    {{"open m", PUT_SCHEDULE}, "schedule_tick s 1000 500 900 s"},
    {{"open m", PUT_SCHEDULE, "takeover 1", "listen", "consume 1"},
     "schedule_tick s 1000 500 900 f"},
    {{"open m keyed", PUT_SCHEDULE, "takeover 1", "listen", "consume 1 open=1"},
     "schedule_tick s 1000 500 900 f"},
    {{"open m shared", PUT_LATER, "listen", "consume shared"}, "schedule_tick s 1000 9500 '' r"},
    {{"open t keyed", "whole " WHOLE " +0", "takeover 1", "consume 1 n=1",
      "consume 1 n=0 last=1 retry 1000c1:" WHOLE " 0 why"},
     "edit reschedule " WHOLE " +10"},
    {{"open t keyed", "send !1:k" ID " +0 text '' ''", "whole " WHOLE " +0"},
     "edit reschedule " WHOLE " +10"},
    {{NULL}, "topic create slots=4 n 0 3 2"},
    {{"topic create slots=4 n 0 0 0"}, "topic ready n"},
    {{"topic create slots=4 n 0 0 0"}, "topic undone n"},
    {{"topic create slots=4 n 0 3 2"}, "topic undone n"},
    {{"topic create slots=4 n 0 0 0", "topic ready n"}, "topic delete n 0 a"},
    {{"topic create slots=4 n 0 0 0", "topic ready n", "topic delete n 0 a"}, "topic keep n 1"},
    {{"topic create slots=4 n 0 0 0", "topic ready n"}, "topic used n 1100 200 1"},
    {{"topic create slots=4 n 0 0 0", "topic ready n", "topic used n 1100 200 1", "at 5000",
      "topic used n 1100 200 0"},
     "topic used n 1100 200 1"},
    {{"topic create slots=4 n 0 0 0", "topic ready n", "topic used n 1100 200 1", "at 5000"},
     "topic used n 1100 200 0"},
    {{NULL}, "expiring note a 5"},
    {{"expiring note a 0", "expiring note b 0"}, "expiring due 10 9"},
    {{"topic create slots=4 n 0 0 0", "topic ready n", "topic delete n 0 a"}, "topic removed n 1"},
    {{"topic create slots=4 n 0 0 0", "topic ready n"}, "topic bind n zk"},
    {{"topic create slots=4 n 0 0 0", "topic ready n", "topic bind n standalone"},
     "topic bind n redis:r 1"},
    {{"topic create slots=4 n 0 0 0", "topic ready n", "topic bind n zk"}, "topic follow n zk to"},
    {{"topic create slots=4 n 0 0 0", "topic ready n", "topic bind n zk"}, "topic rebind n to 5 1"},
    {{"topic create slots=4 n 0 0 0", "topic ready n"}, "topic alter n 1 slots=4,x group"},
    {{"topic create slots=4 n 0 0 0", "topic ready n"}, "topic pause n 0 1"},
    {{"topic create slots=4 n 0 0 0", "topic ready n", "topic pause n 0 1"}, "topic pause n 1 0"},
    {{"topic create slots=4 n 0 0 0", "topic ready n", "topic pause n 0 1"},
     "topic repair n slots=4 2 1 3 0 0 1.1.1.0 zk"},
    {{NULL}, "topic repair n slots=4 2 1 3 1 0 0.0.0.0 zk"},
};

static const char everything[] =
    "local out, keys = {}, redis.call('KEYS', '*') "
    "table.sort(keys) "
    "for _, key in ipairs(keys) do "
    "  local is, all = redis.call('TYPE', key).ok, {} "
    "  if is == 'zset' then all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') "
    "  elseif is == 'hash' then all = redis.call('HGETALL', key) end "
    "  local pairs = {} "
    "  for i = 1, #all, 2 do pairs[#pairs + 1] = all[i] .. '=' .. all[i + 1] end "
    "  table.sort(pairs) "
    "  out[#out + 1] = key .. ': ' .. table.concat(pairs, ' ') "
    "end "
    "return table.concat(out, '\\n')";

static void look_at_everything(struct fixture *fixture, struct buf *out)
{
    redisReply *reply = redisCommand(fixture->redis, "EVAL %s 0", everything);

    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    buf_clear(out);
    text_format(out, reply->str, (size_t) reply->len);
    freeReplyObject(reply);
}

static void prepare_change(struct fixture *fixture, const struct topic_change *change)
{
    fixture->keyed = false;
    fixture_flush(fixture);
    fixture_set_time(fixture, 1000);
    for (size_t i = 0; i < STEPS_MAX && change->steps[i] != NULL; i++) {
        assert_true(script_table_call(fixture, change->steps[i]));
    }
}

/* A user makes the call without the right, and again when it is back.  false: it needs no such
 * right. */
static bool change_denied(struct fixture *fixture, struct walk_users *users,
                          const struct topic_change *change, const struct walk_denial *denial)
{
    redisContext *admin = fixture->redis;
    bool done;

    prepare_change(fixture, change);
    walk_deny(fixture, denial);
    fixture->redis = users->connection[denial->role];
    done = script_table_call(fixture, change->call);
    fixture->redis = admin;
    walk_allow(fixture, denial);
    if (!done) {
        assert_true(script_table_call(fixture, change->call));
    }
    return !done;
}

/* How many denials leave something else than the call alone. */
static int try_change(struct fixture *fixture, struct walk_users *users,
                      const struct topic_change *change)
{
    struct denials *denials = memory_new(sizeof(*denials));
    struct buf right = {0}, found = {0};
    char script[24];
    int broken = 0;

    snprintf(script, sizeof(script), "%.*s", (int) strcspn(change->call, " "), change->call);
    add_denials(denials, script, WALK_EDITOR);
    prepare_change(fixture, change);
    script_table_call(fixture, change->call);
    look_at_everything(fixture, &right);
    for (size_t i = 0; i < denials->count; i++) {
        bool denied = change_denied(fixture, users, change, &denials->item[i]);

        look_at_everything(fixture, &found);
        if (denied && strcmp(right.data, found.data) != 0) {
            print_error("`%s`, first without %s of %s: not\n%s\nbut\n%s\n", change->call,
                        denials->item[i].command, key_of(&denials->item[i]), right.data,
                        found.data);
            broken++;
        }
    }
    buf_fini(&right);
    buf_fini(&found);
    free(denials);
    return broken;
}

static void test_a_change_of_a_topic_that_was_denied_is_done_by_the_same_call(void **state)
{
    struct walk_users users;
    int broken = 0;

    walk_users_init(&users, *state);
    for (size_t i = 0; i < sizeof(topic_changes) / sizeof(topic_changes[0]); i++) {
        broken += try_change(*state, &users, &topic_changes[i]);
    }
    walk_users_fini(&users);
    assert_int_equal(broken, 0);
}

TEST_GROUP(denied)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends_say_that_they_woke_nobody),
        cmocka_unit_test(test_calls_say_that_they_woke_nobody),
        cmocka_unit_test(test_a_channel_is_denied),
        cmocka_unit_test(test_a_push_that_may_not_ask_who_listens),
        cmocka_unit_test(test_a_second_wake_up_is_denied),
        cmocka_unit_test(test_a_call_that_may_not_end_its_sleep_claims_nothing),
        cmocka_unit_test(test_a_rest_that_cannot_be_undone_waits),
        cmocka_unit_test(test_who_shares_a_slot_wakes_nobody),
        cmocka_unit_test(test_an_edit_wakes_nobody),
        cmocka_unit_test(test_changes_of_the_topic_wake_nobody),
        cmocka_unit_test(test_the_rights_of_an_owner),
        cmocka_unit_test(test_an_error_at_any_command_of_a_script_is_mended),
        cmocka_unit_test(test_a_change_of_a_topic_that_was_denied_is_done_by_the_same_call),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
