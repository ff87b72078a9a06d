/* bulk.h - which of many messages are meant. */
#ifndef CLI_BULK_H
#define CLI_BULK_H

#include "topic.h"

/* The flags of a filter; a verb's table has rows for those that it takes. */
struct bulk_filter {
    const char *id, *key, *match, *reason;
    struct flag_value older_than, limit, rate;
};

#define BULK_TEXT(struct_, flag_, member_, what_, help_)                                           \
    {                                                                                              \
        .name = (flag_), .type = FLAG_TEXT, .offset = offsetof(struct_, filter.member_),           \
        .operand = (what_), .help = (help_)                                                        \
    }
#define BULK_ID(struct_)                                                                           \
    BULK_TEXT(struct_, "id", id, "ID", "just this one; in layout inline ID is its body"),          \
        BULK_TEXT(struct_, "key", key, "KEY", "with --id: the key it was sent with; default: ID")
#define BULK_MATCH(struct_)                                                                        \
    BULK_TEXT(struct_, "match", match, "TEXT", "only those with TEXT in body, key or id")
#define BULK_REASON(struct_)                                                                       \
    BULK_TEXT(struct_, "reason", reason, "TEXT", "only those with TEXT in the reason")
#define BULK_OLDER(struct_, help_)                                                                 \
    {                                                                                              \
        .name = "older-than", .type = FLAG_DURATION,                                               \
        .offset = offsetof(struct_, filter.older_than), .operand = "TIME", .min = 1,               \
        .max = INT64_C(1) << 43, .help = (help_)                                                   \
    }
#define BULK_LIMIT(struct_)                                                                        \
    {                                                                                              \
        .name = "limit", .type = FLAG_NUMBER, .offset = offsetof(struct_, filter.limit),           \
        .operand = "N", .min = 1, .max = INT64_MAX, .help = "at most N; default all"               \
    }
/* --key without --id is refused. */
enum exit_code bulk_check(const struct bulk_filter *filter);

/* Fills `out` and, if one message is named, *which, which must live as long. */
void bulk_filter_make(smq_filter *out, smq_message *which, const struct bulk_filter *filter,
                      const struct topic_facts *topic);

#endif
