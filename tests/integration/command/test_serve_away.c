/* test_serve_away.c - slotmq serve while servers are away or refuse writes, and the port of slotmq
 * consume. */
#include "http.h"
#include "support/group.h"
#include "support/wait.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each topic has slots on all three nodes. */
static int set_up(void **state)
{
    static const char *const config[] = {"cluster-require-full-coverage no", NULL};

    if (command_setup_with(
            &(struct servers_options){.redis = REDIS_CLUSTER, .redis_config = config}) != 0) {
        return -1;
    }
    command_done(NULL, ARGS("topic", "create", "orders", "--slots", "8"));
    command_done(NULL, ARGS("topic", "create", "others", "--slots", "8"));
    return 0;
}

/* === Awaiting =========================================================== */

struct awaited {
    const struct http *http;
    const char *path;
    int status;
    const char *text; /* in the body */
};

static bool is_answered(void *user)
{
    const struct awaited *awaited = user;
    struct http_answer answer;

    http_get(&answer, awaited->http, awaited->path, "");
    const bool is = answer.status == awaited->status && strstr(answer.body, awaited->text);
    http_fini(&answer);
    return is;
}

static void await_answer(const struct http *http, const char *path, int status, const char *text)
{
    struct awaited awaited = {http, path, status, text};

    if (!wait_until(is_answered, &awaited, TIMEOUT_MS)) {
        struct http_answer answer;
        http_get(&answer, http, path, "");
        fail_msg("%s stays %d %s", path, answer.status, answer.body);
    }
}

static void pause_all(bool paused)
{
    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        struct server *node = servers_node(command_servers(), i);
        if (paused) {
            server_pause(node);
        } else {
            server_resume(node);
        }
    }
}

/* === serve ============================================================== */

/* Is it shown that something of the topics cannot be read? */
static bool is_missing_something(void *user)
{
    json_t *document = http_json(user, "/api/v1/topics");
    const json_t *topics = json_object_get(document, "topics");
    const json_t *reading = json_object_get(document, "reading");
    bool missing = strcmp(json_text(reading, "code"), "SMQ_OK") != 0;

    for (size_t i = 0; i < json_array_size(topics); i++) {
        const json_t *topic = json_array_get(topics, i);
        missing = missing || json_number(topic, "slots_silent") > 0 ||
                  json_is_string(json_object_get(topic, "unreadable"));
    }
    json_decref(document);
    return missing;
}

static bool is_whole(void *user)
{
    return !is_missing_something(user);
}

static void test_a_master_that_is_away_is_seen_and_comes_back(void **state)
{
    struct http http = {.port = 0};

    http_start(&http, ARGS("serve", "--listen", "127.0.0.1:0", "-X", "request_timeout_ms=1s"));
    await_answer(&http, "/readyz", 200, "ok");
    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        struct server *node = servers_node(command_servers(), i);
        server_pause(node);
        const bool seen = wait_until(is_missing_something, &http, TIMEOUT_MS);
        server_resume(node);
        assert_true(seen);
        assert_true(wait_until(is_whole, &http, TIMEOUT_MS));
    }
    await_answer(&http, "/readyz", 200, "ok");
    http_end(&http);
}

struct later {
    const struct http *http;
    const char *topic;
    int64_t read_at_ms;
};

/* Was the topic read again, without an error? */
static bool is_read_later(void *user)
{
    const struct later *later = user;
    json_t *document = http_json(later->http, "/api/v1/topics");
    const json_t *topics = json_object_get(document, "topics");
    bool read = false;

    for (size_t i = 0; i < json_array_size(topics); i++) {
        const json_t *topic = json_array_get(topics, i);
        read = read || (strcmp(json_text(topic, "topic"), later->topic) == 0 &&
                        json_number(topic, "read_at_ms") > later->read_at_ms &&
                        json_number(topic, "slots_silent") > 0);
    }
    read = read && strcmp(json_text(json_object_get(document, "reading"), "code"), "SMQ_OK") == 0;
    json_decref(document);
    return read;
}

/* The list of all topics and a definition are on the master that is away; the other topic is read,
 * and of the master nothing is shown but that it does not answer. */
static void test_topics_of_the_others_are_read_without_the_list(void **state)
{
    struct server *list = servers_node_of(command_servers(), "slotmq{topics}");
    struct http http = {.port = 0};
    struct later later = {.http = &http, .topic = "orders"};

    if (servers_node_of(command_servers(), "topic{orders}") == list) {
        later.topic = "others";
        assert_ptr_not_equal(servers_node_of(command_servers(), "topic{others}"), list);
    }
    http_start(&http, ARGS("serve", "--listen", "127.0.0.1:0", "-X", "request_timeout_ms=1s"));
    await_answer(&http, "/readyz", 200, "ok");
    server_pause(list);
    json_t *document = http_json(&http, "/api/v1/topics");
    later.read_at_ms = json_number(json_object_get(document, "reading"), "at_ms");
    json_decref(document);
    const bool read = wait_until(is_read_later, &later, TIMEOUT_MS);
    document = http_json(&http, "/api/v1/servers");
    server_resume(list);
    assert_true(read);
    const json_t *servers = json_object_get(document, "servers");
    for (size_t i = 0; i < json_array_size(servers); i++) {
        const json_t *server = json_array_get(servers, i);
        const bool silent = strcmp(json_text(server, "code"), "SMQ_OK") != 0;
        assert_int_equal(silent, strcmp(json_text(server, "address"), server_address(list)) == 0);
        assert_int_equal(silent, json_is_null(json_object_get(server, "kind")));
        assert_int_equal(silent, json_is_null(json_object_get(server, "cluster")));
        assert_int_equal(silent, json_is_null(json_object_get(server, "clock_offset_ms")));
    }
    json_decref(document);
    http_end(&http);
}

static void test_it_is_not_ready_without_redis_and_goes_on(void **state)
{
    struct http http = {.port = 0};

    http_start(&http, ARGS("serve", "--listen", "127.0.0.1:0", "-X", "request_timeout_ms=1s"));
    await_answer(&http, "/readyz", 200, "ok");
    pause_all(true);
    await_answer(&http, "/readyz", 503, "\n");
    assert_int_equal(http_status(&http, "/healthz", ""), 200);
    await_answer(&http, "/api/v1/topics", 200, "\"orders\""); /* as it was */
    pause_all(false);
    await_answer(&http, "/readyz", 200, "ok");
    http_end(&http);
}

static void test_it_begins_without_redis(void **state)
{
    struct http http = {.port = 0};

    pause_all(true);
    http_start(&http, ARGS("serve", "--listen", "127.0.0.1:0", "-X", "connect_timeout_ms=500ms"));
    await_answer(&http, "/readyz", 503, "\n");
    await_answer(&http, "/api/v1/messages?topic=orders", 503, "SMQ_UNAVAILABLE");
    pause_all(false);
    await_answer(&http, "/readyz", 200, "ok");
    http_end(&http);
}

static void test_only_the_topics_that_are_named_are_shown(void **state)
{
    struct http http = {.port = 0};

    http_start(&http, ARGS("serve", "--listen", "127.0.0.1:0", "--topic", "none,others"));
    await_answer(&http, "/readyz", 200, "ok");
    json_t *topics = http_json(&http, "/api/v1/topics");
    assert_int_equal(json_number(topics, "total"), 1);
    json_decref(topics);
    assert_int_equal(http_status(&http, "/api/v1/topic?topic=others", ""), 200);
    assert_int_equal(http_status(&http, "/api/v1/topic?topic=orders", ""), 404);
    http_end(&http);
}

/* === consume ============================================================ */

static void test_a_consumer_has_metrics_and_health(void **state)
{
    struct http http = {.port = 0};

    http_start(&http, ARGS("consume", "orders", "--listen", "127.0.0.1:0", "--", "true"));
    await_answer(&http, "/readyz", 200, "ok");
    assert_int_equal(http_status(&http, "/healthz", ""), 200);
    command_done(NULL, ARGS("send", "orders", "body"));
    await_answer(&http, "/metrics", 200, "\nslotmq_messages_done_total 1\n");
    assert_int_equal(http_status(&http, "/api/v1/topics", ""), 404);
    assert_int_equal(http_status(&http, "/metrics", "Origin: http://evil.example\r\n"), 403);
    pause_all(true);
    await_answer(&http, "/readyz", 503, "\n");
    pause_all(false);
    await_answer(&http, "/readyz", 200, "ok");
    http_end(&http);
    command_refused(64, "give a token", NULL,
                    ARGS("consume", "orders", "--listen", "0.0.0.0:0", "--", "true"));
}

/* It is ready with slots, or as the spare of another process, which it says. */
static void test_a_consumer_is_ready_with_slots_or_as_a_spare(void **state)
{
    struct http owner = {.port = 0}, spare = {.port = 0};

    command_done(NULL, ARGS("topic", "create", "one", "--slots", "1"));
    http_start(&owner, ARGS("consume", "one", "--listen", "127.0.0.1:0", "--", "true"));
    await_answer(&owner, "/readyz", 200, "ok\n");
    http_start(&spare, ARGS("consume", "one", "--listen", "127.0.0.1:0", "--", "true"));
    await_answer(&spare, "/readyz", 503, "topic one: this process has no slot yet\n");
    await_answer(&spare, "/readyz", 200, "ok: topic one: this process has no slot, because ");
    assert_int_equal(http_status(&spare, "/healthz", ""), 200);
    http_end(&owner);
    await_answer(&spare, "/readyz", 200, "ok\n");
    http_end(&spare);
    command_done(NULL, ARGS("topic", "delete", "one", "--yes"));
}

/* === Servers that refuse writes ========================================= */

/* The definition and the only slot of this topic are on the same node. */
#define SOLO_HASH_SLOT "15869"

static void too_few_replicas(const struct server *node, bool begins)
{
    command_redis(node, ARGS("CONFIG", "SET", "min-replicas-to-write", begins ? "1" : "0"));
}

static void no_memory(const struct server *node, bool begins)
{
    command_redis(node, ARGS("CONFIG", "SET", "maxmemory", begins ? "1" : "0"));
}

/* A line of INFO persistence. */
struct persistence {
    const struct server *node;
    const char *line;
};

static bool is_persistence(void *user)
{
    const struct persistence *wanted = user;
    char port[8];
    struct run run;

    snprintf(port, sizeof(port), "%d", server_port(wanted->node));
    assert_true(run_command(
        &run, &(struct run_options){.argv = ARGS("redis-cli", "-p", port, "INFO", "persistence")},
        TIMEOUT_MS));
    const bool found = strstr(run.out, wanted->line) != NULL;
    run_fini(&run);
    return found;
}

static void await_persistence(const struct server *node, const char *line)
{
    struct persistence wanted = {.node = node, .line = line};

    assert_true(wait_until(is_persistence, &wanted, TIMEOUT_MS));
}

/* A folder has the name of the file. */
static void snapshots_fail(const struct server *node, bool begins)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/cwd/dump.rdb", (int) server_pid(node));
    if (begins) {
        assert_int_equal(mkdir(path, 0700), 0);
        command_redis(node, ARGS("CONFIG", "SET", "save", "3600 1"));
        command_redis(node, ARGS("BGSAVE"));
        await_persistence(node, "rdb_last_bgsave_status:err");
    } else {
        assert_int_equal(rmdir(path), 0);
        command_redis(node, ARGS("CONFIG", "SET", "save", ""));
        command_redis(node, ARGS("SAVE"));
        assert_int_equal(unlink(path), 0);
    }
}

/* The file that it begins with is a device that is full. */
static void append_only_file_fails(const struct server *node, bool begins)
{
    char folder[64], path[128];

    snprintf(folder, sizeof(folder), "/proc/%d/cwd/appendonlydir", (int) server_pid(node));
    snprintf(path, sizeof(path), "%s/temp-appendonly.aof.incr", folder);
    if (begins) {
        assert_int_equal(mkdir(folder, 0700), 0);
        assert_int_equal(symlink("/dev/full", path), 0);
        command_redis(node, ARGS("CONFIG", "SET", "appendonly", "yes"));
        /* the fleet may have written there before, and then the server refuses this */
        command_redis(node, ARGS("EVAL", "redis.pcall('SET', KEYS[1], 1)", "1", "x{solo}"));
        await_persistence(node, "aof_last_write_status:err");
    } else {
        command_redis(node, ARGS("CONFIG", "SET", "appendonly", "no"));
        command_redis(node, ARGS("DEL", "x{solo}"));
    }
}

static void a_hash_slot_is_without_a_master(const struct server *node, bool begins)
{
    command_redis(node,
                  ARGS("CONFIG", "SET", "cluster-require-full-coverage", begins ? "yes" : "no"));
    command_redis(node, ARGS("CLUSTER", begins ? "DELSLOTS" : "ADDSLOTS", SOLO_HASH_SLOT));
}

static void no_scripts(const struct server *node, bool begins)
{
    command_redis(node, ARGS("ACL", "SETUSER", "default", begins ? "-evalsha" : "+evalsha"));
}

/* What each part says of a server that refuses writes: `words` are those of Redis, and no two rows
 * that follow each other have the same code, of which an event says so once in a while.  Each
 * column is an exit code, a status of HTTP, or a part of the text. */
struct refusal {
    void (*set)(const struct server *node, bool begins);
    const char *words;
    int check;
    const char *checked, *advice; /* what check and doctor say, and what doctor advises */
    int send;                     /* 0: it is tried again for 10 s, as in the first row */
    int ready;                    /* the consumer's /readyz */
};

static const struct refusal refusals[] = {
    {append_only_file_fails, "MISCONF Errors writing to the AOF file", 2,
     "it refuses writes: MISCONF Errors writing to the AOF file", "its disk", 0, 503},
    {too_few_replicas, "NOREPLICAS Not enough good replicas to write.", 2,
     "it refuses writes: NOREPLICAS Not enough", "CONFIG SET min-replicas-to-write 0", 69, 503},
    {snapshots_fail, "MISCONF ", 2, "it refuses writes: MISCONF ", "its disk", 0, 503},
    {no_memory, "OOM command not allowed", 2, "it refuses writes: OOM command not allowed",
     "raise maxmemory", 75, 200},
    {a_hash_slot_is_without_a_master, "CLUSTERDOWN ", 2, "cluster_state is fail",
     "redis-cli --cluster", 0, 503},
    {no_scripts, "NOPERM ", 3, "not known: whether it takes writes may not be asked: NOPERM ",
     "SECURITY.md", 77, 503},
};

/* The verb ends so, and says both texts. */
static void assert_says(int code, const char *text, const char *more, const char *const *arguments)
{
    struct run run;
    const char *texts[] = {text, more};

    command_run(&run, NULL, arguments);
    for (size_t i = 0; i < 2; i++) {
        if (run.exit_code != code || (!strstr(run.out, texts[i]) && !strstr(run.err, texts[i]))) {
            fail_msg("%s: wanted %d and \"%s\"; exit %d: %s%s", arguments[0], code, texts[i],
                     run.exit_code, run.out, run.err);
        }
    }
    run_fini(&run);
}

static void assert_refusal_is_said(const struct refusal *row, const struct server *node,
                                   struct http *consumer)
{
    struct http serve = {.port = 0};
    char line[256];

    snprintf(line, sizeof(line), "%s: %s", server_address(node), row->checked);
    assert_says(row->check, line, row->advice, ARGS("check", "--timeout", "3s"));
    assert_says(2, row->checked, row->advice, ARGS("doctor", "--timeout", "3s"));
    if (row->send != 0) {
        assert_says(row->send, row->words, "", ARGS("send", "solo", "x"));
    }
    await_answer(consumer, "/readyz", row->ready, row->ready == 200 ? "ok" : row->words);
    if (row->ready != 200) {
        assert_true(run_wait_err(&consumer->run, row->words, TIMEOUT_MS));
    }
    http_start(&serve, ARGS("serve", "--listen", "127.0.0.1:0", "-X", "request_timeout_ms=1s"));
    if (row->check == 2) {
        await_answer(&serve, "/readyz", 503, line);
    }
    snprintf(line, sizeof(line), "slotmq_serve_check_status %d\n", row->check);
    await_answer(&serve, "/metrics", 200, line);
    http_end(&serve);
}

/* Of a fleet that is not on this server. */
static const char *root_beside(const struct server *node)
{
    static char root[] = "root=/a";
    char key[] = "tree{slotmq:/a}";

    while (servers_node_of(command_servers(), key) == node) {
        root[sizeof(root) - 2]++;
        key[sizeof(key) - 3]++;
    }
    return root;
}

static void test_a_server_that_refuses_writes_is_said_everywhere(void **state)
{
    const struct server *node = servers_node_of(command_servers(), "topic{solo}");
    const char *const root = root_beside(node);
    struct http consumer = {.port = 0};

    command_done(NULL, ARGS("topic", "create", "solo", "--slots", "1"));
    http_start(&consumer, ARGS("consume", "solo", "--listen", "127.0.0.1:0", "-X",
                               "session_timeout_ms=2s", "-X", root, "--", "true"));
    await_answer(&consumer, "/readyz", 200, "ok\n");
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        refusals[i].set(node, true);
        assert_refusal_is_said(&refusals[i], node, &consumer);
        refusals[i].set(node, false);
        await_answer(&consumer, "/readyz", 200, "ok\n");
    }
    assert_says(0, "SLOTMQ OK", "", ARGS("check", "solo", "-X", root));
    http_end(&consumer);
}

/* Where its tree is, how many members it has heard, and which life of its master that is. */
static void test_metrics_know_a_fleet_in_redis(void **state)
{
    struct http consumer = {.port = 0}, serve = {.port = 0};
    struct http_answer answer;

    command_done(NULL, ARGS("topic", "create", "seen", "--slots", "1"));
    http_start(&consumer, ARGS("consume", "seen", "--listen", "127.0.0.1:0", "-X",
                               "coordination=redis", "-X", "root=/seen", "--", "true"));
    await_answer(&consumer, "/readyz", 200, "ok\n");
    http_start(&serve, ARGS("serve", "--listen", "127.0.0.1:0", "-X", "coordination=redis", "-X",
                            "root=/seen"));
    await_answer(&serve, "/metrics", 200,
                 "\nslotmq_serve_fleet_members{kind=\"redis\",root=\"/seen\"} 1\n");
    http_get(&answer, &serve, "/metrics", "");
    assert_non_null(strstr(answer.body, "\nslotmq_serve_fleet_grace_seconds{kind=\"redis\""));
    assert_non_null(strstr(answer.body, "\nslotmq_serve_fleet_reign{kind=\"redis\""));
    assert_null(
        strstr(answer.body, "\nslotmq_serve_fleet_reign{kind=\"redis\",root=\"/seen\"} 0\n"));
    http_fini(&answer);
    http_end(&serve);
    http_end(&consumer);
}

TEST_GROUP(serve_away)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_master_that_is_away_is_seen_and_comes_back),
        cmocka_unit_test(test_topics_of_the_others_are_read_without_the_list),
        cmocka_unit_test(test_it_is_not_ready_without_redis_and_goes_on),
        cmocka_unit_test(test_it_begins_without_redis),
        cmocka_unit_test(test_only_the_topics_that_are_named_are_shown),
        cmocka_unit_test(test_a_consumer_has_metrics_and_health),
        cmocka_unit_test(test_a_consumer_is_ready_with_slots_or_as_a_spare),
        cmocka_unit_test(test_a_server_that_refuses_writes_is_said_everywhere),
        cmocka_unit_test(test_metrics_know_a_fleet_in_redis),
    };

    return cmocka_run_group_tests(tests, set_up, command_teardown);
}
