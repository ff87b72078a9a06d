/* test_tree.c - sessions with a tree in a real Redis: nodes and checks, the end of a session, what
 * is published, a server that starts anew with older data, and what else Redis does to them. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/random.h"
#include "peer.h"
#include "support/group.h"
#include "support/servers.h"
#include "support/wait.h"

enum { SHORT_MS = 1000, LONG_MS = 10000 };

static struct servers *servers;
static struct server *server;

static int start_server(void **state)
{
    static const char *const config[] = {"save \"\"", "appendonly no", NULL};

    (void) state;
    servers =
        servers_start(&(struct servers_options){.redis = REDIS_SINGLE, .redis_config = config});
    server = servers != NULL ? servers_node(servers, 0) : NULL;
    return server != NULL ? 0 : -1;
}

static int stop_server(void **state)
{
    (void) state;
    servers_free(servers);
    return 0;
}

/* A root that no other test has. */
static const char *new_root(void)
{
    static char root[32] = "/t";

    random_hex(root + 2, 9);
    return root;
}

static void start(struct peer *peer, const char *root, int64_t timeout_ms)
{
    peer_start(peer, servers_redis(servers), root, timeout_ms);
}

/* The first of them to come makes the nodes that all need, when the grace of a new tree is over. */
static void make_folders(struct peer *peer)
{
    (void) peer_do(peer, SESSION_CREATE, "", "root", 0);
    (void) peer_do(peer, SESSION_CREATE, "members", "", 0);
    (void) peer_do(peer, SESSION_CREATE, "topics", "", 0);
}

/* Wait until the list is this one. */
static void await_list(struct peer *peer, const char *path, const char *names)
{
    while (strcmp(peer_list(peer, path, true).text, names) != 0) {
        peer_await_change(peer, path);
    }
}

static void nodes_are_made_read_written_and_removed(void **state)
{
    struct peer peer;
    struct peer_reply made, got;

    (void) state;
    start(&peer, new_root(), SHORT_MS);
    assert_int_equal(peer_get(&peer, "", false).status, SESSION_NO_NODE);
    make_folders(&peer);
    made = peer_do(&peer, SESSION_CREATE, "topics/t", "one", 0);
    assert_true(made.stat.version > UINT32_MAX); /* 64 bits */
    got = peer_get(&peer, "topics/t", false);
    assert_string_equal(got.text, "one");
    assert_int_equal(got.stat.version, made.stat.version);
    assert_int_equal(got.stat.czxid, made.stat.mzxid);
    assert_int_equal(got.stat.owner, 0);

    made = peer_do(&peer, SESSION_SET, "topics/t", "two", got.stat.version);
    assert_true(made.stat.mzxid > got.stat.mzxid);
    assert_int_equal(made.stat.czxid, got.stat.czxid);
    assert_int_equal(made.stat.writes, 1);
    (void) peer_do(&peer, SESSION_CREATE, "topics/u", "", 0);
    assert_string_equal(peer_list(&peer, "topics", false).text, "t u ");
    (void) peer_do(&peer, SESSION_DELETE, "topics/t", "", made.stat.version);
    assert_int_equal(peer_get(&peer, "topics/t", false).status, SESSION_NO_NODE);
    assert_int_equal(peer_list(&peer, "topics/t", false).status, SESSION_NO_NODE);
    peer_stop(&peer);
}

/* Each of these writes is refused, for the reason that its last operation gives; the first one
 * would do something. */
static void a_write_is_done_as_a_whole_or_not_at_all(void **state)
{
    static const struct {
        struct session_op op;
        enum session_status status;
    } cases[] = {
        {{.kind = SESSION_CHECK, .path = "topics/t", .version = 1}, SESSION_CHANGED},
        {{.kind = SESSION_SET, .path = "topics/t", .version = 1}, SESSION_CHANGED},
        {{.kind = SESSION_DELETE, .path = "topics/t", .version = 1}, SESSION_CHANGED},
        {{.kind = SESSION_CHECK, .path = "topics/no", .version = 1}, SESSION_NO_NODE},
        {{.kind = SESSION_CREATE, .path = "topics/t"}, SESSION_EXISTS},
        {{.kind = SESSION_CREATE, .path = "topics/no/assignment"}, SESSION_NO_NODE},
        {{.kind = SESSION_DELETE, .path = "topics"}, SESSION_NOT_EMPTY},
    };
    struct peer peer;
    struct peer_reply folder, reply;

    (void) state;
    start(&peer, new_root(), SHORT_MS);
    make_folders(&peer);
    (void) peer_do(&peer, SESSION_CREATE, "topics/t", "", 0);
    folder = peer_get(&peer, "topics", false);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct session_op ops[2] = {{.kind = SESSION_CREATE, .path = "topics/new"}, cases[i].op};

        if (cases[i].status == SESSION_NOT_EMPTY) {
            ops[1].version = folder.stat.version;
        }
        reply = peer_write(&peer, ops, 2);
        assert_int_equal(reply.status, cases[i].status);
        assert_int_equal(reply.errors[0], SESSION_OK);
        assert_int_equal(reply.errors[1], cases[i].status);
        assert_int_equal(peer_get(&peer, "topics/new", false).status, SESSION_NO_NODE);
    }
    peer_stop(&peer);
}

static void a_session_that_is_closed_takes_its_nodes_along(void **state)
{
    const char *root = new_root();
    struct peer first, second;

    (void) state;
    start(&first, root, LONG_MS);
    start(&second, root, LONG_MS);
    make_folders(&first);
    (void) peer_do(&second, SESSION_CREATE_EPHEMERAL, "members/b", "b", 0);
    (void) peer_do(&second, SESSION_CREATE_EPHEMERAL, "leader", "b", 0);
    assert_string_equal(peer_list(&first, "members", true).text, "b ");
    assert_string_equal(peer_get(&first, "leader", true).text, "b");
    peer_stop(&second);
    peer_await_change(&first, "members");
    peer_await_change(&first, "leader");
    assert_string_equal(peer_list(&first, "members", false).text, "");
    peer_stop(&first);
}

static void a_session_that_is_not_kept_ends(void **state)
{
    static const int64_t others_ms[] = {SHORT_MS, LONG_MS};

    for (size_t i = 0; i < sizeof(others_ms) / sizeof(others_ms[0]); i++) {
        const char *root = new_root();
        struct peer first, second;

        start(&first, root, others_ms[i]);
        start(&second, root, SHORT_MS);
        make_folders(&first);
        (void) peer_do(&second, SESSION_CREATE_EPHEMERAL, "members/b", "b", 0);
        (void) peer_do(&first, SESSION_CREATE_EPHEMERAL, "members/a", "a", 0);
        peer_die(&second);
        await_list(&first, "members", "a ");
        assert_int_equal(peer_events(&first, PEER_EXPIRED), 0);
        peer_stop(&first);
    }
}

/* Watches fire once, by what is published and not only by the next call that keeps the session. */
static void watches_fire_at_once(void **state)
{
    const char *root = new_root();
    struct peer first, second;
    struct peer_reply node;

    (void) state;
    start(&first, root, LONG_MS);
    start(&second, root, LONG_MS);
    make_folders(&first);
    (void) peer_list(&first, "topics", true);
    node = peer_do(&second, SESSION_CREATE, "topics/t", "1", 0);
    peer_await_change(&first, "topics");
    for (int i = 0; i < 20; i++) {
        assert_string_equal(peer_get(&first, "topics/t", true).text, i % 2 == 0 ? "1" : "2");
        node = peer_do(&second, SESSION_SET, "topics/t", i % 2 == 0 ? "2" : "1", node.stat.version);
        peer_await_change(&first, "topics/t");
    }
    peer_stop(&second);
    peer_stop(&first);
}

/* The server may not publish, as when the right to the channel is missing: what is missed is found
 * with a call that keeps the session. */
static void a_change_that_was_not_published_is_found(void **state)
{
    static const char *const rule[] = {"ACL", "SETUSER", "default", "-spublish", NULL};
    static const char *const back[] = {"ACL", "SETUSER", "default", "+spublish", NULL};
    const char *root = new_root();
    struct peer first, second;

    (void) state;
    start(&first, root, SHORT_MS);
    start(&second, root, SHORT_MS);
    make_folders(&first);
    (void) peer_list(&first, "topics", true);
    (void) client_run(&first.client, NULL, rule);
    (void) peer_do(&second, SESSION_CREATE, "topics/t", "1", 0);
    peer_await_change(&first, "topics");
    (void) client_run(&first.client, NULL, back);
    peer_stop(&second);
    peer_stop(&first);
}

/* Wait until the grace of another reign than `reign` is over. */
static void await_settled(struct peer *peer, int64_t reign)
{
    for (;;) {
        int told = peer_told(peer);

        (void) peer_list(peer, "members", true);
        if (peer_reign(peer) != reign && peer_reign(peer) != 0) {
            return;
        }
        peer_await_told(peer, told);
    }
}

/* A call has room for a part of the channels only: what was not published is found on each. */
static void as_many_channels_as_there_are_topics_are_compared(void **state)
{
    enum { TOPICS = 8300 };
    static const char *const rule[] = {"ACL", "SETUSER", "default", "-spublish", NULL};
    static const char *const back[] = {"ACL", "SETUSER", "default", "+spublish", NULL};
    const char *root = new_root();
    struct peer first, second;
    char path[32];

    (void) state;
    start(&first, root, SHORT_MS);
    start(&second, root, SHORT_MS);
    make_folders(&first);
    await_settled(&first, 0);
    for (int i = 0; i < TOPICS; i++) {
        (void) snprintf(path, sizeof(path), "topics/%d", i);
        (void) peer_list(&first, path, true);
    }
    (void) client_run(&first.client, NULL, rule);
    (void) peer_do(&second, SESSION_CREATE, "topics/8299", "", 0);
    (void) peer_do(&second, SESSION_CREATE, "topics/8299/assignment", "", 0);
    peer_await_change(&first, "topics/8299");
    (void) client_run(&first.client, NULL, back);
    peer_stop(&second);
    peer_stop(&first);
}

/* A slow machine may answer late, which is away; then it is asked again. */
static struct peer_reply get_when_there(struct peer *peer, const char *path)
{
    for (;;) {
        const int told = peer_told(peer);
        const struct peer_reply reply = peer_get(peer, path, false);

        if (reply.status != SESSION_AWAY) {
            return reply;
        }
        peer_await_told(peer, told);
    }
}

/* The server starts anew with data from before the second one came: that one resumes with its
 * incarnation, the third one, which has died, ends when the grace is over, and nobody who lives has
 * lost the session. */
static void who_lives_resumes_in_a_new_reign(void **state)
{
    static const char *const save[] = {"SAVE", NULL};
    const char *root = new_root();
    struct peer first, second, third;
    struct peer_reply node, before;
    const struct session_op old = {.kind = SESSION_SET, .path = "topics", .data = "x", .len = 1};
    int64_t reign = 0;

    (void) state;
    start(&first, root, SHORT_MS);
    start(&third, root, SHORT_MS);
    make_folders(&first);
    (void) peer_do(&first, SESSION_CREATE_EPHEMERAL, "members/a", "a", 0);
    (void) peer_do(&third, SESSION_CREATE_EPHEMERAL, "members/c", "c", 0);
    (void) client_run(&first.client, NULL, save);
    start(&second, root, SHORT_MS);
    (void) peer_do(&second, SESSION_CREATE_EPHEMERAL, "members/b", "b", 0);
    before = peer_get(&second, "members/b", false);
    await_settled(&first, 0);
    reign = peer_reign(&first);
    server_kill(server);
    peer_die(&third);
    assert_true(server_restart(server));

    await_settled(&first, reign);
    assert_true(peer_reign(&first) > reign);
    assert_string_equal(peer_list(&first, "members", false).text, "a b ");
    node = get_when_there(&second, "members/b");
    assert_int_equal(node.stat.czxid, before.stat.czxid);
    assert_int_equal(node.stat.owner, before.stat.owner);
    assert_int_equal(peer_events(&first, PEER_EXPIRED), 0);
    assert_int_equal(peer_events(&second, PEER_EXPIRED), 0);
    assert_int_equal(peer_write(&second, &old, 1).status, SESSION_CHANGED);
    peer_stop(&second);
    peer_stop(&first);
}

/* A text and its number; the number of Redis may be of another era. */
static void numbers_go_above_those_of_redis(void **state)
{
    struct peer peer;
    struct peer_reply node;
    struct session_op op = {.kind = SESSION_RAISE, .path = "topics/t"};

    (void) state;
    start(&peer, new_root(), SHORT_MS);
    make_folders(&peer);
    await_settled(&peer, 0);
    node = peer_do(&peer, SESSION_CREATE, "topics/t", "text", 0);
    op.version = node.stat.version;
    op.above = node.stat.mzxid + (INT64_C(9) << 32);
    assert_int_equal(peer_write(&peer, &op, 1).status, SESSION_OK);
    assert_int_equal(peer_write(&peer, &op, 1).status, SESSION_CHANGED);
    node = peer_get(&peer, "topics/t", false);
    assert_true(node.stat.mzxid > op.above);
    assert_string_equal(node.text, "text");
    assert_true(peer_do(&peer, SESSION_CREATE, "topics/u", "", 0).stat.mzxid > node.stat.mzxid);
    peer_stop(&peer);
}

/* --- what Redis does --- */

/* A command in which %s stands for `last`. */
static redisReply *run(const char *command, const char *last)
{
    redisContext *redis = redisConnect("127.0.0.1", server_port(server));
    redisReply *reply = NULL;

    assert_true(redis != NULL && redis->err == 0);
    reply = redisCommand(redis, command, last);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    redisFree(redis);
    return reply;
}

static void do_command(const char *command)
{
    freeReplyObject(run(command, NULL));
}

static void stand_still(bool begins)
{
    if (begins) {
        server_pause(server);
    } else {
        server_resume(server);
    }
}

static void pause_clients(bool begins)
{
    if (begins) { /* it ends by itself */
        do_command("CLIENT PAUSE 2500 ALL");
    }
}

static void lack_replicas(bool begins)
{
    do_command(begins ? "CONFIG SET min-replicas-to-write 1"
                      : "CONFIG SET min-replicas-to-write 0");
}

static void lack_memory(bool begins)
{
    do_command(begins ? "CONFIG SET maxmemory 1" : "CONFIG SET maxmemory 0");
}

static void lack_info(bool begins)
{
    do_command(begins ? "ACL SETUSER default -info" : "ACL SETUSER default +info");
}

static void lack_keys(bool begins)
{
    do_command(begins ? "ACL SETUSER default resetkeys" : "ACL SETUSER default allkeys");
}

static bool has_failed_to_save(void *arg)
{
    redisReply *reply = run("INFO persistence", NULL);
    const bool failed = strstr(reply->str, "rdb_last_bgsave_status:err") != NULL;

    (void) arg;
    freeReplyObject(reply);
    return failed;
}

static void fail_to_save(bool begins)
{
    char path[64];

    (void) snprintf(path, sizeof(path), "/proc/%d/cwd/dump.rdb", (int) server_pid(server));
    if (begins) {
        (void) unlink(path);
        assert_int_equal(mkdir(path, 0700), 0);
        freeReplyObject(run("CONFIG SET save %s", "3600 1"));
        do_command("BGSAVE");
        assert_true(wait_until(has_failed_to_save, NULL, LONG_MS));
    } else {
        assert_int_equal(rmdir(path), 0);
        freeReplyObject(run("CONFIG SET save %s", ""));
        do_command("SAVE");
    }
}

static bool has_passed(void *arg)
{
    const int64_t *at_ms = arg;

    return clock_now_ms() >= *at_ms;
}

/* Whatever Redis does for longer than the time-out: the tree is away, or nothing is noticed, and no
 * session has ended. */
static void what_redis_does_not_do_is_never_the_end_of_a_session(void **state)
{
    static const struct {
        const char *name;
        void (*set)(bool begins);
        bool passes;
    } cases[] = {
        {"SIGSTOP", stand_still, false},           {"CLIENT PAUSE", pause_clients, false},
        {"NOREPLICAS", lack_replicas, false},      {"OOM", lack_memory, true},
        {"NOPERM of a command", lack_info, false}, {"NOPERM of keys", lack_keys, false},
        {"MISCONF", fail_to_save, false},
    };
    struct peer peer;
    struct peer_reply node, now;

    (void) state;
    start(&peer, new_root(), SHORT_MS);
    make_folders(&peer);
    node = peer_do(&peer, SESSION_CREATE_EPHEMERAL, "members/a", "a", 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int away = peer_events(&peer, PEER_DISCONNECTED);
        const int back = peer_events(&peer, PEER_CONNECTED);
        int64_t at_ms = clock_now_ms() + 3 * SHORT_MS / 2;

        print_message("%s\n", cases[i].name);
        cases[i].set(true);
        if (!cases[i].passes) {
            peer_await(&peer, PEER_DISCONNECTED, away + 1);
        }
        (void) wait_until(has_passed, &at_ms, LONG_MS);
        if (cases[i].passes) {
            node.stat = peer_do(&peer, SESSION_SET, "members/a", "b", node.stat.version).stat;
        }
        cases[i].set(false);
        if (!cases[i].passes) {
            peer_await(&peer, PEER_CONNECTED, back + 1);
        }
        now = get_when_there(&peer, "members/a");
        assert_int_equal(now.stat.czxid, node.stat.czxid);
        assert_true(peer_events(&peer, PEER_DISCONNECTED) >= away + (cases[i].passes ? 0 : 1));
        assert_int_equal(peer_events(&peer, PEER_EXPIRED), 0);
    }
    peer_stop(&peer);
}

/* At its beginning it is refused, because it will not come by itself. */
static void a_right_that_is_missing_at_first_is_refused(void **state)
{
    static const char *const rule[] = {"ACL", "SETUSER", "default", "-info", NULL};
    static const char *const back[] = {"ACL", "SETUSER", "default", "+info", NULL};
    struct peer first, second;

    (void) state;
    start(&first, new_root(), LONG_MS);
    (void) client_run(&first.client, NULL, rule);
    peer_begin(&second, servers_redis(servers), new_root(), SHORT_MS);
    peer_await(&second, PEER_DENIED, 1);
    (void) client_run(&first.client, NULL, back);
    peer_stop(&second);
    peer_stop(&first);
}

TEST_GROUP(tree)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_made_read_written_and_removed),
        cmocka_unit_test(a_write_is_done_as_a_whole_or_not_at_all),
        cmocka_unit_test(a_session_that_is_closed_takes_its_nodes_along),
        cmocka_unit_test(a_session_that_is_not_kept_ends),
        cmocka_unit_test(watches_fire_at_once),
        cmocka_unit_test(a_change_that_was_not_published_is_found),
        cmocka_unit_test(as_many_channels_as_there_are_topics_are_compared),
        cmocka_unit_test(who_lives_resumes_in_a_new_reign),
        cmocka_unit_test(numbers_go_above_those_of_redis),
        cmocka_unit_test(what_redis_does_not_do_is_never_the_end_of_a_session),
        cmocka_unit_test(a_right_that_is_missing_at_first_is_refused),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
