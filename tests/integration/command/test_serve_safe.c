/* test_serve_safe.c - slotmq serve and those who mean harm: who may do what, pages of other sites,
 * hostile texts, clients that are slow, too many, or send too much. */
#include "http.h"
#include "support/group.h"
#include "support/wait.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Markup in a body, a key, an id and a reason. */
#define MARKUP "<img src=x onerror=alert(1)>\"'</script>"

enum { CONNECTIONS = 1500, BODY_BYTES = 2 * 1024 * 1024 };

/* A client that sends a byte of its request now and then, and never ends it, until it is cut off.
 */
static struct {
    pthread_t thread;
    int fd;
    size_t sent;
} drip;

static void *drip_run(void *arg)
{
    static const char begins[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ";
    struct pollfd end = {.fd = drip.fd, .events = POLLIN};

    (void) arg;
    while (poll(&end, 1, 100) == 0) {
        const char *byte = drip.sent < sizeof(begins) - 1 ? &begins[drip.sent] : "x";
        if (send(drip.fd, byte, 1, MSG_NOSIGNAL) != 1) {
            break;
        }
        drip.sent++;
    }
    return NULL;
}

/* On loopback with the token and --write; and on all addresses with the token. */
static struct http http, outside;

static int set_up(void **state)
{
    static const char begins[] = "{\"id\":\"large\",\"body\":\"";
    char *line = calloc(1, BODY_BYTES + 64);

    if (command_setup(state) != 0 || !line) {
        free(line);
        return -1;
    }
    command_create_topic("jobs", "fixed_time", "keyed");
    command_done(NULL, ARGS("topic", "create", "large", "--slots", "2", "--max-body", "4MiB"));
    command_done(NULL, ARGS("send", "jobs", MARKUP, "--id", MARKUP, "--key", MARKUP));
    command_done(NULL, ARGS("consume", "jobs", "--count", "1", "--", "sh", "-c",
                            "echo '<img src=x onerror=alert(1)>' >&2; exit 65"));
    memcpy(line, begins, sizeof(begins));
    memset(line + strlen(begins), 'x', BODY_BYTES);
    memcpy(line + strlen(begins) + BODY_BYTES, "\"}\n", 4);
    command_done(line, ARGS("send", "large", "--json"));
    free(line);
    const char *token = http_token_file(&http);
    http_start(&http, ARGS("serve", "--listen", "127.0.0.1:0", "--token-file", token, "--write",
                           "--host", "queues.example,other.example"));
    http_start(&outside, ARGS("serve", "--listen", "0.0.0.0:0", "--token-file", token));
    drip.fd = http_connect(&http);
    return pthread_create(&drip.thread, NULL, drip_run, NULL);
}

static int tear_down(void **state)
{
    http_end(&http);
    http_end(&outside);
    return command_teardown(state);
}

/* === Who may do what ==================================================== */

static void test_another_address_needs_a_token(void **state)
{
    static const char *const paths[] = {"/metrics",       "/lag?topic=jobs", "/events",
                                        "/api/v1/topics", "/api/v1/self",    "/api/v1/jobs"};

    command_refused(64, "give a token", NULL, ARGS("serve", "--listen", "0.0.0.0:0"));
    command_refused(64, "--write needs a token", NULL,
                    ARGS("serve", "--listen", "127.0.0.1:0", "--write"));
    command_refused(64, "cannot be used", NULL, ARGS("serve", "--listen", "example.com:80"));
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct http_answer answer;
        http_get(&answer, &outside, paths[i], "");
        assert_problem(&answer, 401, "SMQ_DENIED", "give the token");
        assert_header(&answer, "WWW-Authenticate: Bearer");
        http_fini(&answer);
    }
    assert_int_equal(http_status(&outside, "/healthz", ""), 200);
    assert_int_equal(http_status(&outside, "/metrics", HTTP_WITH_TOKEN), 200);
    assert_int_equal(http_status(&outside, "/metrics", "Authorization: Basic eDp5\r\n"), 401);
}

static void test_a_wrong_token_is_refused(void **state)
{
    static const char *const wrong[] = {"", "0123456789abcdef-tokem", "0123456789abcdef",
                                        HTTP_TOKEN "x", HTTP_TOKEN HTTP_TOKEN};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char header[256];
        snprintf(header, sizeof(header), "Authorization: Bearer %s\r\n", wrong[i]);
        assert_int_equal(http_status(&outside, "/metrics", header), 401);
        if (wrong[i][0] != '\0') {
            assert_int_equal(http_status(&http, "/healthz", header), 401);
        }
    }
}

static void test_edits_need_the_flag_and_the_token(void **state)
{
    static const char body[] = "{\"topic\":\"jobs\"}";
    struct http_answer answer;
    char request[512];

    http_post(&answer, &outside, "/api/v1/pause", body);
    assert_problem(&answer, 403, "SMQ_DENIED", "--write");
    http_fini(&answer);
    snprintf(request, sizeof(request),
             "POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    http_raw(&answer, &http, request);
    assert_problem(&answer, 401, "SMQ_DENIED", "needs the token, always");
    http_fini(&answer);
    json_t *self = http_json_with_token(&http, "/api/v1/self");
    assert_true(json_is_true(json_object_get(self, "write")));
    json_decref(self);
}

/* === Pages of other sites =============================================== */

static void test_a_name_that_leads_here_is_refused(void **state)
{
    static const struct {
        const char *host;
        int status;
    } rows[] = {
        {"Host: 127.0.0.1\r\n", 200},
        {"Host: 127.0.0.1:1\r\n", 200},
        {"Host: [::1]:9095\r\n", 200},
        {"Host: localhost:9095\r\n", 200},
        {"Host: queues.example\r\n", 200},
        {"Host: OTHER.example:443\r\n", 200},
        {"Host: evil.example\r\n", 403},
        {"Host: 127.0.0.1.evil.example\r\n", 403},
        {"Host: localhost.evil.example\r\n", 403},
        {"Host: queues.example.evil.example\r\n", 403},
        {"Host: queues.example,other.example\r\n", 403},
        {"Host: 127.0.0.1:9095:9095\r\n", 403},
        {"Host: [::1\r\n", 403},
        {"Host: \r\n", 403},
        {"", 400},
        {"Host: localhost\r\nHost: localhost\r\n", 400},
        {"Host: localhost\r\nHost: evil.example\r\n", 400},
        {"Host: evil.example\r\nHost: localhost\r\n", 400},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_answer answer;
        char request[256];
        snprintf(request, sizeof(request),
                 "GET /api/v1/topics HTTP/1.1\r\n%sConnection: close\r\n\r\n", rows[i].host);
        http_raw(&answer, &http, request);
        if (answer.status != rows[i].status) {
            fail_msg("%s: %d", rows[i].host, answer.status);
        }
        assert_null(strstr(answer.body, "HTTP/1.1 2")); /* it has one head */
        assert_null(strstr(answer.body, "HTTP/1.1 4"));
        if (rows[i].status == 400 && rows[i].host[0] != '\0') {
            assert_problem(&answer, 400, "SMQ_INVALID", "one Host");
        }
        http_fini(&answer);
    }
}

static void test_requests_of_other_sites_are_refused(void **state)
{
    static const char *const forged[] = {"Origin: http://evil.example\r\n", "Origin: null\r\n",
                                         "Sec-Fetch-Site: cross-site\r\n",
                                         "Sec-Fetch-Site: same-site\r\n"};
    struct http_answer answer;

    for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
        http_get(&answer, &http, "/api/v1/topics", forged[i]);
        assert_problem(&answer, 403, "SMQ_DENIED", "other sites");
        http_fini(&answer);
    }
    assert_int_equal(http_status(&http, "/api/v1/topics", "Sec-Fetch-Site: same-origin\r\n"), 200);
    http_raw(
        &answer, &http,
        "POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 10\r\n" HTTP_WITH_TOKEN
        "\r\ntopic=jobs");
    assert_problem(&answer, 415, "SMQ_INVALID", "application/json");
    http_fini(&answer);
    assert_int_equal(command_stat("jobs", "dead"), 1); /* and nothing is paused */
}

static void assert_guarded(const struct http_answer *answer)
{
    assert_header(answer, "X-Frame-Options: DENY");
    assert_header(answer, "X-Content-Type-Options: nosniff");
    assert_header(answer, "Referrer-Policy: no-referrer");
    assert_header(answer, "Cross-Origin-Resource-Policy: same-origin");
    assert_header(answer, "Cache-Control: no-store");
    assert_non_null(strstr(answer->head, "frame-ancestors 'none'"));
    assert_non_null(strstr(answer->head, "Content-Security-Policy: default-src 'none';"));
    assert_null(strstr(answer->head, "unsafe"));
    assert_null(strstr(answer->head, "Access-Control-Allow"));
}

static void test_every_answer_is_guarded(void **state)
{
    static const char *const paths[] = {"/",
                                        "/healthz",
                                        "/metrics",
                                        "/none",
                                        "/api/v1/topics",
                                        "/api/v1/openapi.json",
                                        "/lag",
                                        "/api/v1/messages?topic=jobs&state=dead"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct http_answer answer;
        http_get(&answer, &http, paths[i], "");
        assert_guarded(&answer);
        http_fini(&answer);
    }
}

/* Texts of messages come as JSON, which no browser runs, and as they are. */
static void test_markup_is_text(void **state)
{
    json_t *page = http_json_with_token(&http, "/api/v1/messages?topic=jobs&state=dead");
    const json_t *one = json_array_get(json_object_get(page, "messages"), 0);
    struct http_answer answer;

    assert_string_equal(json_text(one, "body"), MARKUP);
    assert_string_equal(json_text(one, "key"), MARKUP);
    assert_string_equal(json_text(one, "id"), MARKUP);
    assert_non_null(strstr(json_text(one, "reason"), "<img src=x onerror=alert(1)>"));
    json_decref(page);
    http_get(&answer, &http, "/api/v1/messages?topic=jobs&state=dead", "");
    assert_header(&answer, "Content-Type: application/json");
    http_fini(&answer);
    http_get(&answer, &http, "/lag?topic=%3Cscript%3E", "");
    assert_header(&answer, "Content-Type: application/problem+json");
    http_fini(&answer);
}

/* === Sizes ============================================================== */

static void test_large_bodies_are_cut(void **state)
{
    json_t *list = http_json_with_token(&http, "/api/v1/messages?topic=large");
    json_t *one = http_json_with_token(&http, "/api/v1/message?topic=large&id=large");
    const json_t *first = json_array_get(json_object_get(list, "messages"), 0);

    assert_int_equal(json_number(first, "body_size"), BODY_BYTES);
    assert_true(json_is_true(json_object_get(first, "body_cut")));
    assert_int_equal(strlen(json_text(first, "body")), 4096);
    assert_int_equal(json_number(one, "body_size"), BODY_BYTES);
    assert_int_equal(strlen(json_text(one, "body")), 1024 * 1024);
    json_decref(list);
    json_decref(one);
}

static void test_large_requests_are_refused(void **state)
{
    const size_t size = (size_t) 300 * 1024;
    char *body = malloc(size + 64);
    struct http_answer answer;
    char *request = NULL;

    assert_non_null(body);
    memset(body, 'x', size);
    body[size] = '\0';
    http_post(&answer, &http, "/api/v1/pause", body);
    assert_problem(&answer, 413, "SMQ_TOO_BIG", "262144 bytes");
    http_fini(&answer);
    assert_true(
        asprintf(&request,
                 "POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                 "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n" HTTP_WITH_TOKEN
                 "\r\n%zx\r\n%s\r\n0\r\n\r\n",
                 size, body) > 0);
    http_raw(&answer, &http, request);
    assert_problem(&answer, 413, "SMQ_TOO_BIG", "262144 bytes");
    http_fini(&answer);
    free(request);
    body[(size_t) 64 * 1024] = '\0';
    assert_true(
        asprintf(&request, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", body) > 0);
    http_raw(&answer, &http, request);
    assert_true(answer.status >= 400 && answer.status < 500);
    http_fini(&answer);
    free(request);
    free(body);
}

/* === Paths and parameters =============================================== */

static void test_tricks_with_paths_find_nothing(void **state)
{
    static const char *const paths[] = {"/../etc/passwd",     "/api/v1/../v1/topics",
                                        "//api/v1/topics",    "/api/v1/topics/",
                                        "/healthz%00",        "/%68ealthz",
                                        "/api/v1/topics%2F",  "/.",
                                        "/page/../page",      "/api//v1/topics",
                                        "/%2e%2e/etc/passwd", "/api/v1/TOPICS",
                                        "/healthz;x=1",       "/api/v1/openapi.json%20",
                                        "/..%5c..%5cwindows", "/api/v1"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (http_status(&http, paths[i], "") != 404) {
            fail_msg("%s is found", paths[i]);
        }
    }
}

static void test_parameters_that_cannot_be_used_are_refused(void **state)
{
    static const char *const queries[] = {
        "?none=1",        "?limit=0",
        "?limit=1001",    "?limit=1e3",
        "?limit=",        "?limit=%31%00",
        "?search=%",      "?search=%4",
        "?search=%zz",    "?search=%ff",
        "?search=%c0%af", "?search=a&search=b",
        "?%00=1",         "?limit=99999999999999999999",
        "?order=size",    "?offset=-1",
    };

    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        char target[128];
        struct http_answer answer;
        snprintf(target, sizeof(target), "/api/v1/topics%s", queries[i]);
        http_get(&answer, &http, target, "");
        if (answer.status != 400) {
            fail_msg("%s: %d", target, answer.status);
        }
        http_fini(&answer);
    }
}

static void test_lists_of_words_end(void **state)
{
    static const char *const lists[] = {
        ",", ",dead", "dead,", "dead,,waiting", "dead,none", "dead,dead,dead,dead,dead"};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        char target[128];
        snprintf(target, sizeof(target), "/api/v1/messages?topic=jobs&state=%s", lists[i]);
        assert_int_equal(http_status(&http, target, ""), 400);
    }
}

static void test_bodies_that_are_no_json_are_refused(void **state)
{
    static const char *const bodies[] = {"",
                                         "x",
                                         "[]",
                                         "7",
                                         "{\"topic\":\"jobs\"",
                                         "{\"topic\":}",
                                         "{\"topic\":\"jobs\",\"topic\":\"jobs\"}",
                                         "{\"topic\":\"a\\u0000b\"}",
                                         "{\"topic\":\"jobs\"}{}",
                                         "{\"topic\":\"jobs\",\"more\":1}",
                                         "{\"topic\":\"\xff\"}"};

    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct http_answer answer;
        http_post(&answer, &http, "/api/v1/pause", bodies[i]);
        assert_problem(&answer, 400, "SMQ_INVALID", "");
        http_fini(&answer);
    }
}

/* Bytes that are no request end their connection, and nothing else. */
static void test_noise_is_survived(void **state)
{
    static const char *const noise[] = {"\r\n\r\n\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01\x02",
                                        "GET / HTTP/9.9\r\n\r\n",
                                        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"};

    for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
        const int fd = http_connect(&http);
        size_t size = 0;
        http_send(fd, noise[i], strlen(noise[i]));
        shutdown(fd, SHUT_WR);
        free(http_read(fd, &size));
    }
    assert_int_equal(http_status(&http, "/healthz", ""), 200);
}

/* === Slow, and many ===================================================== */

/* One that stops in the middle of its request is disconnected; others do not wait for it. */
static void test_a_slow_client_holds_up_nobody(void **state)
{
    static const char *const begun[] = {
        "GET /healthz HTTP/1.1\r\nHost: loc",
        "POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n" HTTP_WITH_TOKEN "\r\n{\"top"};
    size_t size = 0;
    int fd[2];

    for (size_t i = 0; i < 2; i++) {
        fd[i] = http_connect(&http);
        http_send(fd[i], begun[i], strlen(begun[i]));
    }
    assert_int_equal(http_status(&http, "/healthz", ""), 200);
    for (size_t i = 0; i < 2; i++) {
        free(http_read(fd[i], &size)); /* until the other side ends it */
    }
}

/* Those of one address: requests of others are answered while the first of them still has time. */
static void test_many_connections_of_an_address_hold_up_no_other(void **state)
{
    struct pollfd first = {.events = POLLIN};
    int fd[CONNECTIONS];
    struct rlimit files;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max < 4096 ? files.rlim_max : 4096;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        fd[i] = http_connect_from(&http, "127.0.0.2");
        http_send(fd[i], "GET /hea", 8);
    }
    assert_int_equal(http_status(&http, "/healthz", ""), 200);
    assert_int_equal(http_status(&http, "/api/v1/topics", ""), 200);
    first.fd = fd[0];
    assert_int_equal(poll(&first, 1, 0), 0);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        close(fd[i]);
    }
    assert_int_equal(http_status(&http, "/healthz", ""), 200);
}

/* Streams whose clients read nothing, and many that do. */
static void test_listeners_that_read_nothing_hold_up_nobody(void **state)
{
    static const char request[] = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int fd[60];

    for (size_t i = 0; i < 60; i++) {
        char first[1] = "";
        fd[i] = http_connect(&http);
        http_send(fd[i], request, strlen(request));
        assert_int_equal(recv(fd[i], first, 1, 0), 1);
    }
    assert_int_equal(http_status(&http, "/healthz", ""), 200);
    for (size_t i = 0; i < 60; i++) {
        close(fd[i]);
    }
}

/* Many that ask for a large answer and read nothing of it. */
static void test_clients_that_read_no_answer_hold_up_nobody(void **state)
{
    static const char request[] =
        "GET /api/v1/message?topic=large&id=large HTTP/1.1\r\nHost: localhost\r\n" HTTP_WITH_TOKEN
        "\r\n";
    int fd[60];

    for (size_t i = 0; i < 60; i++) {
        char first = '\0';
        fd[i] = http_connect(&http);
        http_send(fd[i], request, strlen(request));
        assert_int_equal(recv(fd[i], &first, 1, 0), 1);
    }
    assert_int_equal(http_status(&http, "/healthz", ""), 200);
    assert_int_equal(http_status(&http, "/api/v1/messages?topic=jobs&state=dead", ""), 200);
    for (size_t i = 0; i < 60; i++) {
        close(fd[i]);
    }
}

/* It began with the group, and all tests so far were answered beside it. */
static void test_a_client_that_drips_is_cut_off(void **state)
{
    char answer[256];

    assert_int_equal(pthread_join(drip.thread, NULL), 0);
    assert_true(drip.sent > 50); /* it was no idle client */
    (void) recv(drip.fd, answer, sizeof(answer), 0);
    assert_true(recv(drip.fd, answer, sizeof(answer), 0) <= 0);
    close(drip.fd);
    assert_int_equal(http_status(&http, "/healthz", ""), 200);
}

/* === Nothing depends on it ============================================== */

static void test_topics_work_while_it_hangs(void **state)
{
    run_signal(&outside.run, SIGSTOP);
    command_done(NULL, ARGS("topic", "create", "alone", "--slots", "2"));
    command_done(NULL, ARGS("send", "alone", "body"));
    command_done(NULL, ARGS("consume", "alone", "--count", "1"));
    assert_int_equal(http_status(&http, "/api/v1/topics", ""), 200); /* nor do other pages */
    run_signal(&outside.run, SIGCONT);
    assert_int_equal(http_status(&outside, "/healthz", ""), 200);
}

TEST_GROUP(serve_safe)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_address_needs_a_token),
        cmocka_unit_test(test_a_wrong_token_is_refused),
        cmocka_unit_test(test_edits_need_the_flag_and_the_token),
        cmocka_unit_test(test_a_name_that_leads_here_is_refused),
        cmocka_unit_test(test_requests_of_other_sites_are_refused),
        cmocka_unit_test(test_every_answer_is_guarded),
        cmocka_unit_test(test_markup_is_text),
        cmocka_unit_test(test_large_bodies_are_cut),
        cmocka_unit_test(test_large_requests_are_refused),
        cmocka_unit_test(test_tricks_with_paths_find_nothing),
        cmocka_unit_test(test_parameters_that_cannot_be_used_are_refused),
        cmocka_unit_test(test_lists_of_words_end),
        cmocka_unit_test(test_bodies_that_are_no_json_are_refused),
        cmocka_unit_test(test_noise_is_survived),
        cmocka_unit_test(test_a_slow_client_holds_up_nobody),
        cmocka_unit_test(test_many_connections_of_an_address_hold_up_no_other),
        cmocka_unit_test(test_listeners_that_read_nothing_hold_up_nobody),
        cmocka_unit_test(test_clients_that_read_no_answer_hold_up_nobody),
        cmocka_unit_test(test_topics_work_while_it_hangs),
        cmocka_unit_test(test_a_client_that_drips_is_cut_off),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
