/* query.h - what a request asks for: the parameters of its address, or the members of its body,
 * checked by one table.
 *
 * Pure. */
#ifndef SERVE_QUERY_H
#define SERVE_QUERY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

/* BYTES: NAME is text, or NAME_base64 any bytes.  STRING: the same without a NUL.  WORDS: a list of
 * texts, not empty, with a comma between them in an address.  OBJECTS: a list of objects, not
 * empty, each of which `of` checks; not in an address. */
enum query_type {
    QUERY_TEXT,
    QUERY_NUMBER,
    QUERY_SWITCH,
    QUERY_BYTES,
    QUERY_STRING,
    QUERY_WORDS,
    QUERY_OBJECTS
};

/* Tables end with a name NULL. */
struct query_field {
    const char *name;
    enum query_type type;
    bool required;
    int64_t min, max; /* of a number; how many objects or words at most */
    const struct query_field *of;
};

/* Why a request was refused. */
enum { QUERY_WHY = 256 };

/* Adds a parameter of an address, still percent-encoded; a plus sign means a blank.  false: the
 * decoded value is no UTF-8 or holds a NUL, the encoding is wrong, or the parameter was given
 * before. */
bool query_add(json_t *query, const char *name, size_t name_size, const char *value,
               size_t value_size, char why[QUERY_WHY]);

/* The object in a body; NULL: it is none. */
json_t *query_read(const char *body, size_t size, char why[QUERY_WHY]);

/* Does the query have what the table wants, and nothing else?  `address`: its values are texts,
 * of which those for numbers and words become these. */
bool query_check(json_t *query, const struct query_field *fields, bool address,
                 char why[QUERY_WHY]);

/* Values of a query that was checked. */
const char *query_text(const json_t *query, const char *name); /* NULL: not given */
int64_t query_number(const json_t *query, const char *name, int64_t fallback);
bool query_switch(const json_t *query, const char *name);

/* The bytes of NAME or NAME_base64, which live as long as the query, or as *decoded, to be freed,
 * which may be NULL.  Without data: not given. */
smq_bytes query_bytes(const json_t *query, const char *name, char **decoded);

/* The message that `id` and `key` name, as long as the query lives. */
struct query_ref {
    smq_message_ref which;
    char *id_bytes, *key_bytes; /* owned; NULL: they are in the query */
};

void query_ref_read(struct query_ref *out, const json_t *query);
/* The topic has layout inline: the id is the body. */
void query_ref_by_body(struct query_ref *ref);
void query_ref_fini(struct query_ref *ref);

/* What `contains`, `reason`, `reason_is`, `header`, `older_than_ms` and `limit` select, as long as
 * the query lives. */
struct query_filter {
    smq_filter filter;
    smq_header header;
    char *reason, *name, *value; /* owned */
};

/* Is it one that can be used?  `why` says why not. */
bool query_filter_read(struct query_filter *out, const json_t *query, char why[QUERY_WHY]);
void query_filter_fini(struct query_filter *filter);

#endif
