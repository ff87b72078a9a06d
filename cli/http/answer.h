/* answer.h - an answer of a port: status, type and bytes.  Many requests may share one.
 *
 * Thread: any. */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include <jansson.h>
#include <stdatomic.h>
#include <stddef.h>

#include <slotmq/slotmq.h>

/* Nothing but `refs` changes. */
struct answer {
    atomic_uint refs;
    unsigned status;   /* of HTTP */
    const char *type;  /* static */
    const char *allow; /* static: the methods of the path, of an answer 405; else NULL */
    char *body;        /* owned */
    size_t size;
};

/* An answer with one reference; `body` was allocated, and is owned. */
struct answer *answer_new(unsigned status, const char *type, char *body, size_t size);

/* Takes the document. */
struct answer *answer_json(unsigned status, json_t *document);

/* One line of text. */
struct answer *answer_line(unsigned status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A problem (RFC 9457) in the words of this program, or of the library. */
struct answer *answer_problem(unsigned status, smq_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct answer *answer_failure(const smq_error *err);

struct answer *answer_ref(struct answer *answer);
void answer_unref(struct answer *answer);

/* The status of HTTP for an error of the library. */
unsigned answer_status_of(smq_status status);

#endif
