/* test_serve.c - slotmq serve: what each path that is read answers, held against openapi.json. */
#include "gate.h"
#include "http.h"
#include "openapi.h"
#include "support/commandstats.h"
#include "support/group.h"
#include "support/wait.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

enum { PAGES = 50 };

static struct http http;
static json_t *openapi;

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
    command_done(NULL, ARGS("schedule", "put", "orders", "yearly", "x", "--cron", "@yearly"));
    command_done(NULL, ARGS("schedule", "put", "grouped", "often", "x", "--every", "12h"));
    http_start(&http,
               ARGS("serve", "--listen", "127.0.0.1:0", "--token-file", http_token_file(&http),
                    "--write", "-z", servers_zookeeper(command_servers())));
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

/* === openapi.json ======================================================= */

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
    {"/api/v1/work", ""},
    {"/api/v1/work", "?topic=grouped"},
    {"/api/v1/schedules", "?topic=orders"},
    {"/api/v1/schedules", "?topic=grouped"},
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
    for (size_t i = 0; i < sizeof(read_paths) / sizeof(read_paths[0]); i++) {
        char target[256];
        snprintf(target, sizeof(target), "%s%s", read_paths[i].path, read_paths[i].query);
        json_t *document = http_json_with_token(&http, target);
        openapi_assert_fits(openapi, read_paths[i].path, "get", "200", document);
        json_decref(document);
    }
}

/* Each path that openapi.json names is there: with another method it says which one it has. */
static void test_openapi_names_no_path_that_is_not_there(void **state)
{
    const char *path = NULL;
    json_t *methods = NULL;

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
    const char *path = NULL, *name = NULL;
    json_t *methods = NULL, *value = NULL;
    size_t known = 0;

    json_object_foreach(json_object_get(openapi, "paths"), path, methods)
    {
        const json_t *get = json_object_get(json_object_get(methods, "get"), "parameters");
        for (size_t i = 0; i < json_array_size(get); i++, known++) {
            const json_t *parameter = json_array_get(get, i);
            const json_t *named = openapi_named(openapi, parameter);
            assert_known(path, json_text(named ? named : parameter, "name"), false);
        }
        const json_t *body = json_object_get(json_object_get(methods, "post"), "requestBody");
        body = json_object_get(json_object_get(body, "content"), "application/json");
        const json_t *schema = json_object_get(body, "schema");
        for (; schema; schema = openapi_named(openapi, schema)) {
            json_object_foreach(json_object_get(schema, "properties"), name, value)
            {
                assert_known(path, name, true);
                known++;
            }
        }
    }
    assert_true(known > 40);
}

/* === Numbers ============================================================ */

/* The element of an array whose text `name` is `value`; NULL: there is none. */
static const json_t *find(const json_t *array, const char *name, const char *value)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *element = json_array_get(array, i);
        if (strcmp(json_text(element, name), value) == 0) {
            return element;
        }
    }
    return NULL;
}

static const json_t *find_topic(const json_t *document, const char *name)
{
    const json_t *topic = find(json_object_get(document, "topics"), "topic", name);

    assert_non_null(topic);
    return topic;
}

/* NULL: it has none. */
static void assert_mark(const json_t *object, const char *name, const char *mark)
{
    if (mark) {
        assert_string_equal(json_text(object, name), mark);
    } else {
        assert_true(json_is_null(json_object_get(object, name)));
    }
}

/* What stat shows of a topic, serve does, too. */
static void test_topics_have_the_numbers_of_stat(void **state)
{
    json_t *stat = command_json(NULL, ARGS("stat", "--json"));
    json_t *served = http_json(&http, "/api/v1/topics");
    const json_t *topics = json_object_get(stat, "topics");

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

/* By the rule of slotmq top: dead letters are an error, due messages that nobody consumes a
 * warning, and a topic that is empty needs no owner. */
static void test_topics_that_need_a_person_come_first(void **state)
{
    static const struct {
        const char *topic, *need, *of_state, *dead;
    } rows[] = {{"orders", "error", NULL, "error"},
                {"inline", "warning", "warning", NULL},
                {"grouped/one", NULL, NULL, NULL},
                {"grouped/two", NULL, NULL, NULL}};
    json_t *served = http_json(&http, "/api/v1/topics?order=need");

    assert_int_equal(json_number(served, "needing"), 2);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const json_t *topic = json_array_get(json_object_get(served, "topics"), i);
        const json_t *marks = json_object_get(topic, "marks");
        assert_string_equal(json_text(topic, "topic"), rows[i].topic);
        assert_string_equal(json_text(topic, "state"), "unowned");
        assert_mark(topic, "need", rows[i].need);
        assert_mark(marks, "state", rows[i].of_state);
        assert_mark(marks, "dead", rows[i].dead);
        assert_mark(marks, "lag", NULL);
    }
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
                     "# HELP slotmq_serve_%s %.*s\n# TYPE slotmq_serve_%s %s\nslotmq_serve_%s",
                     name, (int) strlen(help) - 1, help, name, type, name);
            const char *found = strstr(text, wanted);
            assert_non_null(found);
            assert_non_null(strchr(" {", found[strlen(wanted)]));
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

    assert_true(wait_until(has_verdict, NULL, TIMEOUT_MS));
    http_get(&answer, &http, "/metrics", "");
    assert_int_equal(answer.status, 200);
    assert_header(&answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8");
    char *wanted = sorted_lines(stat);
    char *found = sorted_lines(answer.body);
    assert_string_equal(found, wanted);
    assert_page_lists(answer.body);
    assert_non_null(strstr(answer.body, "\nslotmq_serve_fleet_reign{kind=\"zookeeper\",root=\"/"));
    free(wanted);
    free(found);
    free(stat);
    http_fini(&answer);
}

static void test_lag_is_what_is_due(void **state)
{
    json_t *lag = http_json(&http, "/lag?topic=inline");
    struct http_answer answer;

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
    http_get(&answer, &http, "/lag?topic=grouped", "");
    assert_problem(&answer, 400, "SMQ_INVALID",
                   "topic grouped has groups; name one of them: grouped/one, grouped/two");
    http_fini(&answer);
}

static void test_probes_answer_one_line(void **state)
{
    static const char *const paths[] = {"/healthz", "/readyz"};

    for (size_t i = 0; i < 2; i++) {
        struct http_answer answer;
        http_get(&answer, &http, paths[i], "");
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer.body, "ok\n");
        http_fini(&answer);
    }
}

/* === The fleet ========================================================== */

/* For what a slot of the topic waits that moves, and how many slots a member has. */
struct shown_fleet {
    const char *waits_for; /* NULL: none moves */
    const char *member;
    json_int_t slots;
};

/* An edit makes the answers stale that are shared. */
static void unshare(void)
{
    json_decref(http_post_json(&http, "/api/v1/resume", "{\"topic\":\"orders\"}", 200));
}

static bool shows_fleet(void *arg)
{
    const struct shown_fleet *wanted = arg;

    unshare();
    json_t *fleet = http_json(&http, "/api/v1/fleet");
    const json_t *topic = find(json_object_get(fleet, "topics"), "topic", "moves");
    const json_t *share = find(json_object_get(topic, "shares"), "member", wanted->member);
    const json_t *moves = json_object_get(topic, "moves");
    const bool shows = share && json_number(share, "slots") == wanted->slots &&
                       (wanted->waits_for ? find(moves, "waits_for", wanted->waits_for) != NULL
                                          : json_array_size(moves) == 0);

    json_decref(fleet);
    return shows;
}

/* A consumer of the topic, as a member of this name, with a handler for each of eight messages. */
static void join(struct run *run, const char *option, const char *program)
{
    command_start(run, NULL,
                  ARGS("consume", "moves", "-z", servers_zookeeper(command_servers()), "-X", option,
                       "--threads", "8", "--", "sh", "-c", program));
}

static void leave(struct run *run)
{
    run_signal(run, SIGTERM);
    command_end(run);
    run_fini(run);
}

static void assert_is_moving(void)
{
    json_t *fleet = http_json(&http, "/api/v1/fleet");
    const json_t *topic = find_topic(fleet, "moves");
    const json_t *move = json_array_get(json_object_get(topic, "moves"), 0);

    openapi_assert_fits(openapi, "/api/v1/fleet", "get", "200", fleet);
    assert_string_equal(json_text(move, "from"), "giver");
    assert_non_null(strstr(json_text(move, "why"), "in flight at member giver"));
    assert_int_equal(json_number(move, "slots"), 1);
    assert_int_equal(json_number(topic, "moving"), 1);
    assert_true(json_number(move, "since_at_ms") <= json_number(fleet, "at_ms"));
    assert_true(json_number(move, "since_at_ms") >= json_number(topic, "since_at_ms"));
    json_decref(fleet);
}

/* A slot goes from one process to another, and its former owner cannot let go of it before the
 * handlers have ended. */
static void test_a_move_is_shown_until_it_has_ended(void **state)
{
    struct shown_fleet before = {NULL, "giver", 2}, meanwhile = {"drain", "taker", 0},
                       after = {NULL, "taker", 1};
    struct run giver, taker;
    struct gate gate;

    gate_close(&gate);
    command_done(NULL, ARGS("topic", "create", "moves", "--slots", "2"));
    command_done("k0\nk1\nk2\nk3\nk4\nk5\nk6\nk7\n", /* into both slots */
                 ARGS("send", "moves", "--key-field", "1"));
    join(&giver, "name=giver", gate.program);
    assert_true(wait_until(shows_fleet, &before, TIMEOUT_MS));
    command_wait_stat("moves", "claimed", 8);
    join(&taker, "name=taker", "true");
    assert_true(wait_until(shows_fleet, &meanwhile, TIMEOUT_MS));
    assert_is_moving();
    gate_open(&gate);
    assert_true(wait_until(shows_fleet, &after, TIMEOUT_MS));
    command_wait_stat("moves", "done", 8);
    leave(&taker);
    leave(&giver);
}

/* === Work =============================================================== */

static const json_t *work_of(const json_t *document, const char *topic)
{
    return find(json_object_get(document, "work"), "topic", topic);
}

/* Has its process noted which message it is? */
static bool shows_work(void *arg)
{
    unshare();
    json_t *document = http_json(&http, arg);
    const bool shows =
        json_is_integer(json_object_get(work_of(document, "hanging"), "claimed_at_ms"));

    json_decref(document);
    return shows;
}

static bool shows_no_work(void *arg)
{
    unshare();
    json_t *document = http_json(&http, arg);
    const bool shows = work_of(document, "hanging") != NULL;

    json_decref(document);
    return !shows;
}

static void assert_work(const char *path)
{
    assert_true(wait_until(shows_work, (char *) path, TIMEOUT_MS));
    json_t *hidden = http_json(&http, path);
    json_t *shown = http_json_with_token(&http, path);
    const json_t *row = work_of(shown, "hanging");

    openapi_assert_fits(openapi, "/api/v1/work", "get", "200", shown);
    assert_true(json_is_true(json_object_get(shown, "whole")));
    assert_string_equal(json_text(row, "member"), "worker-1");
    assert_string_equal(json_text(row, "id"), "job");
    assert_string_equal(json_text(row, "key"), "customer");
    assert_int_equal(json_number(row, "attempt"), 1);
    assert_int_equal(json_number(row, "claimed"), 1);
    assert_int_equal(json_number(row, "stalled"), 0);
    row = work_of(hidden, "hanging");
    assert_string_equal(json_text(row, "id"), "job");
    assert_true(json_is_null(json_object_get(row, "key")));
    json_decref(hidden);
    json_decref(shown);
}

/* In one topic, and in all. */
static void test_what_is_in_work_is_shown_while_it_runs(void **state)
{
    static const char of_one[] = "/api/v1/work?topic=hanging", of_all[] = "/api/v1/work";
    struct run run;
    struct gate gate;

    gate_close(&gate);
    command_done(NULL, ARGS("topic", "create", "hanging", "--slots", "1", "--lease", "9s"));
    command_done(NULL, ARGS("send", "hanging", "a body", "--id", "job", "--key", "customer"));
    command_start(&run, NULL,
                  ARGS("consume", "hanging", "-X", "name=worker-1", "--count", "1", "--", "sh",
                       "-c", gate.program));
    assert_work(of_one);
    assert_work(of_all);
    gate_open(&gate);
    command_end(&run);
    run_fini(&run);
    assert_true(wait_until(shows_no_work, (char *) of_all, TIMEOUT_MS));
    assert_int_equal(http_status(&http, "/api/v1/work?topic=missing", ""), 404);
}

/* An id of layout inline is a body. */
static bool hides_the_id(void *arg)
{
    unshare();
    json_t *hidden = http_json(&http, arg);
    json_t *shown = http_json_with_token(&http, arg);
    const json_t *row = work_of(shown, "inline"), *other = work_of(hidden, "inline");
    const bool noted = row && other && json_is_string(json_object_get(row, "id"));

    if (noted) {
        assert_true(json_is_null(json_object_get(other, "id")));
    }
    json_decref(hidden);
    json_decref(shown);
    return noted;
}

static void test_a_body_that_is_in_work_needs_the_token(void **state)
{
    struct run run;
    struct gate gate;

    gate_close(&gate);
    command_start(&run, NULL,
                  ARGS("consume", "inline", "--count", "1", "--", "sh", "-c", gate.program));
    assert_true(wait_until(hides_the_id, "/api/v1/work?topic=inline", TIMEOUT_MS));
    gate_open(&gate);
    command_end(&run);
    run_fini(&run);
}

/* === Messages =========================================================== */

static void test_personal_data_needs_the_token(void **state)
{
    json_t *hidden = http_json(&http, "/api/v1/messages?topic=orders&limit=1");
    json_t *shown = http_json_with_token(&http, "/api/v1/messages?topic=orders&limit=1");
    const json_t *one = json_array_get(json_object_get(hidden, "messages"), 0);
    struct http_answer answer;

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

    assert_int_equal(json_number(dead, "dead"), 3);
    assert_int_equal(json_number(json_object_get(dead, "causes"), "rejected"), 3);
    assert_true(json_is_true(json_object_get(dead, "whole")));
    assert_string_equal(json_text(group, "reason"), "exit 65: because");
    assert_int_equal(json_number(group, "count"), 3);
    assert_int_equal(json_array_size(json_object_get(group, "ids")), 3);
    json_decref(dead);
}

/* Two of one cause, and one of another; the text that the two have in common selects them. */
static void test_reasons_that_differ_in_a_number_are_one_group(void **state)
{
    static const char program[] = "read -r order; [ $order = closed ] && echo closed >&2 || "
                                  "echo \"no stock for order $order\" >&2; exit 65";

    command_done(NULL, ARGS("topic", "create", "stock", "--slots", "2"));
    command_done("1007\n1008\nclosed\n", ARGS("send", "stock"));
    command_done(NULL, ARGS("consume", "stock", "--count", "3", "--", "sh", "-c", program));
    json_t *dead = http_json(&http, "/api/v1/dead?topic=stock");
    const json_t *groups = json_object_get(dead, "reasons");
    const json_t *group = json_array_get(groups, 0);

    openapi_assert_fits(openapi, "/api/v1/dead", "get", "200", dead);
    assert_int_equal(json_array_size(groups), 2);
    assert_string_equal(json_text(group, "reason"), "exit #: no stock for order #");
    assert_string_equal(json_text(group, "common"), ": no stock for order ");
    assert_int_equal(json_number(group, "count"), 2);
    group = json_array_get(groups, 1);
    assert_string_equal(json_text(group, "reason"), "exit 65: closed");
    assert_true(json_is_null(json_object_get(group, "common")));
    json_decref(dead);
    json_t *page = http_json(&http, "/api/v1/messages?topic=stock&state=dead"
                                    "&reason=%3A+no+stock+for+order+");
    assert_int_equal(json_array_size(json_object_get(page, "messages")), 2);
    json_decref(page);
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

    unshare();
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

    for (size_t i = 0; i < PAGES; i++) {
        char first = '\0';
        fds[i] = http_connect(&http);
        http_send(fds[i], request, strlen(request));
        assert_int_equal(recv(fds[i], &first, 1, 0), 1);
    }
    http_await_reading(&http);
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
        cmocka_unit_test(test_topics_that_need_a_person_come_first),
        cmocka_unit_test(test_metrics_are_those_of_stat),
        cmocka_unit_test(test_lag_is_what_is_due),
        cmocka_unit_test(test_probes_answer_one_line),
        cmocka_unit_test(test_a_move_is_shown_until_it_has_ended),
        cmocka_unit_test(test_what_is_in_work_is_shown_while_it_runs),
        cmocka_unit_test(test_personal_data_needs_the_token),
        cmocka_unit_test(test_pages_follow_each_other),
        cmocka_unit_test(test_messages_are_found_by_id_key_and_header),
        cmocka_unit_test(test_dead_letters_are_grouped_by_their_reason),
        cmocka_unit_test(test_reasons_that_differ_in_a_number_are_one_group),
        cmocka_unit_test(test_fifty_pages_cost_redis_what_one_does),
        cmocka_unit_test(test_a_body_that_is_in_work_needs_the_token),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
