/* send.h - checks one message against a topic and says what the send script gets.
 *
 * Pure. */
#ifndef MODEL_SEND_H
#define MODEL_SEND_H

#include <slotmq/message.h>

#include "model/topic.h"

/* What does not depend on the topic: lengths, delay with due time, ranges.  `*out` is the message
 * as this version knows it; pointers stay the caller's.  Fails: INVALID, TOO_BIG. */
smq_status send_check(smq_message *out, const smq_message *message, smq_error *err);

enum { SEND_WHEN_MAX = 24 };

/* What depends on it. */
struct send_place {
    int32_t slot;
    int32_t max_retries;      /* keyed: its own limit; -1: the topic's */
    int64_t ttl_ms;           /* keyed: -1: for ever */
    char when[SEND_WHEN_MAX]; /* the script's argument: "+MS" (relative), "MS" (absolute), a
                                 priority, or of fifo "0" */
};

/* Does the message need an id made for it? */
bool send_lacks_id(const struct topic *topic, const smq_message *message);

/* `message` has passed send_check() and does not lack an id.  Fails: INVALID (range, empty, or no
 * delay where one is needed), WRONG_TYPE, TOO_BIG. */
smq_status send_place(struct send_place *out, const struct topic *topic, const smq_message *message,
                      smq_error *err);

/* The slot of a message that does not lack an id. */
int32_t send_slot(const struct topic *topic, const smq_message *message);

/* What identifies the message in the sorted sets of its slot.  `*out` points into the
 * message or into `scratch`, which is overwritten. */
void send_member(const void **out, size_t *len, struct buf *scratch, const struct topic *topic,
                 const smq_message *message);

#endif
