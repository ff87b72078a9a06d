/* test_serve.c - slotmq serve: what each path answers, held against openapi.json, and edits. */
#include "http.h"
#include "openapi.h"
#include "support/commandstats.h"
#include "support/group.h"
#include "support/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

enum { PAGES = 50 };

static struct http http;
static json_t *openapi;

/* A document that is awaited. */
struct awaited {
    const char *path;
    bool (*is)(const json_t *document, const void *arg);
    const void *arg;
};

static bool is_awaited(void *user)
{
    const struct awaited *awaited = user;
    json_t *document = http_json_with_token(&http, awaited->path);
    const bool is = awaited->is(document, awaited->arg);

    json_decref(document);
    return is;
}

static void await(const char *path, bool (*is)(const json_t *document, const void *arg),
                  const void *arg)
{
    struct awaited awaited = {path, is, arg};

    if (!wait_until(is_awaited, &awaited, TIMEOUT_MS)) {
        json_t *document = http_json_with_token(&http, path);
        fail_msg("%s stays %s", path, json_dumps(document, 0));
    }
}

/* Were all topics read, also those that exist now? */
static bool is_read_since(const json_t *document, const void *arg)
{
    const json_int_t *since_ms = arg;
    const json_t *reading = json_object_get(document, "reading");
    const json_t *at_ms = json_object_get(reading, "at_ms");

    /* the round that has ended may have begun before */
    return json_is_integer(at_ms) &&
           json_integer_value(at_ms) - json_number(reading, "round_ms") >= *since_ms;
}

static void await_reading(void)
{
    json_t *document = http_json(&http, "/api/v1/topics");
    const json_t *reading = json_object_get(document, "reading");
    const json_t *at_ms = json_object_get(reading, "at_ms");
    const json_int_t since_ms = json_is_integer(at_ms) ? json_integer_value(at_ms) + 1 : 1;

    json_decref(document);
    await("/api/v1/topics", is_read_since, &since_ms);
}

/* === Set-up ============================================================= */

static int set_up(void **state)
{
    if (command_setup(state) != 0) {
        return -1;
    }
    command_create_topic("orders", "fixed_time", "keyed");
    command_create_topic("inline", "priority", "inline");
    command_done(NULL, ARGS("topic", "create", "grouped", "--slots", "2", "--groups", "one,two"));
    command_done(NULL, ARGS("send", "inline", "one"));
    command_done(NULL, ARGS("send", "inline", "two"));
    for (int i = 0; i < 3; i++) {
        char id[8], key[8];
        snprintf(id, sizeof(id), "id%d", i);
        snprintf(key, sizeof(key), "key%d", i);
        command_done(NULL, ARGS("send", "orders", "dead body", "--id", id, "--key", key));
    }
    command_done(NULL, ARGS("consume", "orders", "--count", "3", "--", "sh", "-c",
                            "echo because >&2; exit 65"));
    command_done(NULL, ARGS("send", "orders", "a waiting body", "--id", "waits", "--key", "its key",
                            "--delay", "1h", "-H", "tenant=its own", "-H", "raw=\xff"));
    http_start(&http,
               ARGS("serve", "--listen", "127.0.0.1:0", "--token-file", http_token_file(&http),
                    "--write", "-z", servers_zookeeper(command_servers())));
    openapi = http_json(&http, "/api/v1/openapi.json");
    await_reading();
    return 0;
}

static int tear_down(void **state)
{
    json_decref(openapi);
    http_end(&http);
    return command_teardown(state);
}

/* === openapi.json ======================================================= */

static void assert_fits(const char *path, const char *method, const char *status,
                        const json_t *document)
{
    openapi_assert_fits(openapi, path, method, status, document);
}

/* Paths that are read, as they are asked for. */
static const struct {
    const char *path, *query;
} read_paths[] = {
    {"/lag", "?topic=orders"},
    {"/api/v1/openapi.json", ""},
    {"/api/v1/self", ""},
    {"/api/v1/topics", "?points=3&order=dead&search=o&offset=0&limit=1000"},
    {"/api/v1/topics", ""},
    {"/api/v1/topic", "?topic=orders&points=3"},
    {"/api/v1/topic", "?topic=grouped%2Fone"},
    {"/api/v1/messages", "?topic=orders&state=waiting,dead"},
    {"/api/v1/messages", "?topic=inline"},
    {"/api/v1/message", "?topic=orders&id=waits&key=its+key"},
    {"/api/v1/dead", "?topic=orders"},
    {"/api/v1/fleet", ""},
    {"/api/v1/servers", ""},
    {"/api/v1/doctor", ""},
    {"/api/v1/jobs", ""},
};

static void test_each_answer_is_as_openapi_says(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(read_paths) / sizeof(read_paths[0]); i++) {
        char target[256];
        snprintf(target, sizeof(target), "%s%s", read_paths[i].path, read_paths[i].query);
        json_t *document = http_json_with_token(&http, target);
        assert_fits(read_paths[i].path, "get", "200", document);
        json_decref(document);
    }
}

/* Each path that openapi.json names is there: with another method it says which one it has. */
static void test_openapi_names_no_path_that_is_not_there(void **state)
{
    const char *path = NULL;
    json_t *methods = NULL;

    (void) state;
    json_object_foreach(json_object_get(openapi, "paths"), path, methods)
    {
        const bool post = json_object_get(methods, "post") != NULL;
        struct http_answer answer;
        char request[512];
        snprintf(request, sizeof(request),
                 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n"
                 "\r\n",
                 post ? "GET" : "POST", path);
        http_raw(&answer, &http, request);
        if (strcmp(path, "/api/v1/openapi.json") != 0) { /* a file, which has no other method */
            assert_problem(&answer, 405, "SMQ_INVALID", "another method");
            assert_header(&answer, post ? "Allow: POST" : "Allow: GET, HEAD");
        }
        http_fini(&answer);
    }
}

/* Nothing that openapi.json says a path takes is unknown to it: a value of the wrong type is
 * refused for its type. */
static void assert_known(const char *path, const char *name, bool post)
{
    struct http_answer answer;
    char text[256];

    if (post) {
        snprintf(text, sizeof(text), "{\"%s\":{}}", name);
        http_post(&answer, &http, path, text);
        assert_problem(&answer, 400, "SMQ_INVALID", " must be ");
    } else {
        snprintf(text, sizeof(text), "%s?%s=x", path, name);
        http_get(&answer, &http, text, HTTP_WITH_TOKEN);
    }
    if (strstr(answer.body, "there is no parameter") || strstr(answer.body, "there is no member")) {
        fail_msg("%s: %s", path, answer.body);
    }
    http_fini(&answer);
}

static void test_what_openapi_says_is_taken_is_known(void **state)
{
    const json_t *schemas = json_object_get(json_object_get(openapi, "components"), "schemas");
    const char *path = NULL, *name = NULL;
    json_t *methods = NULL, *value = NULL;
    size_t known = 0;

    (void) state;
    json_object_foreach(json_object_get(openapi, "paths"), path, methods)
    {
        const json_t *get = json_object_get(json_object_get(methods, "get"), "parameters");
        for (size_t i = 0; i < json_array_size(get); i++, known++) {
            assert_known(path, json_text(json_array_get(get, i), "name"), false);
        }
        const json_t *body = json_object_get(json_object_get(methods, "post"), "requestBody");
        body = json_object_get(json_object_get(body, "content"), "application/json");
        const char *ref =
            json_string_value(json_object_get(json_object_get(body, "schema"), "$ref"));
        const json_t *schema = ref ? json_object_get(schemas, strrchr(ref, '/') + 1) : NULL;
        json_object_foreach(json_object_get(schema, "properties"), name, value)
        {
            assert_known(path, name, true);
            known++;
        }
    }
    assert_true(known > 40);
}

/* === Numbers ============================================================ */

static const json_t *find_topic(const json_t *document, const char *name)
{
    const json_t *topics = json_object_get(document, "topics");

    for (size_t i = 0; i < json_array_size(topics); i++) {
        const json_t *topic = json_array_get(topics, i);
        if (strcmp(json_text(topic, "topic"), name) == 0) {
            return topic;
        }
    }
    fail_msg("there is no topic %s", name);
    return NULL;
}

/* What stat shows of a topic, serve does, too. */
static void test_topics_have_the_numbers_of_stat(void **state)
{
    json_t *stat = command_json(NULL, ARGS("stat", "--json"));
    json_t *served = http_json(&http, "/api/v1/topics");
    const json_t *topics = json_object_get(stat, "topics");

    (void) state;
    assert_int_equal(json_array_size(topics), 4);
    assert_int_equal(json_number(served, "total"), 4);
    for (size_t i = 0; i < json_array_size(topics); i++) {
        const json_t *topic = json_array_get(topics, i);
        const json_t *found = find_topic(served, json_text(topic, "topic"));
        const char *name = NULL;
        json_t *value = NULL;
        json_object_foreach((json_t *) topic, name, value)
        {
            if (strcmp(name, "oldest_due_age_ms") != 0 &&
                !json_equal(value, json_object_get(found, name))) {
                fail_msg("%s of %s differs", name, json_text(topic, "topic"));
            }
        }
    }
    json_decref(stat);
    json_decref(served);
}

/* Lines of the text, in order, without numbers that pass with time. */
static char *sorted_lines(const char *text)
{
    char *lines[1024];
    size_t count = 0;
    char *copy = strdup(text);
    char *out = NULL;
    size_t size = 0;
    FILE *all = open_memstream(&out, &size);

    assert_non_null(copy);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        if (!strstr(line, "slotmq_serve_") &&
            !(line[0] != '#' && strstr(line, "oldest_due_age_seconds"))) {
            assert_true(count < 1024);
            lines[count++] = line;
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            if (strcmp(lines[j], lines[i]) < 0) {
                char *line = lines[i];
                lines[i] = lines[j];
                lines[j] = line;
            }
        }
        fprintf(all, "%s\n", lines[i]);
    }
    assert_int_equal(fclose(all), 0);
    free(copy);
    return out;
}

/* Each row "| `slotmq_serve_NAME` | TYPE | HELP |" of docs/METRICS.md stands in the text. */
static void assert_page_lists(const char *text)
{
    FILE *page = fopen(METRICS_PAGE, "r");
    char line[512], name[64], type[16], help[256], wanted[512];
    int rows = 0;

    assert_non_null(page);
    while (fgets(line, sizeof(line), page) != NULL) {
        if (sscanf(line, "| `slotmq_serve_%63[a-z_]` | %15[a-z] | %255[^|\n]", name, type, help) ==
            3) {
            snprintf(wanted, sizeof(wanted),
                     "# HELP slotmq_serve_%s %.*s\n# TYPE slotmq_serve_%s %s\nslotmq_serve_%s ",
                     name, (int) strlen(help) - 1, help, name, type, name);
            assert_non_null(strstr(text, wanted));
            rows++;
        }
    }
    fclose(page);
    for (const char *at = text; (at = strstr(at, "\n# TYPE slotmq_serve_")) != NULL; at++) {
        rows--;
    }
    assert_int_equal(rows, 0);
}

/* Has slotmq check ended, so that its verdict is known? */
static bool has_verdict(void *user)
{
    struct http_answer answer;

    (void) user;
    http_get(&answer, &http, "/metrics", "");
    const bool has = strstr(answer.body, "\nslotmq_serve_check_status ") != NULL;
    http_fini(&answer);
    return has;
}

static void test_metrics_are_those_of_stat(void **state)
{
    char *stat = command_out(NULL, ARGS("stat", "--prometheus"));
    struct http_answer answer;

    (void) state;
    assert_true(wait_until(has_verdict, NULL, TIMEOUT_MS));
    http_get(&answer, &http, "/metrics", "");
    assert_int_equal(answer.status, 200);
    assert_header(&answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8");
    char *wanted = sorted_lines(stat);
    char *found = sorted_lines(answer.body);
    assert_string_equal(found, wanted);
    assert_page_lists(answer.body);
    free(wanted);
    free(found);
    free(stat);
    http_fini(&answer);
}

static void test_lag_is_what_is_due(void **state)
{
    json_t *lag = http_json(&http, "/lag?topic=inline");
    struct http_answer answer;

    (void) state;
    assert_int_equal(json_number(lag, "value"), 2);
    assert_true(json_is_null(json_object_get(lag, "oldest_due_age_ms"))); /* none is stored */
    json_decref(lag);
    lag = http_json(&http, "/lag?topic=orders");
    assert_int_equal(json_number(lag, "value"), 0);
    assert_int_equal(json_number(lag, "waiting"), 1);
    json_decref(lag);
    http_get(&answer, &http, "/lag?topic=missing", "");
    assert_problem(&answer, 404, "SMQ_NO_TOPIC", "missing");
    http_fini(&answer);
}

static void test_probes_answer_one_line(void **state)
{
    static const char *const paths[] = {"/healthz", "/readyz"};

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        struct http_answer answer;
        http_get(&answer, &http, paths[i], "");
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer.body, "ok\n");
        http_fini(&answer);
    }
}

/* === Messages =========================================================== */

static void test_personal_data_needs_the_token(void **state)
{
    json_t *hidden = http_json(&http, "/api/v1/messages?topic=orders&limit=1");
    json_t *shown = http_json_with_token(&http, "/api/v1/messages?topic=orders&limit=1");
    const json_t *one = json_array_get(json_object_get(hidden, "messages"), 0);
    struct http_answer answer;

    (void) state;
    assert_true(json_is_null(json_object_get(one, "body")));
    assert_true(json_is_null(json_object_get(one, "key")));
    assert_null(json_object_get(one, "headers"));
    assert_null(json_object_get(one, "headers_base64"));
    assert_true(json_is_null(json_object_get(one, "cursor")));
    assert_true(json_is_null(json_object_get(hidden, "next")));
    assert_string_equal(json_text(one, "id"), "waits");
    one = json_array_get(json_object_get(shown, "messages"), 0);
    assert_string_equal(json_text(one, "body"), "a waiting body");
    assert_string_equal(json_text(one, "key"), "its key");
    assert_string_equal(json_text(json_object_get(one, "headers"), "tenant"), "its own");
    assert_string_equal(json_text(json_object_get(one, "headers_base64"), "raw"), "/w==");
    json_decref(hidden);
    json_decref(shown);
    static const char *const refused[] = {
        "/api/v1/messages?topic=orders&contains=waiting", "/api/v1/messages?topic=orders&cursor=x",
        "/api/v1/messages?topic=orders&header=tenant%3Dx",
        "/api/v1/message?topic=orders&id=waits&key=its+key", "/api/v1/message?topic=inline&id=one"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        http_get(&answer, &http, refused[i], "");
        assert_problem(&answer, 403, "SMQ_DENIED", "give the token");
        http_fini(&answer);
    }
}

/* Pages of one message each show every message once. */
static void test_pages_follow_each_other(void **state)
{
    char target[512] = "/api/v1/messages?topic=orders&state=waiting,dead&limit=1";
    size_t count = 0;

    (void) state;
    for (bool more = true; more; count++) {
        json_t *page = http_json_with_token(&http, target);
        const char *next = json_string_value(json_object_get(page, "next"));
        more = json_array_size(json_object_get(page, "messages")) == 1 && next != NULL;
        if (more) {
            size_t used = (size_t) snprintf(
                target, sizeof(target),
                "/api/v1/messages?topic=orders&state=waiting,dead&limit=1&cursor=");
            for (; *next != '\0'; next++) {
                used += (size_t) snprintf(target + used, sizeof(target) - used, "%%%02X",
                                          (unsigned char) *next);
            }
        }
        json_decref(page);
    }
    assert_int_equal(count, 5); /* four messages, and a page without any */
}

static void test_messages_are_found_by_id_key_and_header(void **state)
{
    static const struct {
        const char *query;
        const char *id; /* NULL: none is found */
    } cases[] = {
        {"&contains=wait", "waits"},
        {"&contains=its+key", "waits"},
        {"&contains=its+own", NULL},
        {"&header=tenant%3Dits+own", "waits"},
        {"&header=tenant%3Dits", NULL},
        {"&header_base64=cmF3Pf8%3D", "waits"},
        {"&contains=wait&header=raw%3D", NULL},
    };
    struct http_answer answer;

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char target[256];
        snprintf(target, sizeof(target), "/api/v1/messages?topic=orders%s", cases[i].query);
        json_t *page = http_json_with_token(&http, target);
        const json_t *found = json_object_get(page, "messages");
        assert_int_equal(json_array_size(found), cases[i].id ? 1 : 0);
        if (cases[i].id) {
            assert_string_equal(json_text(json_array_get(found, 0), "id"), cases[i].id);
        }
        json_decref(page);
    }
    http_get(&answer, &http, "/api/v1/messages?topic=orders&header=none", HTTP_WITH_TOKEN);
    assert_problem(&answer, 400, "SMQ_INVALID", "NAME=VALUE");
    http_fini(&answer);
    http_get(&answer, &http, "/api/v1/messages?topic=inline&header=a%3Db", HTTP_WITH_TOKEN);
    assert_problem(&answer, 409, "SMQ_WRONG_TYPE", "layout keyed");
    http_fini(&answer);
}

static void test_dead_letters_are_grouped_by_their_reason(void **state)
{
    json_t *dead = http_json(&http, "/api/v1/dead?topic=orders");
    const json_t *group = json_array_get(json_object_get(dead, "reasons"), 0);

    (void) state;
    assert_int_equal(json_number(dead, "dead"), 3);
    assert_int_equal(json_number(json_object_get(dead, "causes"), "rejected"), 3);
    assert_true(json_is_true(json_object_get(dead, "whole")));
    assert_string_equal(json_text(group, "reason"), "exit 65: because");
    assert_int_equal(json_number(group, "count"), 3);
    assert_int_equal(json_array_size(json_object_get(group, "ids")), 3);
    json_decref(dead);
}

/* === Edits ============================================================== */

static void post_done(const char *path, const char *body)
{
    struct http_answer answer;

    http_post(&answer, &http, path, body);
    if (answer.status != 200) {
        fail_msg("%s: %d %s", path, answer.status, answer.body);
    }
    json_t *document = json_loads(answer.body, 0, NULL);
    assert_fits(path, "post", "200", document);
    json_decref(document);
    http_fini(&answer);
}

static void test_a_topic_is_altered_paused_and_resumed(void **state)
{
    struct http_answer answer;

    (void) state;
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

    (void) state;
    command_done(NULL, ARGS("send", "orders", "x", "--id", "goes", "--delay", "1h"));
    post_done("/api/v1/remove", "{\"topic\":\"orders\",\"id_base64\":\"Z29lcw==\"}");
    http_post(&answer, &http, "/api/v1/remove", "{\"topic\":\"orders\",\"id\":\"goes\"}");
    assert_problem(&answer, 404, "SMQ_NO_MESSAGE", "no such message");
    http_fini(&answer);
}

/* Begins a job, and gives its id. */
static void begin_job(char id[32], const char *path, const char *body)
{
    struct http_answer answer;

    http_post(&answer, &http, path, body);
    if (answer.status != 202) {
        fail_msg("%s: %d %s", path, answer.status, answer.body);
    }
    json_t *job = json_loads(answer.body, 0, NULL);
    assert_fits(path, "post", "202", job);
    snprintf(id, 32, "%s", json_text(job, "id"));
    json_decref(job);
    http_fini(&answer);
}

static bool is_in_state(const json_t *job, const void *arg)
{
    return strcmp(json_text(job, "state"), arg) == 0;
}

/* The job comes to this state; how many messages it has changed. */
static json_int_t await_job(const char *id, const char *wanted)
{
    char target[64];

    snprintf(target, sizeof(target), "/api/v1/job?id=%s", id);
    await(target, is_in_state, wanted);
    json_t *job = http_json(&http, target);
    const json_int_t changed = json_number(job, "changed");
    assert_fits("/api/v1/job", "get", "200", job);
    json_decref(job);
    return changed;
}

/* A topic of its own, with so many dead letters. */
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

static void test_dead_letters_are_requeued_by_their_reason(void **state)
{
    char id[32];

    (void) state;
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

    (void) state;
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

    (void) state;
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

    (void) state;
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

    (void) state;
    http_send(fd, request, strlen(request));
    begin_job(id, "/api/v1/requeue", "{\"topic\":\"inline\",\"all\":true}");
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

/* === Many pages ========================================================= */

/* How often all nodes together have run HGET.  Only the scripts that read messages do, so readings
 * of topics do not count. */
static int64_t reads_of_messages(void)
{
    int64_t calls = 0;

    for (size_t i = 0; i < servers_count(command_servers()); i++) {
        const struct server *node = servers_node(command_servers(), i);
        redisContext *redis = redisConnect("127.0.0.1", server_port(node));
        redisReply *reply = redisCommand(redis, "INFO commandstats");
        assert_non_null(reply);
        calls += commandstats_read(reply->str, "hget", "calls");
        freeReplyObject(reply);
        redisFree(redis);
    }
    return calls;
}

static const char *const shown[] = {"/api/v1/messages?topic=orders&state=dead",
                                    "/api/v1/dead?topic=orders",
                                    "/api/v1/message?topic=orders&id=waits&key=its+key"};
enum { SHOWN = sizeof(shown) / sizeof(shown[0]) };

/* Each page asks for what it shows, before any has been answered.  What Redis reads for it. */
static int64_t reads_of_pages(size_t pages)
{
    int fds[SHOWN * PAGES];
    char request[512];
    size_t size = 0;

    /* an edit makes the answers stale that are shared */
    post_done("/api/v1/resume", "{\"topic\":\"orders\"}");
    const int64_t before = reads_of_messages();
    for (size_t i = 0; i < pages * SHOWN; i++) {
        fds[i] = http_connect(&http);
        snprintf(request, sizeof(request),
                 "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" HTTP_WITH_TOKEN
                 "\r\n",
                 shown[i % SHOWN]);
        http_send(fds[i], request, strlen(request));
    }
    for (size_t i = 0; i < pages * SHOWN; i++) {
        char *answer = http_read(fds[i], &size);
        assert_non_null(answer);
        assert_non_null(strstr(answer, "200 OK"));
        free(answer);
    }
    return reads_of_messages() - before;
}

/* Fifty that are open follow the readings of one process, and share their answers: beside what one
 * costs there is room for answers that grew too old on a slow machine. */
static void test_fifty_pages_cost_redis_what_one_does(void **state)
{
    static const char request[] = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const int64_t none = reads_of_messages();
    int fds[PAGES];

    (void) state;
    for (size_t i = 0; i < PAGES; i++) {
        char first = '\0';
        fds[i] = http_connect(&http);
        http_send(fds[i], request, strlen(request));
        assert_int_equal(recv(fds[i], &first, 1, 0), 1);
    }
    await_reading();
    assert_int_equal(reads_of_messages(), none); /* else it would count readings, too */
    const int64_t one = reads_of_pages(1);
    assert_true(one > 0);
    const int64_t fifty = reads_of_pages(PAGES);
    if (fifty < one || fifty > 3 * one) {
        fail_msg("one page costs %d, %d pages cost %d", (int) one, PAGES, (int) fifty);
    }
    for (size_t i = 0; i < PAGES; i++) {
        close(fds[i]);
    }
}

TEST_GROUP(serve)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_answer_is_as_openapi_says),
        cmocka_unit_test(test_openapi_names_no_path_that_is_not_there),
        cmocka_unit_test(test_what_openapi_says_is_taken_is_known),
        cmocka_unit_test(test_topics_have_the_numbers_of_stat),
        cmocka_unit_test(test_metrics_are_those_of_stat),
        cmocka_unit_test(test_lag_is_what_is_due),
        cmocka_unit_test(test_probes_answer_one_line),
        cmocka_unit_test(test_personal_data_needs_the_token),
        cmocka_unit_test(test_pages_follow_each_other),
        cmocka_unit_test(test_messages_are_found_by_id_key_and_header),
        cmocka_unit_test(test_dead_letters_are_grouped_by_their_reason),
        cmocka_unit_test(test_a_topic_is_altered_paused_and_resumed),
        cmocka_unit_test(test_one_message_is_removed),
        cmocka_unit_test(test_a_selection_that_is_unclear_is_refused),
        cmocka_unit_test(test_dead_letters_are_requeued_by_their_reason),
        cmocka_unit_test(test_a_group_is_requeued_and_no_other),
        cmocka_unit_test(test_a_job_is_stopped),
        cmocka_unit_test(test_events_tell_of_readings_and_jobs),
        cmocka_unit_test(test_fifty_pages_cost_redis_what_one_does),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
