/* http.h - slotmq serve under test, and what is said to it over plain sockets.
 *
 * What goes wrong fails the test that runs.
 *
 * Thread: main. */
#ifndef COMMAND_HTTP_H
#define COMMAND_HTTP_H

#include "command.h"

/* The token of HTTP_TOKEN_FILE(). */
#define HTTP_TOKEN "0123456789abcdef-token"

/* A port that was opened by the command. */
struct http {
    struct run run;
    int port;
    char token_file[512];
};

/* Writes a file that holds HTTP_TOKEN, for --token-file. */
const char *http_token_file(struct http *http);

/* Starts the command, and waits until it listens on 127.0.0.1. */
void http_start(struct http *http, const char *const *arguments);

/* Ends it by SIGTERM; it must succeed. */
void http_end(struct http *http);

struct http_answer {
    int status;
    char *head, *body; /* owned; each ends with a NUL */
    size_t size;       /* of the body */
};

/* Connects, by default from 127.0.0.1. */
int http_connect(const struct http *http);
int http_connect_from(const struct http *http, const char *address);

/* Sends these bytes, if the other side lets it. */
void http_send(int fd, const char *bytes, size_t size);

/* Reads until the other side ends the connection, which it closes.  NULL: no answer came. */
char *http_read(int fd, size_t *size);

/* Sends what is a whole request, and reads the answer; it must be one. */
void http_raw(struct http_answer *out, const struct http *http, const char *request);
void http_fini(struct http_answer *answer);

/* GET, with these headers, each ended by "\r\n". */
void http_get(struct http_answer *out, const struct http *http, const char *path,
              const char *headers);

/* POST of JSON with the token. */
void http_post(struct http_answer *out, const struct http *http, const char *path,
               const char *body);

/* The status alone. */
int http_status(const struct http *http, const char *path, const char *headers);

/* The document of an answer 200, without and with the token. */
json_t *http_json(const struct http *http, const char *path);
json_t *http_json_with_token(const struct http *http, const char *path);

/* The document of the answer to a POST with the token, which must have this status. */
json_t *http_post_json(const struct http *http, const char *path, const char *body, int status);

/* Waits until the document, asked for with the token, is so. */
typedef bool http_is(const json_t *document, const void *arg);
void http_await(const struct http *http, const char *path, http_is *is, const void *arg);

/* Waits until serve has read all topics that exist now. */
void http_await_reading(const struct http *http);

/* The answer is a problem with this status and code, and its detail holds `text`. */
void assert_problem(const struct http_answer *answer, int status, const char *code,
                    const char *text);

/* The head has this header, as "X-Frame-Options: DENY". */
void assert_header(const struct http_answer *answer, const char *line);

#define HTTP_WITH_TOKEN "Authorization: Bearer " HTTP_TOKEN "\r\n"

#endif
