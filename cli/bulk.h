/* bulk.h - edits of many messages at once: their filter, the bar, what was done. */
#ifndef CLI_BULK_H
#define CLI_BULK_H

#include "headers.h"
#include "reason_flags.h"
#include "topic.h"

/* The flags of a filter; a verb's table has rows for those that it takes. */
struct bulk_filter {
    const char *id, *key, *match;
    struct reason_flags reason;
    struct flag_value older_than, limit, rate;
    struct headers headers;
};

#define BULK_TEXT(struct_, flag_, member_, what_, help_)                                           \
    {                                                                                              \
        .name = (flag_), .type = FLAG_TEXT, .offset = offsetof(struct_, filter.member_),           \
        .operand = (what_), .help = (help_)                                                        \
    }
#define BULK_ID(struct_)                                                                           \
    BULK_TEXT(struct_, "id", id, "ID", "just this one; in layout inline ID is its body"),          \
        BULK_TEXT(struct_, "key", key, "KEY",                                                      \
                  "with --id: the key it was sent with; default: none")
#define BULK_MATCH(struct_)                                                                        \
    BULK_TEXT(struct_, "match", match, "TEXT", "only those with TEXT in body, key or id")
#define BULK_REASON(struct_) REASON_FLAGS(offsetof(struct_, filter.reason))
#define BULK_HEADER(struct_) HEADERS_SELECT(offsetof(struct_, filter.headers))
#define BULK_OLDER(struct_, help_)                                                                 \
    {                                                                                              \
        .name = "older-than", .type = FLAG_DURATION,                                               \
        .offset = offsetof(struct_, filter.older_than), .operand = "TIME", .min = "1ms",           \
        .help = (help_)                                                                            \
    }
#define BULK_LIMIT(struct_)                                                                        \
    {                                                                                              \
        .name = "limit", .type = FLAG_NUMBER, .offset = offsetof(struct_, filter.limit),           \
        .operand = "N", .min = "1", .help = "at most N; default all"                               \
    }
#define BULK_RATE(struct_)                                                                         \
    {                                                                                              \
        .name = "rate", .type = FLAG_NUMBER, .offset = offsetof(struct_, filter.rate),             \
        .operand = "N", .min = "1", .help = "N a second; default no limit"                         \
    }

/* Is anything given that leaves out some messages? */
bool bulk_selects(const struct bulk_filter *filter);

/* Refuses --key without --id, two reasons, and two headers. */
enum exit_code bulk_check(const struct bulk_filter *filter);

/* Fills `out` and, if one message is named, *which, which must live as long. */
void bulk_filter_make(smq_filter *out, smq_message_ref *which, const struct bulk_filter *filter,
                      const struct topic_facts *topic);

/* smq_dead_requeue() or smq_topic_purge(). */
typedef smq_status bulk_fn(smq_client *client, const char *topic, const smq_filter *filter,
                           uint64_t *count, smq_progress_fn *progress, void *user, smq_error *err);

/* Does it with a bar, and prints or says "DONE N".  If one message was named and is not there, that
 * is an error: "... has no MISSING ID". */
enum exit_code bulk_run(smq_client *client, const struct command *command, const smq_filter *filter,
                        bulk_fn *edit, const char *done, const char *missing);

#endif
