/* message.c - messages as JSON. */
#include "message.h"

#include <string.h>

#include "output.h"

/* What every message begins with. */
static json_t *message_json(const smq_message_info *message)
{
    json_t *object = json_object();

    output_set(object, "topic", json_string(message->topic));
    if (message->key) {
        output_set_bytes(object, "key", message->key, message->key_len);
    }
    output_set(object, "slot", json_integer(message->slot));
    return object;
}

json_t *message_delivery_json(const smq_message_info *message)
{
    json_t *object = message_json(message);

    output_set(object, "token", json_string(message->token ? message->token : ""));
    output_set(object, "attempt", json_integer(message->attempt));
    output_set(object, "due_at_ms", json_integer(message->due_at_ms));
    output_set_bytes(object, "body", message->body, message->body_len);
    return object;
}

json_t *message_dead_json(const smq_message_info *message, smq_topic_type type)
{
    json_t *object = message_json(message);

    output_set(object, "attempt", json_integer(message->attempt));
    output_set(object, "dead_at_ms", json_integer(message->dead_at_ms));
    if (type == SMQ_PRIORITY) {
        output_set(object, "priority", json_integer(message->priority));
    } else {
        output_set(object, "due_at_ms", json_integer(message->due_at_ms));
    }
    const char *reason = message->reason ? message->reason : "";
    output_set_bytes(object, "reason", reason, strlen(reason));
    output_set_bytes(object, "body", message->body, message->body_len);
    return object;
}
