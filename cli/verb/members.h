/* members.h - a JSON object on a line of its own as a struct: tables say which members it may have.
 *
 * Pure. */
#ifndef CLI_MEMBERS_H
#define CLI_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include <slotmq/slotmq.h>

#include "cli/verb/flags.h"

enum member_kind {
    MEMBER_BYTES,    /* smq_bytes; bytes and texts may also be given as base64, as NAME_base64 */
    MEMBER_TEXT,     /* const char *, without a NUL in it */
    MEMBER_NUMBER,   /* struct flag_value */
    MEMBER_TIME,     /* struct flag_value, in milliseconds since 1970 */
    MEMBER_DURATION, /* struct flag_value, in milliseconds */
    MEMBER_SWITCH,   /* bool */
    MEMBER_NAME,     /* int, of `named` */
    MEMBER_OBJECT,   /* const json_t * */
    MEMBER_HEADERS,  /* of the line */
    MEMBER_SHOWN     /* printed, and not read */
};

/* A member that is missing or null is not given: its field stays as it was. */
struct member {
    const char *name;
    enum member_kind kind;
    size_t offset;                   /* of its field in the struct of values */
    int (*named)(const char *value); /* of names: 0 is none */
    const char *wanted;              /* of names: which there are */
};

struct members_table {
    const char *noun; /* what has these members, as "message" */
    const char *hint; /* behind an error that says that it is something else */
    const struct member *rows;
    size_t count;
};

enum { MEMBERS_ERROR = 200, MEMBERS_DECODED_MAX = SMQ_HEADERS_MAX + 8 };

/* What the values of a line point to.  Zeroed: none. */
struct members_line {
    json_t *document;
    smq_header headers[SMQ_HEADERS_MAX];
    size_t header_count;
    char *decoded[MEMBERS_DECODED_MAX]; /* from base64 */
    size_t decoded_count;
};

/* Reads a line.  false: `error` says what is wrong with it.  Free `line` with members_fini() in
 * both cases. */
bool members_load(void *values, struct members_line *line, char error[MEMBERS_ERROR],
                  const char *text, size_t size, const struct members_table *table);

/* Reads an object of the line. */
bool members_read(void *values, struct members_line *line, char error[MEMBERS_ERROR],
                  const json_t *object, const struct members_table *table);

void members_fini(struct members_line *line);

/* Says that the member cannot be used, and gives false. */
bool members_say_bad(char error[MEMBERS_ERROR], const char *name, const char *wanted);

#endif
