/* message.c - messages: their states by name, shown as JSON and in tables. */
#include "cli/message/message.h"

#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/verb/headers.h"

/* === States ============================================================= */

/* The state of that name, which has `length` bytes; 0: there is none. */
static smq_state message_find_state(const char *name, size_t length)
{
    for (int state = SMQ_STATE_WAITING; state <= SMQ_STATE_DEAD; state *= 2) {
        const char *found = smq_state_name((smq_state) state);
        if (strlen(found) == length && strncmp(found, name, length) == 0) {
            return (smq_state) state;
        }
    }
    return 0;
}

smq_state message_state_named(const char *name)
{
    return message_find_state(name, strlen(name));
}

enum exit_code message_states_read(unsigned *out, const char *text)
{
    unsigned all = 0;

    for (const char *word = text;; word++) {
        const size_t length = strcspn(word, ",");
        const smq_state state = message_find_state(word, length);
        if (state == 0) {
            return say_error(EXIT_USAGE,
                             "--state \"%s\" cannot be used; give one or more of waiting, claimed, "
                             "resting, dead, with commas between",
                             text);
        }
        all |= (unsigned) state;
        word += length;
        if (*word == '\0') {
            *out = all;
            return EXIT_DONE;
        }
    }
}

bool message_has_own_key(const smq_message_info *message)
{
    return message->key.data && (!message->id.data || message->key.len != message->id.len ||
                                 memcmp(message->key.data, message->id.data, message->id.len) != 0);
}

bool message_has_id(const smq_message_info *message)
{
    return message->id.data && message->id.data != message->body.data;
}

/* === JSON =============================================================== */

/* Absent bytes are empty. */
static void message_set_body(json_t *object, const smq_message_info *message)
{
    output_set_bytes(object, "body", message->body.data ? message->body.data : "",
                     message->body.len);
}

static void message_set_text(json_t *object, const char *name, const char *text)
{
    output_set_bytes(object, name, text ? text : "", text ? strlen(text) : 0);
}

static void message_set_known(json_t *object, const char *name, const void *bytes, size_t size)
{
    if (bytes) {
        output_set_bytes(object, name, bytes, size);
    } else {
        output_set(object, name, json_null());
    }
}

/* What can be sent again, and where it was. */
static json_t *message_json(const smq_message_info *message)
{
    json_t *object = json_object();

    output_set(object, "topic", json_string(message->topic));
    output_set(object, "slot", json_integer(message->slot));
    output_set(object, "state", json_string(smq_state_name(message->state)));
    message_set_body(object, message);
    message_set_known(object, "key", message->key.data, message->key.len);
    message_set_known(object, "id", message_has_id(message) ? message->id.data : NULL,
                      message->id.len);
    output_set(object, "priority", json_integer(message->priority));
    output_set(object, "due_at_ms", json_integer(message->due_at_ms));
    output_set(object, "sent_at_ms", json_integer(message->sent_at_ms));
    output_set(object, "expires_at_ms", json_integer(message->expires_at_ms));
    output_set(object, "attempt", json_integer(message->attempt));
    output_set(object, "retries_left", json_integer(message->retries_left));
    headers_set(object, message);
    return object;
}

static void message_set_tries(json_t *object, const smq_message_info *message)
{
    json_t *array = json_array();
    for (size_t i = 0; i < message->try_count; i++) {
        const smq_try *item = &message->tries[i];
        json_t *one = json_object();
        output_set(one, "how", json_string(smq_try_how_name(item->how)));
        output_set(one, "at_ms", json_integer(item->at_ms));
        message_set_text(one, "reason", item->reason);
        output_append(array, one);
    }
    output_set(object, "tries", array);
}

json_t *message_info_json(const smq_message_info *message)
{
    json_t *object = message_json(message);

    output_set(object, "lease_at_ms", json_integer(message->lease_at_ms));
    output_set(object, "dead_at_ms", json_integer(message->dead_at_ms));
    output_set(object, "claimed_at_ms",
               message->claimed_at_ms != 0 ? json_integer(message->claimed_at_ms) : json_null());
    output_set(object, "claimed_by",
               message->claimed_by && message->claimed_by[0] ? output_text(message->claimed_by)
                                                             : json_null());
    message_set_text(object, "token", message->token);
    message_set_text(object, "reason", message->reason);
    message_set_tries(object, message);
    message_set_text(object, "cursor", message->cursor);
    return object;
}

json_t *message_delivery_json(const smq_message_info *message)
{
    json_t *object = message_json(message);

    output_set(object, "token", json_string(message->token ? message->token : ""));
    return object;
}
