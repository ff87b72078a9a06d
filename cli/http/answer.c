/* answer.c - an answer of a port: status, type and bytes. */
#include "cli/http/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"

/* Longer than any line. */
enum { ANSWER_LINE = 1024 };

struct answer *answer_new(unsigned status, const char *type, char *body, size_t size)
{
    struct answer *answer = say_alloc(1, sizeof(*answer));

    atomic_init(&answer->refs, 1);
    answer->status = status;
    answer->type = type;
    answer->body = body;
    answer->size = size;
    return answer;
}

static struct answer *answer_document(unsigned status, const char *type, json_t *document)
{
    size_t size = 0;
    char *text = output_json_text(&size, document);

    return answer_new(status, type, text, size);
}

struct answer *answer_json(unsigned status, json_t *document)
{
    return answer_document(status, "application/json", document);
}

struct answer *answer_line(unsigned status, const char *format, ...)
{
    char *line = say_alloc(ANSWER_LINE + 1, 1);
    va_list args;

    va_start(args, format);
    vsnprintf(line, ANSWER_LINE, format, args);
    va_end(args);
    const size_t size = strlen(line);
    line[size] = '\n';
    return answer_new(status, "text/plain; charset=utf-8", line, size + 1);
}

static const struct {
    unsigned status;
    const char *title;
} answer_titles[] = {
    {400, "Bad Request"},        {401, "Unauthorized"},
    {403, "Forbidden"},          {404, "Not Found"},
    {405, "Method Not Allowed"}, {409, "Conflict"},
    {413, "Content Too Large"},  {415, "Unsupported Media Type"},
    {429, "Too Many Requests"},  {500, "Internal Server Error"},
    {502, "Bad Gateway"},        {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

static const char *answer_title(unsigned status)
{
    for (size_t i = 0; i < sizeof(answer_titles) / sizeof(answer_titles[0]); i++) {
        if (answer_titles[i].status == status) {
            return answer_titles[i].title;
        }
    }
    return "";
}

struct answer *answer_problem(unsigned status, smq_status code, const char *format, ...)
{
    json_t *document = json_object();
    char detail[ANSWER_LINE];
    va_list args;

    va_start(args, format);
    vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    output_set(document, "type", json_string("about:blank"));
    output_set(document, "title", json_string(answer_title(status)));
    output_set(document, "status", json_integer(status));
    output_set(document, "detail", output_text(detail));
    output_set(document, "code", json_string(smq_status_name(code)));
    return answer_document(status, "application/problem+json", document);
}

unsigned answer_status_of(smq_status status)
{
    switch (status) {
    case SMQ_INVALID:
        return 400;
    case SMQ_NO_TOPIC:
    case SMQ_NO_MESSAGE:
    case SMQ_NO_SCHEDULE:
        return 404;
    case SMQ_TOPIC_DIFFERS:
    case SMQ_NOT_EMPTY:
    case SMQ_WRONG_TYPE:
    case SMQ_DAMAGED:
    case SMQ_OTHER_FLEET:
    case SMQ_FULL:
    case SMQ_IN_WORK:
    case SMQ_DUPLICATE:
        return 409;
    case SMQ_TOO_BIG:
        return 413;
    case SMQ_DENIED:
    case SMQ_BAD_SERVER:
        return 502;
    case SMQ_UNAVAILABLE:
    case SMQ_CLOSED:
        return 503;
    case SMQ_TIMED_OUT:
    case SMQ_UNKNOWN:
        return 504;
    default:
        return 500;
    }
}

struct answer *answer_failure(const smq_error *err)
{
    return answer_problem(answer_status_of(err->status), err->status, "%s", say_text(err));
}

struct answer *answer_ref(struct answer *answer)
{
    atomic_fetch_add(&answer->refs, 1);
    return answer;
}

void answer_unref(struct answer *answer)
{
    if (answer && atomic_fetch_sub(&answer->refs, 1) == 1) {
        free(answer->body);
        free(answer);
    }
}
