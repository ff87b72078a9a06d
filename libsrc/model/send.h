/* send.h - checks one message against a topic and says what the send script gets.
 *
 * Pure. */
#ifndef MODEL_SEND_H
#define MODEL_SEND_H

#include <slotmq/message.h>

#include "model/topic.h"

/* What does not depend on the topic: lengths, SMQ_STRING resolved, delay with due time.
 * `*out` is the message with its lengths resolved; pointers stay the caller's.  Fails: INVALID,
 * TOO_BIG. */
smq_status send_check(smq_message *out, const smq_message *message, smq_error *err);

enum { SEND_WHEN_MAX = 24 };

/* What depends on it: the slot, and the script's argument `when`: "+MS" (relative), "MS"
 * (absolute), or a priority.  `message` has passed send_check().  Fails: INVALID (range, or no
 * delay where one is needed), WRONG_TYPE. */
smq_status send_place(int32_t *slot, char when[SEND_WHEN_MAX], const struct topic *topic,
                      const smq_message *message, smq_error *err);

#endif
