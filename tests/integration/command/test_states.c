/* test_states.c - what a consume without -v says while it cannot work: once a
 * state, with the way out. */
#include "command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/group.h"
#include "support/wait.h"

/* A cluster of its own, which may be broken. */
static struct servers *own_servers(const char *topic)
{
    struct servers *servers =
        servers_start(&(struct servers_options){.redis = REDIS_SINGLE, .zookeeper = true});

    assert_non_null(servers);
    command_done(NULL, ARGS("-r", servers_redis(servers), "topic", "create", topic, "--type",
                            "priority", "--slots", "4"));
    return servers;
}

static int count(const char *text, const char *word)
{
    int found = 0;

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) {
        found++;
    }
    return found;
}

static void assert_said(struct run *run, const char *text)
{
    if (!run_wait_err(run, text, TIMEOUT_MS)) {
        fail_msg("\"%s\" is missing in: %s", text, run->err);
    }
}

/* Stop it; it was quiet about everything else. */
static void end(struct run *run, int lines)
{
    run_signal(run, SIGTERM);
    command_end(run);
    if (count(run->err, "\n") != lines) {
        fail_msg("%d lines instead of %d: %s", count(run->err, "\n"), lines, run->err);
    }
    run_fini(run);
}

static void nothing_is_said_while_all_is_well(void **state)
{
    struct run run;

    command_done(NULL, ARGS("topic", "create", "well", "--type", "priority"));
    command_start(&run, NULL, ARGS("consume", "well"));
    command_done(NULL, ARGS("send", "well", "a"));
    assert_true(run_wait_out(&run, "a\n", TIMEOUT_MS));
    end(&run, 0);
}

static void quiet_says_no_warning(void **state)
{
    struct run run;

    command_done(NULL, ARGS("topic", "create", "hushed", "--type", "priority"));
    command_done(NULL, ARGS("pause", "hushed"));
    command_start(&run, NULL, ARGS("consume", "hushed", "-q", "-X", "event_level=warn"));
    assert_said(&run, "topic hushed is paused");
    end(&run, 1);
    command_start(&run, NULL, ARGS("consume", "hushed", "-q"));
    command_done(NULL, ARGS("send", "hushed", "a"));
    command_done(NULL, ARGS("resume", "hushed"));
    assert_true(run_wait_out(&run, "a\n", TIMEOUT_MS));
    end(&run, 0);
}

static void paused_topic_is_said(void **state)
{
    struct run run;

    command_done(NULL, ARGS("topic", "create", "halted", "--type", "priority"));
    command_done(NULL, ARGS("pause", "halted"));
    command_start(&run, NULL, ARGS("consume", "halted"));
    assert_said(&run, "topic halted is paused");
    assert_said(&run, "slotmq resume halted");
    command_done(NULL, ARGS("resume", "halted"));
    assert_said(&run, "topic halted is resumed");
    command_done(NULL, ARGS("send", "halted", "a"));
    assert_true(run_wait_out(&run, "a\n", TIMEOUT_MS));
    end(&run, 2);
}

static void standby_is_said(void **state)
{
    struct run first, second;

    command_done(NULL, ARGS("topic", "create", "spare", "--type", "priority", "--slots", "1"));
    command_done(NULL, ARGS("send", "spare", "a"));
    command_start(&first, NULL, ARGS("consume", "spare"));
    assert_true(run_wait_out(&first, "a\n", TIMEOUT_MS));
    command_start(&second, NULL, ARGS("consume", "spare"));
    assert_said(&second, "other members have all slots that Redis serves now; it stands by");
    end(&first, 0);
    command_done(NULL, ARGS("send", "spare", "b"));
    assert_true(run_wait_out(&second, "b\n", TIMEOUT_MS));
    end(&second, 1);
}

/* Start a member that consumes the topic "one". */
static void start_member(struct run *run, const struct servers *servers, const char *option)
{
    command_start(run, NULL,
                  ARGS("-r", servers_redis(servers), "-z", servers_zookeeper(servers), "-X", option,
                       "consume", "one"));
}

/* Start the member that has the only slot of the topic. */
static void start_owner(struct run *run, const struct servers *servers, const char *option)
{
    const char *redis = servers_redis(servers);

    command_done(NULL, ARGS("-r", redis, "topic", "create", "one", "--slots", "1"));
    command_done(NULL, ARGS("-r", redis, "send", "one", "a"));
    start_member(run, servers, option);
    assert_true(run_wait_out(run, "a\n", TIMEOUT_MS));
}

/* In a fleet the way out is another one. */
static void member_without_a_slot_is_said(void **state)
{
    struct servers *servers = own_servers("t");
    struct run first, second;

    start_owner(&first, servers, "zookeeper_auth=a:b");
    start_member(&second, servers, "zookeeper_auth=a:b");
    assert_said(&second, "other members have all slots");
    assert_said(&second, "it stands by and begins with the first slot that it is granted");
    end(&first, 0);
    command_done(NULL, ARGS("-r", servers_redis(servers), "send", "one", "b"));
    assert_true(run_wait_out(&second, "b\n", TIMEOUT_MS));
    end(&second, 1);
    servers_free(servers);
}

/* It is the only one; until the session of its former process ends, nobody assigns slots. */
static void member_that_returns_under_its_name_is_said(void **state)
{
    struct servers *servers = own_servers("t");
    struct run killed, again;

    start_owner(&killed, servers, "name=worker-0");
    run_fini(&killed); /* by SIGKILL */
    start_member(&again, servers, "name=worker-0");
    assert_said(&again, "because its former session, of a process with its name, still has slots");
    command_done(NULL, ARGS("-r", servers_redis(servers), "send", "one", "b"));
    assert_true(run_wait_out(&again, "b\n", TIMEOUT_MS));
    end(&again, 1);
    servers_free(servers);
}

/* Is there a member that waits for a slot? */
static bool one_stands_by(void *arg)
{
    const struct servers *servers = arg;
    char *out = command_out(NULL, ARGS("-r", servers_redis(servers), "-z",
                                       servers_zookeeper(servers), "fleet", "show", "--json"));
    const bool stands_by = strstr(out, "\"standing_by\":1") != NULL;

    free(out);
    return stands_by;
}

/* Whoever has the slots, this is what has to be mended first.  A process that is not a member yet
 * would end; with this session the silence is noticed long before the 5 s are over. */
static void silent_zookeeper_is_the_reason_for_no_slot(void **state)
{
    struct servers *servers = own_servers("t");
    struct run first, second;

    start_owner(&first, servers, "session_timeout_ms=10s");
    command_start(&second, NULL,
                  ARGS("-r", servers_redis(servers), "-z", servers_zookeeper(servers), "-X",
                       "session_timeout_ms=2s", "-v", "consume", "one"));
    assert_said(&second, "connected to ZooKeeper");
    assert_true(wait_until(one_stands_by, servers, TIMEOUT_MS));
    server_pause(servers_zookeeper_server(servers));
    assert_said(&second, "this process has had no slot for 5 s, because ZooKeeper does not answer");
    assert_said(&second, "this process owns no slot");
    server_resume(servers_zookeeper_server(servers));
    assert_int_equal(count(second.err, "the owned slots are kept"), 0);
    run_fini(&second);
    run_fini(&first);
    servers_free(servers);
}

/* It ends, and starts again without its data. */
static void lost_redis_is_said_once(void **state)
{
    struct servers *servers = own_servers("t");
    struct server *redis = servers_node(servers, 0);
    struct run run;

    command_done(NULL, ARGS("-r", servers_redis(servers), "send", "t", "a"));
    command_start(&run, NULL, ARGS("-r", servers_redis(servers), "consume", "t"));
    assert_true(run_wait_out(&run, "a\n", TIMEOUT_MS));
    server_kill(redis);
    assert_said(&run, server_address(redis));
    assert_said(&run, "is tried again");
    assert_true(server_restart(redis));
    assert_said(&run, "connected to Redis");
    assert_int_equal(count(run.err, "is tried again"), 1);
    run_fini(&run);
    servers_free(servers);
}

/* It accepts connections, and does not answer.  Who owns the topic is not known then. */
static void silent_redis_is_said_once(void **state)
{
    struct servers *servers = own_servers("t");
    struct server *redis = servers_node(servers, 0);
    char silence[96];
    struct run run;

    snprintf(silence, sizeof(silence), "%s: it does not answer; it is tried again\n",
             server_address(redis));
    command_done(NULL, ARGS("-r", servers_redis(servers), "send", "t", "a"));
    command_start(
        &run, NULL,
        ARGS("-r", servers_redis(servers), "-X", "session_timeout_ms=2s", "consume", "t"));
    assert_true(run_wait_out(&run, "a\n", TIMEOUT_MS));
    server_pause(redis);
    assert_said(&run, silence);
    assert_said(&run, "the tree of the fleet in Redis does not answer"); /* it keeps its slots */
    server_resume(redis);
    assert_said(&run, "connected to Redis");
    assert_int_equal(count(run.err, "it does not answer"), 1);
    command_done(NULL, ARGS("-r", servers_redis(servers), "send", "t", "b"));
    assert_true(run_wait_out(&run, "b\n", TIMEOUT_MS));
    run_signal(&run, SIGTERM);
    command_end(&run);
    run_fini(&run);
    servers_free(servers);
}

/* The same before the first answer: that is no state to wait in. */
static void redis_that_is_silent_from_the_start_is_refused(void **state)
{
    struct servers *servers = own_servers("t");
    const char *redis = servers_redis(servers);
    const char *const *const calls[] = {
        ARGS("-r", redis, "-X", "connect_timeout_ms=500ms", "consume", "t"),
        ARGS("-r", redis, "-X", "connect_timeout_ms=500ms", "send", "t", "x"),
        ARGS("-r", redis, "-X", "connect_timeout_ms=500ms", "stat", "t"),
    };
    char wanted[96];

    snprintf(wanted, sizeof(wanted), "no Redis server answers at %s: is it running", redis);
    server_pause(servers_node(servers, 0));
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        command_refused(69, wanted, NULL, calls[i]);
    }
    server_resume(servers_node(servers, 0));
    servers_free(servers);
}

static void zookeeper_is_missed(void (*lose)(struct server *), bool (*give_back)(struct server *))
{
    struct servers *servers = own_servers("t");
    struct server *zookeeper = servers_zookeeper_server(servers);
    struct run run;

    command_done(NULL, ARGS("-r", servers_redis(servers), "send", "t", "a"));
    command_start(
        &run, NULL,
        ARGS("-r", servers_redis(servers), "-z", servers_zookeeper(servers), "consume", "t"));
    assert_true(run_wait_out(&run, "a\n", TIMEOUT_MS));
    lose(zookeeper);
    assert_said(&run, "no connection to ZooKeeper");
    assert_true(give_back(zookeeper));
    assert_said(&run, "connected to ZooKeeper");
    assert_int_equal(count(run.err, "no connection to ZooKeeper"), 1);
    run_signal(&run, SIGTERM);
    command_end(&run);
    run_fini(&run);
    servers_free(servers);
}

static void lost_zookeeper_is_said_once(void **state)
{
    zookeeper_is_missed(server_kill, server_restart);
}

static bool wake(struct server *server)
{
    server_resume(server);
    return true;
}

/* It accepts connections, and does not answer. */
static void silent_zookeeper_is_said_once(void **state)
{
    zookeeper_is_missed(server_pause, wake);
}

/* Is the message waiting, or resting, again? */
static bool is_released(void *arg)
{
    const struct servers *servers = arg;
    char *out = command_out(NULL, ARGS("-r", servers_redis(servers), "stat", "t", "--json"));
    const bool released = strstr(out, "\"claimed\":0") != NULL;

    free(out);
    return released;
}

/* Its program gets SIGTERM, and that is not the fault of the message. */
static void stop_without_zookeeper_uses_no_retry(void **state)
{
    struct servers *servers = own_servers("t");
    struct server *zookeeper = servers_zookeeper_server(servers);
    struct run run;

    command_done(NULL, ARGS("-r", servers_redis(servers), "send", "t", "a"));
    command_start(&run, NULL,
                  ARGS("-r", servers_redis(servers), "-z", servers_zookeeper(servers), "-X",
                       "on_coordination_loss=stop", "-X", "session_timeout_ms=2s", "consume", "t",
                       "--", "sh", "-c", "echo attempt $SLOTMQ_ATTEMPT.; exec sleep 1000"));
    assert_true(run_wait_out(&run, "attempt 1.\n", TIMEOUT_MS));
    server_kill(zookeeper);
    assert_said(&run, "nothing is claimed or begun");
    assert_true(wait_until(is_released, servers, TIMEOUT_MS));
    assert_true(server_restart(zookeeper));
    assert_true(run_wait_out(&run, "attempt 1.\nattempt", TIMEOUT_MS));
    assert_string_equal(run.out, "attempt 1.\nattempt 1.\n");
    run_fini(&run);
    servers_free(servers);
}

/* Its messages would come minutes late: nothing wakes it. */
static void who_may_not_subscribe_is_denied(void **state)
{
    struct servers *servers = own_servers("t");
    char user[256], port[8];
    struct run run;

    snprintf(port, sizeof(port), "%d", server_port(servers_node(servers, 0)));
    assert_true(run_command(
        &run,
        &(struct run_options){.argv = ARGS("redis-cli", "-p", port, "ACL", "SETUSER", "deaf", "on",
                                           ">secret", "~*", "+@all", "resetchannels")},
        TIMEOUT_MS));
    assert_string_equal(run.out, "OK\n");
    run_fini(&run);
    snprintf(user, sizeof(user), "redis://deaf:secret@%s", servers_redis(servers));
    command_run(&run, NULL, ARGS("-r", user, "consume", "t"));
    assert_int_equal(run.exit_code, 77);
    assert_non_null(strstr(run.err, "subscribe"));
    assert_non_null(strstr(run.err, "ACL SETUSER"));
    run_fini(&run);
    servers_free(servers);
}

/* === All verbs that look, in each state ================================= */

enum { LIST, SHOW, STAT, TOP, PEEK, GET, RANK, DEAD, FLEET, DOCTOR, CHECK, LOOKS };

/* "T" stands for the topic. */
static const char *const looks[LOOKS][6] = {
    [LIST] = {"topic", "list"},
    [SHOW] = {"topic", "show", "T"},
    [STAT] = {"stat", "T"},
    [TOP] = {"top", "T", "--count", "1"},
    [PEEK] = {"peek", "T"},
    [GET] = {"get", "T", "x"},
    [RANK] = {"rank", "T", "x"},
    [DEAD] = {"dead", "list", "T"},
    [FLEET] = {"fleet", "show", "--topic", "T"},
    [DOCTOR] = {"doctor"},
    [CHECK] = {"check", "T"},
};

/* How a verb ends, and what it says on one of its outputs; "": nothing in particular. */
struct said {
    int code;
    const char *text;
};

struct look_state {
    const char *name, *topic;
    const char *option, *value; /* one more flag; NULL: none */
    void (*make)(struct servers *servers);
    struct said said[LOOKS];
};

/* Give the user "poor" these rights and no others, at all nodes. */
static void set_poor_user(const struct servers *servers, const char *const *rights)
{
    const char *words[16] = {"ACL", "SETUSER", "poor", "reset", "on", ">pw"};

    for (size_t i = 0; rights[i] != NULL; i++) {
        words[i + 6] = rights[i];
    }
    for (size_t i = 0; i < 3; i++) {
        command_redis(servers_node(servers, i), words);
    }
}

static void deny_all(struct servers *servers)
{
    set_poor_user(servers, ARGS("-@all"));
}

static void allow_reading(struct servers *servers)
{
    set_poor_user(servers, ARGS("~*", "resetchannels", "-@all", "+@read", "+@connection"));
}

static void deny_channels(struct servers *servers)
{
    set_poor_user(servers, ARGS("~*", "resetchannels", "+@all"));
}

static void deny_scripts(struct servers *servers)
{
    set_poor_user(servers, ARGS("~*", "&*", "+@all", "-@scripting"));
}

static void deny_the_time(struct servers *servers)
{
    set_poor_user(servers, ARGS("~*", "&*", "+@all", "-time"));
}

static void lose_a_slot(struct servers *servers)
{
    command_done(NULL, ARGS("-r", servers_redis(servers), "topic", "repair", "--all"));
    command_redis(servers_node(servers, 0), ARGS("-c", "DEL", "slot{torn_0}"));
}

static void lose_the_list(struct servers *servers)
{
    command_redis(servers_node(servers, 0), ARGS("-c", "DEL", "slotmq{topics}"));
}

static void lose_a_master(struct servers *servers)
{
    server_kill(servers_node(servers, 0));
}

#define SLOTS(code, text)                                                                          \
    [STAT] = {code, text}, [TOP] = {code, text}, [PEEK] = {code, text}, [GET] = {code, text},      \
    [RANK] = {code, text}, [DEAD] = {code, text}
#define ALL(code, text)                                                                            \
    [LIST] = {code, text}, [SHOW] = {code, text}, [FLEET] = {code, text}, SLOTS(code, text)

/* In this order: what is broken stays broken.  A doctor ends with 1 because of servers that keep
 * nothing on disk. */
#define NOBODY_ASKS "no member of the fleet asks for topic "
#define SEE_RIGHTS  "; SECURITY.md lists the rights of each role"
#define GIVE_RIGHTS "give the user the rights of its role in SECURITY.md, at all nodes"
static const struct look_state look_states[] = {
    {"nobody consumes",
     "idle",
     NULL,
     NULL,
     NULL,
     {{0, "idle"},
      {0, "idle"},
      {0, "idle"},
      {0, "idle"},
      {0, "waiting"},
      {1, "has no message of the id"},
      {1, "has no message of the id"},
      {0, ""},
      {1, NOBODY_ASKS "idle"},
      {1, "it was never consumed"},
      {1, "it was never consumed, and 1 messages are due"}}},
    {"paused",
     "halted",
     NULL,
     NULL,
     NULL,
     {{0, "paused"},
      {0, "paused"},
      {0, "paused"},
      {0, "paused"},
      {0, "waiting"},
      {1, "has no message of the id"},
      {1, "has no message of the id"},
      {0, ""},
      {1, NOBODY_ASKS "halted"},
      {1, ""},
      {0, "OK"}}},
    {"groups",
     "ship",
     NULL,
     NULL,
     NULL,
     {{0, "ship/eu"},
      {0, "eu,us"},
      {0, "ship/us"},
      {0, "ship/us"},
      {64, "name one of them: ship/eu, ship/us"},
      {64, "name one of them: ship/eu, ship/us"},
      {64, "name one of them: ship/eu, ship/us"},
      {64, "name one of them: ship/eu, ship/us"},
      {1, NOBODY_ASKS "ship"},
      {1, ""},
      {0, "ship/us due"}}},
    {"unknown name",
     "idel",
     NULL,
     NULL,
     NULL,
     {{0, ""},
      {1, "no topic idel; did you mean idle?"},
      {1, "no topic idel; did you mean idle?"},
      {1, "no topic idel; did you mean idle?"},
      {1, "no topic idel; did you mean idle?"},
      {1, "no topic idel; did you mean idle?"},
      {1, "no topic idel; did you mean idle?"},
      {1, "no topic idel; did you mean idle?"},
      {1, "no topic idel; did you mean idle?"},
      {1, ""},
      {3, "UNKNOWN - idel: no topic idel; did you mean idle?"}}},
    {"no Redis",
     "idle",
     "-r",
     "127.0.0.1:1",
     NULL,
     {ALL(69, "127.0.0.1:1: connection refused"), [DOCTOR] = {2, "127.0.0.1:1: connection"},
      [CHECK] = {2, "127.0.0.1:1: connection refused"}}},
    {"no rights",
     "idle",
     "-r",
     "poor",
     deny_all,
     {ALL(77, "NOPERM"), [DOCTOR] = {2, "NOPERM"}, [CHECK] = {3, "UNKNOWN - redis: "}}},
    {"only reading",
     "idle",
     "-r",
     "poor",
     allow_reading,
     {ALL(77, "'cluster|slots' command" SEE_RIGHTS), [DOCTOR] = {2, GIVE_RIGHTS},
      [CHECK] = {3, GIVE_RIGHTS}}},
    {"no channels",
     "idle",
     "-r",
     "poor",
     deny_channels,
     {{0, "idle"},
      {0, "idle"},
      {0, "idle"},
      {0, "idle"},
      {0, "waiting"},
      {1, "has no message of the id"},
      {1, "has no message of the id"},
      {0, ""},
      {1, NOBODY_ASKS "idle"},
      {1, "ACL SETUSER poor &wake{halted_*, at all nodes; see SECURITY.md"},
      {1, "it was never consumed"}}},
    {"no scripts",
     "idle",
     "-r",
     "poor",
     deny_scripts,
     {SLOTS(77, "'evalsha' command" SEE_RIGHTS), [LIST] = {0, "idle"}, [SHOW] = {0, "idle"},
      [FLEET] = {1, NOBODY_ASKS "idle"}, [DOCTOR] = {2, GIVE_RIGHTS},
      [CHECK] = {3, "'evalsha' command -> " GIVE_RIGHTS}}},
    {"no time in scripts",
     "idle",
     "-r",
     "poor",
     deny_the_time,
     {SLOTS(77, SEE_RIGHTS), [LIST] = {0, "idle"}, [SHOW] = {0, "idle"},
      [FLEET] = {1, NOBODY_ASKS "idle"}, [DOCTOR] = {2, GIVE_RIGHTS},
      [CHECK] = {3, "'time' command"}}},
    {"no ZooKeeper",
     "idle",
     "-z",
     "127.0.0.1:1",
     NULL,
     {{0, ""},
      {0, ""},
      {0, ""},
      {0, ""},
      {0, ""},
      {1, ""},
      {1, ""},
      {0, ""},
      {69, "no ZooKeeper at 127.0.0.1:1 answered"},
      {2, "no ZooKeeper at"},
      {2, "no ZooKeeper at 127.0.0.1:1 answered"}}},
    {"list of topics lost",
     "idle",
     NULL,
     NULL,
     lose_the_list,
     {{0, "Redis has lost the names of"},
      {0, "idle"},
      {0, "idle"},
      {0, "idle"},
      {0, "waiting"},
      {1, "has no message of the id"},
      {1, "has no message of the id"},
      {0, ""},
      {1, NOBODY_ASKS "idle"},
      {2, "slotmq topic repair --all"},
      {1, "it was never consumed"}}},
    {"damaged",
     "torn",
     NULL,
     NULL,
     lose_a_slot,
     {{0, "torn"},
      {0, "torn"},
      {1, "slotmq topic repair torn"},
      {1, "slotmq topic repair torn"},
      {1, "slotmq topic repair torn"},
      {1, "slotmq topic repair torn"},
      {1, "slotmq topic repair torn"},
      {1, "slotmq topic repair torn"},
      {1, NOBODY_ASKS "torn"},
      {2, "slotmq topic repair torn"},
      {2, "CRITICAL - torn: Redis has lost a part of 1"}}},
    {"one master away",
     "whole",
     NULL,
     NULL,
     lose_a_master,
     {{69, "cannot read topic orders"},
      {0, "whole"},
      {69, "connection refused"},
      {1, "silent slots: slotmq stat whole says why"},
      {69, "connection refused"},
      {69, "connection refused"},
      {69, "connection refused"},
      {69, "connection refused"},
      {1, NOBODY_ASKS "whole"},
      {2, "connection refused"},
      {2, "connection refused"}}},
};

static struct servers *looked_at(void)
{
    static const char *const config[] = {"cluster-require-full-coverage no", NULL};
    static const char *const names[] = {"idle", "halted", "whole", "orders"};
    struct servers *servers = servers_start(&(struct servers_options){
        .redis = REDIS_CLUSTER, .redis_config = config, .zookeeper = true});
    const char *redis = NULL;

    assert_non_null(servers);
    redis = servers_redis(servers);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        command_done(NULL, ARGS("-r", redis, "topic", "create", names[i], "--slots", "8"));
    }
    command_done(NULL, ARGS("-r", redis, "topic", "create", "torn", "--slots", "1"));
    command_done(NULL,
                 ARGS("-r", redis, "topic", "create", "ship", "--groups", "eu,us", "--slots", "2"));
    command_done(NULL, ARGS("-r", redis, "send", "idle", "a"));
    command_done(NULL, ARGS("-r", redis, "send", "halted", "a"));
    command_done(NULL, ARGS("-r", redis, "pause", "halted"));
    /* there is a fleet, and nobody is in it */
    command_done(NULL, ARGS("-r", redis, "-z", servers_zookeeper(servers), "consume", "orders",
                            "--exit-when-empty"));
    return servers;
}

static bool look(const struct servers *servers, const struct look_state *state, size_t verb)
{
    const struct said *said = &state->said[verb];
    const char *words[20] = {NULL};
    char user[256];
    size_t count = 0;
    struct run run;

    /* short where servers do not answer, and long where a busy machine answers late */
    const bool waits = state->make == lose_a_master || strcmp(state->name, "no ZooKeeper") == 0;
    for (size_t i = 0; looks[verb][i] != NULL; i++) {
        words[count++] = strcmp(looks[verb][i], "T") == 0 ? state->topic : looks[verb][i];
    }
    const char *const more[] = {"-r",        servers_redis(servers),
                                "-z",        servers_zookeeper(servers),
                                "--timeout", waits ? "3s" : "60s"};
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        words[count++] = more[i];
    }
    if (state->option) {
        snprintf(user, sizeof(user), "redis://poor:pw@%s",
                 server_address(servers_node(servers, 1)));
        words[count++] = state->option;
        words[count++] = strcmp(state->value, "poor") == 0 ? user : state->value;
    }
    command_run(&run, NULL, words);
    const bool good =
        run.exit_code == said->code && (strstr(run.out, said->text) || strstr(run.err, said->text));
    if (!good) {
        print_error("%s: %s %s: exit %d, not %d with \"%s\": %s%s", state->name, looks[verb][0],
                    looks[verb][1] ? looks[verb][1] : "", run.exit_code, said->code, said->text,
                    run.out, run.err);
    }
    run_fini(&run);
    return good;
}

static void every_verb_that_looks_says_what_is_wrong(void **state)
{
    struct servers *servers = looked_at();
    int wrong = 0;

    for (size_t i = 0; i < sizeof(look_states) / sizeof(look_states[0]); i++) {
        if (look_states[i].make) {
            look_states[i].make(servers);
        }
        for (size_t verb = 0; verb < LOOKS; verb++) {
            wrong += look(servers, &look_states[i], verb) ? 0 : 1;
        }
    }
    servers_free(servers);
    assert_int_equal(wrong, 0);
}

/* Verbs that act, and those that look at several topics. */
static void a_name_with_a_slip_is_asked_about(void **state)
{
    const char *const *const calls[] = {ARGS("send", "mispelled", "a"),
                                        ARGS("consume", "mispelled", "--count", "1"),
                                        ARGS("pause", "mispelled"),
                                        ARGS("resume", "mispelled"),
                                        ARGS("topic", "alter", "mispelled", "max_retries=3"),
                                        ARGS("topic", "delete", "mispelled"),
                                        ARGS("topic", "repair", "mispelled"),
                                        ARGS("topic", "rebind", "mispelled"),
                                        ARGS("copy", "mispelled", "misspelled"),
                                        ARGS("purge", "mispelled", "--state", "waiting", "--yes"),
                                        ARGS("dead", "requeue", "mispelled", "--all"),
                                        ARGS("stat", "mispelled", "misspelled", "--prometheus")};
    char *out = NULL;

    command_done(NULL, ARGS("topic", "create", "misspelled"));
    command_done(NULL, ARGS("topic", "create", "parcels", "--groups", "eu,us"));
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        command_refused(1, "no topic mispelled; did you mean misspelled?", NULL, calls[i]);
    }
    command_refused(1, "no topic parcel; did you mean parcels?", NULL, ARGS("send", "parcel", "a"));
    out = command_partly(1, "no topic mispelled; did you mean misspelled?",
                         ARGS("stat", "mispelled", "misspelled"));
    assert_non_null(strstr(out, "misspelled "));
    free(out);
}

TEST_GROUP(states)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_while_all_is_well),
        cmocka_unit_test(quiet_says_no_warning),
        cmocka_unit_test(paused_topic_is_said),
        cmocka_unit_test(standby_is_said),
        cmocka_unit_test(member_without_a_slot_is_said),
        cmocka_unit_test(member_that_returns_under_its_name_is_said),
        cmocka_unit_test(silent_zookeeper_is_the_reason_for_no_slot),
        cmocka_unit_test(lost_redis_is_said_once),
        cmocka_unit_test(silent_redis_is_said_once),
        cmocka_unit_test(redis_that_is_silent_from_the_start_is_refused),
        cmocka_unit_test(lost_zookeeper_is_said_once),
        cmocka_unit_test(silent_zookeeper_is_said_once),
        cmocka_unit_test(stop_without_zookeeper_uses_no_retry),
        cmocka_unit_test(who_may_not_subscribe_is_denied),
        cmocka_unit_test(every_verb_that_looks_says_what_is_wrong),
        cmocka_unit_test(a_name_with_a_slip_is_asked_about),
    };

    return cmocka_run_group_tests_name("states", tests, command_setup, command_teardown);
}
