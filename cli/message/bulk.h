/* bulk.h - edits of many messages at once: their filter, the bar, what was done. */
#ifndef CLI_BULK_H
#define CLI_BULK_H

#include "cli/message/reason_flags.h"
#include "cli/message/which.h"
#include "cli/verb/headers.h"

/* The flags of a filter; a verb's table has rows for those that it takes. */
struct bulk_filter {
    struct which which;
    const char *match;
    struct reason_flags reason;
    struct flag_value older_than, limit, rate;
    struct headers headers;
};

#define BULK_ID(struct_) WHICH_FLAGS(struct_, filter.which)
#define BULK_MATCH(struct_)                                                                        \
    TEXT_FLAG("match", offsetof(struct_, filter.match), "TEXT",                                    \
              "only those with TEXT in body, key or id")
#define BULK_REASON(struct_) REASON_FLAGS(offsetof(struct_, filter.reason))
#define BULK_HEADER(struct_) HEADERS_SELECT(offsetof(struct_, filter.headers))
#define BULK_OLDER(struct_, help_)                                                                 \
    {                                                                                              \
        .name = "older-than", .type = FLAG_DURATION,                                               \
        .offset = offsetof(struct_, filter.older_than), .operand = "TIME", .min = "1ms",           \
        .help = (help_)                                                                            \
    }
#define BULK_LIMIT(struct_)                                                                        \
    NUMBER_FLAG("limit", offsetof(struct_, filter.limit), "at most N; default all")
#define BULK_RATE(struct_)                                                                         \
    NUMBER_FLAG("rate", offsetof(struct_, filter.rate), "N a second; default no limit")

/* Is anything given that leaves out some messages? */
bool bulk_selects(const struct command *command, const struct bulk_filter *filter);

/* Refuses an id that is given twice, --key without an id, two reasons, and two headers. */
enum exit_code bulk_check(const struct command *command, const struct bulk_filter *filter);

/* Fills `out`, but which message is named. */
void bulk_filter_make(smq_filter *out, const struct bulk_filter *filter);

/* smq_dead_requeue() or smq_topic_purge(). */
typedef smq_status bulk_fn(smq_client *client, const char *topic, const smq_filter *filter,
                           uint64_t *count, smq_progress_fn *progress, void *user, smq_error *err);

/* Does it with a bar, and prints or says "DONE N". */
enum exit_code bulk_run(smq_client *client, const struct command *command, const smq_filter *filter,
                        bulk_fn *edit, const char *done);

#endif
