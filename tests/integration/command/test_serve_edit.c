/* test_serve_edit.c - slotmq serve --write: edits, jobs, and the events that tell of them. */
#include "http.h"
#include "openapi.h"
#include "support/group.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct http http;
static json_t *openapi;

/* === Set-up ============================================================= */

/* A topic with so many dead letters; of the first two the reason has a word more. */
static void make_dead(const char *topic, int count)
{
    char number[16];

    command_create_topic(topic, "fixed_time", "keyed");
    for (int i = 0; i < count; i++) {
        snprintf(number, sizeof(number), "%d", i);
        command_done(NULL, ARGS("send", topic, "body", "--id", number));
    }
    snprintf(number, sizeof(number), "%d", count);
    command_done(NULL, ARGS("consume", topic, "--count", number, "--", "sh", "-c",
                            "test $SLOTMQ_ID -gt 1 || echo small >&2; exit 65"));
}

static int set_up(void **state)
{
    if (command_setup_with(&(struct servers_options){.redis = REDIS_CLUSTER}) != 0) {
        return -1;
    }
    make_dead("orders", 3);
    http_start(&http, ARGS("serve", "--listen", "127.0.0.1:0", "--token-file",
                           http_token_file(&http), "--write"));
    openapi = http_json(&http, "/api/v1/openapi.json");
    http_await_reading(&http);
    return 0;
}

static int tear_down(void **state)
{
    json_decref(openapi);
    http_end(&http);
    return command_teardown(state);
}

/* === Edits ============================================================== */

static void post_done(const char *path, const char *body)
{
    json_t *document = http_post_json(&http, path, body, 200);

    openapi_assert_fits(openapi, path, "post", "200", document);
    json_decref(document);
}

static void test_a_topic_is_altered_paused_and_resumed(void **state)
{
    struct http_answer answer;

    post_done("/api/v1/alter", "{\"topic\":\"orders\",\"option\":\"ttl_ms\",\"value\":\"1h\"}");
    post_done("/api/v1/pause", "{\"topic\":\"orders\"}");
    json_t *topic = http_json(&http, "/api/v1/topic?topic=orders");
    const json_t *definition = json_object_get(topic, "definition");
    assert_int_equal(json_number(definition, "ttl_ms"), 3600000);
    assert_true(json_is_true(json_object_get(definition, "paused")));
    json_decref(topic);
    post_done("/api/v1/resume", "{\"topic\":\"orders\"}");
    topic = http_json(&http, "/api/v1/topic?topic=orders");
    assert_true(json_is_false(json_object_get(json_object_get(topic, "definition"), "paused")));
    json_decref(topic);
    post_done("/api/v1/alter", "{\"topic\":\"orders\",\"option\":\"ttl_ms\",\"value\":\"none\"}");
    http_post(&answer, &http, "/api/v1/alter",
              "{\"topic\":\"orders\",\"option\":\"name\",\"value\":\"inline\"}");
    assert_int_equal(answer.status, 400);
    http_fini(&answer);
    http_post(&answer, &http, "/api/v1/pause", "{\"topic\":\"missing\"}");
    assert_problem(&answer, 404, "SMQ_NO_TOPIC", "missing");
    http_fini(&answer);
}

static void test_one_message_is_removed(void **state)
{
    struct http_answer answer;

    command_done(NULL, ARGS("send", "orders", "x", "--id", "goes", "--delay", "1h"));
    post_done("/api/v1/remove", "{\"topic\":\"orders\",\"id_base64\":\"Z29lcw==\"}");
    http_post(&answer, &http, "/api/v1/remove", "{\"topic\":\"orders\",\"id\":\"goes\"}");
    assert_problem(&answer, 404, "SMQ_NO_MESSAGE", "no such message");
    http_fini(&answer);
}

/* The only schedule of the topic, as JSON; *document is to be freed. */
static const json_t *get_schedule(json_t **document)
{
    *document = http_json(&http, "/api/v1/schedules?topic=planned");
    openapi_assert_fits(openapi, "/api/v1/schedules", "get", "200", *document);
    assert_int_equal(json_array_size(json_object_get(*document, "schedules")), 1);
    return json_array_get(json_object_get(*document, "schedules"), 0);
}

static void assert_not_changed(const char *body, int status, const char *code, const char *why)
{
    struct http_answer answer;

    http_post(&answer, &http, "/api/v1/schedule", body);
    assert_problem(&answer, status, code, why);
    http_fini(&answer);
}

static void test_a_schedule_is_shown_paused_run_and_resumed(void **state)
{
    static const char named[] = "{\"topic\":\"planned\",\"id\":\"käse\",\"action\":\"%s\"%s}";
    char body[256];
    json_t *document = NULL;

    command_create_topic("planned", "fixed_time", "keyed");
    command_done(NULL, ARGS("schedule", "put", "planned", "käse", "x", "--cron", "30 2 * * *",
                            "--limit", "2"));
    const json_t *schedule = get_schedule(&document);
    const json_t *times = json_object_get(schedule, "times_at_ms");
    assert_string_equal(json_text(schedule, "cron"), "30 2 * * *");
    assert_int_equal(json_array_size(times), 2);
    assert_int_equal(json_integer_value(json_array_get(times, 0)),
                     json_number(schedule, "next_at_ms"));
    assert_true(json_is_null(json_object_get(schedule, "late_ms")));
    json_decref(document);

    snprintf(body, sizeof(body), named, "pause", ",\"note\":\"no milk\"");
    post_done("/api/v1/schedule", body);
    schedule = get_schedule(&document);
    assert_true(json_is_true(json_object_get(schedule, "paused")));
    assert_string_equal(json_text(schedule, "note"), "no milk");
    json_decref(document);

    snprintf(body, sizeof(body), named, "run", "");
    post_done("/api/v1/schedule", body);
    json_t *stat = command_json(NULL, ARGS("stat", "planned", "--json"));
    assert_int_equal(json_number(json_array_get(json_object_get(stat, "topics"), 0), "waiting"), 1);
    json_decref(stat);

    snprintf(body, sizeof(body), named, "resume", "");
    post_done("/api/v1/schedule", body);
    schedule = get_schedule(&document);
    assert_true(json_is_false(json_object_get(schedule, "paused")));
    json_decref(document);

    snprintf(body, sizeof(body), named, "remove", "");
    assert_not_changed(body, 400, "SMQ_INVALID", "pause, resume or run");
    assert_not_changed("{\"topic\":\"planned\",\"id\":\"none\",\"action\":\"run\"}", 404,
                       "SMQ_NO_SCHEDULE", "none");
}

/* === Jobs =============================================================== */

/* Begins a job, and gives its id. */
static void begin_job(char id[32], const char *path, const char *body)
{
    json_t *job = http_post_json(&http, path, body, 202);

    openapi_assert_fits(openapi, path, "post", "202", job);
    snprintf(id, 32, "%s", json_text(job, "id"));
    json_decref(job);
}

static bool is_in_state(const json_t *job, const void *arg)
{
    return strcmp(json_text(job, "state"), arg) == 0;
}

/* The job comes to this state; how many messages it has changed: all of them, if it ended. */
static json_int_t await_job(const char *id, const char *wanted)
{
    char target[64];

    snprintf(target, sizeof(target), "/api/v1/job?id=%s", id);
    http_await(&http, target, is_in_state, wanted);
    json_t *job = http_json(&http, target);
    const json_int_t changed = json_number(job, "changed");
    openapi_assert_fits(openapi, "/api/v1/job", "get", "200", job);
    if (strcmp(wanted, "ended") == 0) {
        assert_int_equal(json_number(job, "total"), changed);
    }
    json_decref(job);
    return changed;
}

static void test_dead_letters_are_requeued_by_their_reason(void **state)
{
    char id[32];

    make_dead("retry", 4);
    begin_job(id, "/api/v1/requeue", "{\"topic\":\"retry\",\"reason_is\":\"small\"}");
    assert_int_equal(await_job(id, "ended"), 0);
    begin_job(id, "/api/v1/requeue", "{\"topic\":\"retry\",\"reason\":\"small\"}");
    assert_int_equal(await_job(id, "ended"), 2);
    begin_job(id, "/api/v1/requeue",
              "{\"topic\":\"retry\",\"messages\":[{\"id\":\"2\"},{\"id\":\"gone\"}]}");
    assert_int_equal(await_job(id, "ended"), 1);
    assert_int_equal(command_stat("retry", "waiting"), 3);
    assert_int_equal(command_stat("retry", "dead"), 1);
    begin_job(id, "/api/v1/purge",
              "{\"topic\":\"retry\",\"all\":true,\"states\":[\"dead\",\"waiting\"]}");
    assert_int_equal(await_job(id, "ended"), 4);
}

/* A reason that others contain selects its own group, and no other. */
static void test_a_group_is_requeued_and_no_other(void **state)
{
    char id[32];

    make_dead("exact", 5);
    json_t *page = http_json(&http, "/api/v1/messages?topic=exact&state=dead&reason=exit+65");
    assert_int_equal(json_array_size(json_object_get(page, "messages")), 5);
    json_decref(page);
    page = http_json(&http, "/api/v1/messages?topic=exact&state=dead&reason_is=exit+65");
    assert_int_equal(json_array_size(json_object_get(page, "messages")), 3);
    json_decref(page);
    page = http_json(&http, "/api/v1/messages?topic=exact&state=dead&reason_is=");
    assert_int_equal(json_array_size(json_object_get(page, "messages")), 0);
    json_decref(page);
    begin_job(id, "/api/v1/requeue", "{\"topic\":\"exact\",\"reason_is\":\"exit 65\"}");
    assert_int_equal(await_job(id, "ended"), 3);
    begin_job(id, "/api/v1/purge",
              "{\"topic\":\"exact\",\"reason_is_base64\":\"ZXhpdCA2NTogc21hbGw=\"}");
    assert_int_equal(await_job(id, "ended"), 2);
    assert_int_equal(command_stat("exact", "waiting"), 3);
    assert_int_equal(command_stat("exact", "dead"), 0);
}

static void test_a_job_is_stopped(void **state)
{
    struct http_answer answer;
    char id[32], body[64];

    make_dead("slow", 5);
    begin_job(id, "/api/v1/requeue",
              "{\"topic\":\"slow\",\"messages\":[{\"id\":\"0\"},{\"id\":\"1\"},{\"id\":\"2\"},"
              "{\"id\":\"3\"},{\"id\":\"4\"}],\"rate_per_s\":1}");
    json_decref(http_json(&http, "/api/v1/dead?topic=slow")); /* which is shared for a moment */
    snprintf(body, sizeof(body), "{\"id\":\"%s\"}", id);
    http_post(&answer, &http, "/api/v1/stop", body);
    assert_int_equal(answer.status, 200);
    http_fini(&answer);
    const json_int_t changed = await_job(id, "stopped");
    assert_true(changed < 5);
    json_t *dead = http_json(&http, "/api/v1/dead?topic=slow");
    assert_int_equal(json_number(dead, "dead"), 5 - changed);
    json_decref(dead);
    http_post(&answer, &http, "/api/v1/stop", "{\"id\":\"none\"}");
    assert_int_equal(answer.status, 404);
    http_fini(&answer);
}

static void test_a_selection_that_is_unclear_is_refused(void **state)
{
    static const char *const bodies[] = {
        "{\"topic\":\"orders\"}",
        "{\"topic\":\"orders\",\"all\":false}",
        "{\"topic\":\"orders\",\"all\":true,\"reason\":\"x\"}",
        "{\"topic\":\"orders\",\"reason\":\"x\",\"reason_is\":\"x\"}",
        "{\"topic\":\"orders\",\"reason_is_base64\":\"eAB5\"}", /* a NUL */
        "{\"topic\":\"orders\",\"messages\":[]}",
        "{\"topic\":\"orders\",\"messages\":[{}]}",
        "{\"topic\":\"orders\",\"messages\":[{\"id\":\"1\"}],\"limit\":1}",
        "{\"topic\":\"orders\",\"all\":true,\"states\":[\"claimed\"]}",
        "{\"topic\":\"orders\",\"all\":true,\"limit\":0}",
        "{\"topic\":7,\"all\":true}",
        "{\"all\":true}",
    };

    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct http_answer answer;
        http_post(&answer, &http, "/api/v1/purge", bodies[i]);
        assert_problem(&answer, 400, "SMQ_INVALID", "");
        http_fini(&answer);
    }
    assert_int_equal(command_stat("orders", "dead"), 3);
}

/* === Events ============================================================= */

static void test_events_tell_of_readings_and_jobs(void **state)
{
    static const char request[] = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const int fd = http_connect(&http);
    char text[65536];
    size_t used = 0;
    char id[32];

    http_send(fd, request, strlen(request));
    begin_job(id, "/api/v1/requeue", "{\"topic\":\"orders\",\"messages\":[{\"id\":\"gone\"}]}");
    text[0] = '\0';
    while (!strstr(text, "event: reading\ndata: {") || !strstr(text, "\"state\":\"ended\"")) {
        const ssize_t got = recv(fd, text + used, sizeof(text) - 1 - used, 0);
        assert_true(got > 0);
        used += (size_t) got;
        text[used] = '\0';
    }
    assert_non_null(strstr(text, "Content-Type: text/event-stream\r\n"));
    assert_non_null(strstr(text, "event: job\ndata: {"));
    close(fd);
}

TEST_GROUP(serve_edit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_topic_is_altered_paused_and_resumed),
        cmocka_unit_test(test_one_message_is_removed),
        cmocka_unit_test(test_a_schedule_is_shown_paused_run_and_resumed),
        cmocka_unit_test(test_a_selection_that_is_unclear_is_refused),
        cmocka_unit_test(test_dead_letters_are_requeued_by_their_reason),
        cmocka_unit_test(test_a_group_is_requeued_and_no_other),
        cmocka_unit_test(test_a_job_is_stopped),
        cmocka_unit_test(test_events_tell_of_readings_and_jobs),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
