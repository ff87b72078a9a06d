/* message.h - messages as JSON. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <jansson.h>

#include <slotmq/slotmq.h>

/* What a consumer is shown: topic, key when known, slot, token, attempt, due_at_ms, body. */
json_t *message_delivery_json(const smq_message_info *message);

/* A dead letter; `type` decides whether it has a priority or a time. */
json_t *message_dead_json(const smq_message_info *message, smq_topic_type type);

#endif
