/* message_line.h - a message as a JSON object on a line of its own: what consume, peek and dead
 * list print, and send reads.  docs/slotmq.1 lists the members.
 *
 * Pure. */
#ifndef CLI_MESSAGE_LINE_H
#define CLI_MESSAGE_LINE_H

#include "cli/topic/topic.h"
#include "cli/verb/members.h"

/* How lines become messages. */
struct message_rules {
    const struct topic_facts *topic; /* to which they are sent */
    bool restore;                    /* as they were stored, not as new ones */
    smq_message defaults;            /* what a line does not say */
};

/* A message and what it points to.  Zeroed: none. */
struct message_line {
    smq_message message;
    smq_message_copy copy; /* in its place, with rules.restore; then of `message` only the bytes */
    struct members_line read;
};

/* Reads a line.  `now_ms`: since 1970.  false: `error` says what is wrong with it.  Free `out` with
 * message_line_fini() in both cases. */
bool message_line_read(struct message_line *out, char error[MEMBERS_ERROR], const char *text,
                       size_t size, const struct message_rules *rules, int64_t now_ms);
void message_line_fini(struct message_line *line);

/* The most bytes that a line with a body of `max_body` bytes has: six for each, and some for keys,
 * ids and other members. */
size_t message_line_most(int64_t max_body);

/* A stored message as one to be restored in a topic: with its time, its first send, its expiry and
 * its deliveries, as far as that topic has them.  A dead letter waits again, with all its retries
 * and without an expiry.  The bytes are those of `info`. */
smq_message_copy message_restored(const smq_message_info *info, const struct topic_facts *topic);

#endif
