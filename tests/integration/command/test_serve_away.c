/* test_serve_away.c - slotmq serve while servers are away, and the port of slotmq consume. */
#include "http.h"
#include "support/group.h"
#include "support/wait.h"

#include <signal.h>
#include <string.h>

/* Each topic has slots on all three nodes. */
static int set_up(void **state)
{
    static const char *const config[] = {"cluster-require-full-coverage no", NULL};

    (void) state;
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

    (void) state;
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

static void test_it_is_not_ready_without_redis_and_goes_on(void **state)
{
    struct http http = {.port = 0};

    (void) state;
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

    (void) state;
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

    (void) state;
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

    (void) state;
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

    (void) state;
    http_start(&owner, ARGS("consume", "others", "--listen", "127.0.0.1:0", "--", "true"));
    await_answer(&owner, "/readyz", 200, "ok\n");
    http_start(&spare, ARGS("consume", "others", "--listen", "127.0.0.1:0", "--", "true"));
    await_answer(&spare, "/readyz", 503, "topic others: this process has no slot yet\n");
    await_answer(&spare, "/readyz", 200,
                 "ok: topic others: this process has no slot, because another process consumes");
    assert_int_equal(http_status(&spare, "/healthz", ""), 200);
    http_end(&owner);
    await_answer(&spare, "/readyz", 200, "ok\n");
    http_end(&spare);
}

TEST_GROUP(serve_away)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_master_that_is_away_is_seen_and_comes_back),
        cmocka_unit_test(test_it_is_not_ready_without_redis_and_goes_on),
        cmocka_unit_test(test_it_begins_without_redis),
        cmocka_unit_test(test_only_the_topics_that_are_named_are_shown),
        cmocka_unit_test(test_a_consumer_has_metrics_and_health),
        cmocka_unit_test(test_a_consumer_is_ready_with_slots_or_as_a_spare),
    };

    return cmocka_run_group_tests(tests, set_up, command_teardown);
}
