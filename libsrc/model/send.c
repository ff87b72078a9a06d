/* send.c - checks one message against a topic and says what the send script gets.
 *
 * Pure. */
#include "model/send.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/slot.h"

#define SEND_TIME_MAX       (INT64_C(1) << 43)
#define SEND_PRIORITY_BYTES (INT64_C(1) << 40) /* ties by bytes */

enum { SEND_PRIORITY_ARRIVAL = 8191 }; /* ties by arrival */

/* --- what does not depend on the topic --- */

/* Resolve the length of `what`, which is given. */
static smq_status send_check_bytes(size_t *len, const void *data, const char *what, size_t max,
                                   smq_error *err)
{
    if (data == NULL) {
        return status_set(err, SMQ_INVALID, "%s has a length but no pointer", what);
    }
    if (*len == 0) {
        return status_set(err, SMQ_INVALID,
                          "%s has length 0: give its length, or SMQ_STRING for a C string", what);
    }
    if (*len == SMQ_STRING) {
        *len = strlen(data);
    }
    if (*len == 0) {
        return status_set(err, SMQ_INVALID, "%s is empty: at least 1 byte is needed", what);
    }
    if (*len > max) {
        return status_set(err, SMQ_TOO_BIG, "%s of %zu bytes: at most %zu", what, *len, max);
    }
    return SMQ_OK;
}

static smq_status send_check_time(const smq_message *message, smq_error *err)
{
    if (message->delay_ms != 0 && message->due_at_ms != 0) {
        return status_set(err, SMQ_INVALID, "set either delay_ms or due_at_ms, not both");
    }
    if (message->delay_ms < SMQ_NONE || message->delay_ms > SEND_TIME_MAX) {
        return status_set(err, SMQ_INVALID,
                          "delay_ms must be from 0 to %" PRId64 ", or SMQ_NONE, not %" PRId64,
                          SEND_TIME_MAX, message->delay_ms);
    }
    if (message->due_at_ms < -SEND_TIME_MAX || message->due_at_ms > SEND_TIME_MAX) {
        return status_set(err, SMQ_INVALID,
                          "due_at_ms must be from -%" PRId64 " to %" PRId64 ", not %" PRId64,
                          SEND_TIME_MAX, SEND_TIME_MAX, message->due_at_ms);
    }
    return SMQ_OK;
}

smq_status send_check(smq_message *out, const smq_message *message, smq_error *err)
{
    smq_message checked = {0};
    smq_status status = SMQ_OK;

    if (message->struct_size == 0 || message->struct_size > sizeof(checked)) {
        return status_set(err, SMQ_INVALID,
                          "struct_size of the message is %zu: start from SMQ_MESSAGE_INIT",
                          message->struct_size);
    }
    memcpy(&checked, message, message->struct_size);
    checked.struct_size = sizeof(checked);
    if (checked.body == NULL && checked.body_len == 0) {
        return status_set(err, SMQ_INVALID, "the message has no body: at least 1 byte is needed");
    }
    status = send_check_bytes(&checked.body_len, checked.body, "body", TOPIC_BODY_INLINE_MAX, err);
    if (status == SMQ_OK && (checked.key != NULL || checked.key_len != 0)) {
        status = send_check_bytes(&checked.key_len, checked.key, "key", TOPIC_KEY_MAX, err);
    }
    if (status == SMQ_OK) {
        status = send_check_time(&checked, err);
    }
    if (status == SMQ_OK) {
        *out = checked;
    }
    return status;
}

/* --- what depends on the topic --- */

static smq_status send_wrong_type(const struct topic *topic, const char *option, const char *type,
                                  smq_error *err)
{
    return status_set(err, SMQ_WRONG_TYPE, "topic %s is not of type %s, which %s is for",
                      topic->name, type, option);
}

static smq_status send_place_range_merge(char *when, const struct topic *topic,
                                         const smq_message *message, smq_error *err)
{
    int64_t delay_ms = message->delay_ms;

    if (message->due_at_ms != 0) {
        return send_wrong_type(topic, "due_at_ms", "fixed_time", err);
    }
    if (delay_ms == 0 && topic->delay_ms == SMQ_NONE) {
        return status_set(err, SMQ_INVALID,
                          "a send to topic %s needs a delay: set delay_ms (SMQ_NONE for at once), "
                          "or the topic's delay_ms",
                          topic->name);
    }
    if (delay_ms == 0) {
        delay_ms = topic->delay_ms;
    }
    snprintf(when, SEND_WHEN_MAX, "+%" PRId64, delay_ms == SMQ_NONE ? 0 : delay_ms);
    return SMQ_OK;
}

static smq_status send_place_fixed_time(char *when, const smq_message *message)
{
    if (message->delay_ms > 0) {
        snprintf(when, SEND_WHEN_MAX, "+%" PRId64, message->delay_ms);
    } else {
        snprintf(when, SEND_WHEN_MAX, "%" PRId64, message->due_at_ms);
    }
    return SMQ_OK;
}

static smq_status send_place_priority(char *when, const struct topic *topic,
                                      const smq_message *message, smq_error *err)
{
    int64_t max = topic->ties == SMQ_TIES_ARRIVAL ? SEND_PRIORITY_ARRIVAL : SEND_PRIORITY_BYTES;

    if (message->delay_ms != 0) {
        return send_wrong_type(topic, "delay_ms", "range_merge or fixed_time", err);
    }
    if (message->due_at_ms != 0) {
        return send_wrong_type(topic, "due_at_ms", "fixed_time", err);
    }
    if (message->priority < -max || message->priority > max) {
        return status_set(err, SMQ_INVALID,
                          "priority must be from -%" PRId64 " to %" PRId64
                          " in topic %s (ties by %s), not %" PRId64,
                          max, max, topic->name,
                          topic->ties == SMQ_TIES_ARRIVAL ? "arrival" : "bytes", message->priority);
    }
    snprintf(when, SEND_WHEN_MAX, "%" PRId64, message->priority);
    return SMQ_OK;
}

static smq_status send_place_when(char *when, const struct topic *topic, const smq_message *message,
                                  smq_error *err)
{
    if (topic->type == SMQ_PRIORITY) {
        return send_place_priority(when, topic, message, err);
    }
    if (message->priority != 0) {
        return send_wrong_type(topic, "priority", "priority", err);
    }
    return topic->type == SMQ_RANGE_MERGE ? send_place_range_merge(when, topic, message, err)
                                          : send_place_fixed_time(when, message);
}

smq_status send_place(int32_t *slot, char when[SEND_WHEN_MAX], const struct topic *topic,
                      const smq_message *message, smq_error *err)
{
    smq_status status = send_place_when(when, topic, message, err);

    if (status != SMQ_OK) {
        return status;
    }
    *slot = message->key != NULL ? slot_of_key(message->key, message->key_len, topic->slots)
                                 : slot_of_key(message->body, message->body_len, topic->slots);
    return SMQ_OK;
}
