/* http.c - slotmq serve under test, and what is said to it over plain sockets. */
#include "http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/wait.h"

const char *http_token_file(struct http *http)
{
    FILE *file = NULL;

    snprintf(http->token_file, sizeof(http->token_file), "%s/token",
             servers_folder(command_servers()));
    file = fopen(http->token_file, "we");
    assert_non_null(file);
    fputs(HTTP_TOKEN "\n", file);
    assert_int_equal(fclose(file), 0);
    return http->token_file;
}

void http_start(struct http *http, const char *const *arguments)
{
    static const char says[] = "listening on http://";

    command_start(&http->run, NULL, arguments);
    if (!run_wait_err(&http->run, says, TIMEOUT_MS) ||
        !run_wait_err(&http->run, "\n", TIMEOUT_MS)) {
        fail_msg("it does not listen: %s", http->run.err);
    }
    const char *address = strstr(http->run.err, says) + strlen(says);
    http->port = atoi(strchr(address, ':') + 1); /* no test gives a name of IPv6 */
    assert_true(http->port > 0);
}

void http_end(struct http *http)
{
    run_signal(&http->run, SIGTERM);
    command_end(&http->run);
    run_fini(&http->run);
}

int http_connect(const struct http *http)
{
    return http_connect_from(http, "127.0.0.1");
}

int http_connect_from(const struct http *http, const char *address)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t) http->port),
                                   .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {inet_addr(address)}};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *) &from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *) &to, sizeof(to)), 0);
    return fd;
}

void http_send(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return;
        }
        bytes += sent;
        size -= (size_t) sent;
    }
}

char *http_read(int fd, size_t *size)
{
    char part[65536];
    char *text = NULL;
    ssize_t got = 0;
    FILE *all = open_memstream(&text, size);

    assert_non_null(all);
    while ((got = recv(fd, part, sizeof(part), 0)) > 0) {
        assert_int_equal(fwrite(part, 1, (size_t) got, all), got);
    }
    close(fd);
    assert_int_equal(fclose(all), 0);
    if (*size == 0) {
        free(text);
        return NULL;
    }
    return text;
}

static void http_split(struct http_answer *out, char *text, size_t size)
{
    char *end = strstr(text, "\r\n\r\n");

    if (!end || strncmp(text, "HTTP/1.", 7) != 0) {
        fail_msg("no answer of HTTP: %s", text);
        return;
    }
    *out = (struct http_answer){.status = atoi(text + strlen("HTTP/1.1 ")), .head = text};
    end[2] = '\0';
    out->size = size - (size_t) (end + 4 - text);
    out->body = malloc(out->size + 1);
    assert_non_null(out->body);
    memcpy(out->body, end + 4, out->size);
    out->body[out->size] = '\0';
}

void http_raw(struct http_answer *out, const struct http *http, const char *request)
{
    const int fd = http_connect(http);
    size_t size = 0;

    *out = (struct http_answer){.status = 0};
    http_send(fd, request, strlen(request));
    char *text = http_read(fd, &size);
    if (!text) {
        fail_msg("no answer to %.200s", request);
        return;
    }
    http_split(out, text, size);
}

void http_fini(struct http_answer *answer)
{
    free(answer->head);
    free(answer->body);
}

void http_get(struct http_answer *out, const struct http *http, const char *path,
              const char *headers)
{
    char *request = NULL;

    assert_true(asprintf(&request,
                         "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n%s\r\n",
                         path, http->port, headers) > 0);
    http_raw(out, http, request);
    free(request);
}

void http_post(struct http_answer *out, const struct http *http, const char *path, const char *body)
{
    char *request = NULL;

    assert_true(asprintf(&request,
                         "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n" HTTP_WITH_TOKEN
                         "\r\n%s",
                         path, http->port, strlen(body), body) > 0);
    http_raw(out, http, request);
    free(request);
}

int http_status(const struct http *http, const char *path, const char *headers)
{
    struct http_answer answer;

    http_get(&answer, http, path, headers);
    const int status = answer.status;
    http_fini(&answer);
    return status;
}

/* The document of an answer that must have this status; frees the answer. */
static json_t *http_document(struct http_answer *answer, const char *path, int status)
{
    json_error_t error;

    if (answer->status != status) {
        fail_msg("%s: %d %s", path, answer->status, answer->body);
    }
    json_t *document = json_loads(answer->body, 0, &error);
    if (!document) {
        fail_msg("%s: not JSON (%s): %s", path, error.text, answer->body);
    }
    http_fini(answer);
    return document;
}

json_t *http_json(const struct http *http, const char *path)
{
    struct http_answer answer;

    http_get(&answer, http, path, "");
    return http_document(&answer, path, 200);
}

json_t *http_json_with_token(const struct http *http, const char *path)
{
    struct http_answer answer;

    http_get(&answer, http, path, HTTP_WITH_TOKEN);
    return http_document(&answer, path, 200);
}

json_t *http_post_json(const struct http *http, const char *path, const char *body, int status)
{
    struct http_answer answer;

    http_post(&answer, http, path, body);
    return http_document(&answer, path, status);
}

/* === Waiting ============================================================ */

struct http_awaited {
    const struct http *http;
    const char *path;
    http_is *is;
    const void *arg;
};

static bool http_is_so(void *user)
{
    const struct http_awaited *awaited = user;
    json_t *document = http_json_with_token(awaited->http, awaited->path);
    const bool is = awaited->is(document, awaited->arg);

    json_decref(document);
    return is;
}

void http_await(const struct http *http, const char *path, http_is *is, const void *arg)
{
    struct http_awaited awaited = {http, path, is, arg};

    if (!wait_until(http_is_so, &awaited, TIMEOUT_MS)) {
        json_t *document = http_json_with_token(http, path);
        fail_msg("%s stays %s", path, json_dumps(document, 0));
    }
}

/* Were all topics read, also those that existed at that time? */
static bool http_is_read_since(const json_t *document, const void *arg)
{
    const json_int_t *since_ms = arg;
    const json_t *reading = json_object_get(document, "reading");
    const json_t *at_ms = json_object_get(reading, "at_ms");

    /* the round that has ended may have begun before */
    return json_is_integer(at_ms) &&
           json_integer_value(at_ms) - json_number(reading, "round_ms") >= *since_ms;
}

void http_await_reading(const struct http *http)
{
    json_t *document = http_json(http, "/api/v1/topics");
    const json_t *at_ms = json_object_get(json_object_get(document, "reading"), "at_ms");
    const json_int_t since_ms = json_is_integer(at_ms) ? json_integer_value(at_ms) + 1 : 1;

    json_decref(document);
    http_await(http, "/api/v1/topics", http_is_read_since, &since_ms);
}

/* === Assertions ========================================================= */

void assert_problem(const struct http_answer *answer, int status, const char *code,
                    const char *text)
{
    json_t *problem = json_loads(answer->body, 0, NULL);

    if (answer->status != status || !problem) {
        fail_msg("wanted %d %s; %d %s", status, code, answer->status, answer->body);
    }
    assert_header(answer, "Content-Type: application/problem+json");
    assert_int_equal(json_number(problem, "status"), status);
    assert_string_equal(json_text(problem, "code"), code);
    if (!strstr(json_text(problem, "detail"), text)) {
        fail_msg("wanted \"%s\": %s", text, answer->body);
    }
    json_decref(problem);
}

void assert_header(const struct http_answer *answer, const char *line)
{
    const size_t size = strlen(line);

    for (const char *at = strstr(answer->head, line); at; at = strstr(at + 1, line)) {
        if (at[-1] == '\n' && at[size] == '\r') {
            return;
        }
    }
    fail_msg("no header \"%s\" in:\n%s", line, answer->head);
}
