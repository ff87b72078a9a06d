/* send.c - checks a message against its topic, and prepares the arguments of the script `send`.
 *
 * Pure. */
#include "model/send.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/headers.h"
#include "model/member.h"
#include "model/slot.h"
#include "model/whole.h"

/* --- what does not depend on the topic --- */

static smq_status send_check_pointer(smq_bytes bytes, const char *what, smq_error *err)
{
    if (bytes.data == NULL && bytes.len > 0) {
        return status_set(err, SMQ_INVALID, "the %s has a length but no pointer", what);
    }
    return SMQ_OK;
}

static smq_status send_check_body(smq_bytes body, smq_error *err)
{
    smq_status status = send_check_pointer(body, "body", err);

    if (status == SMQ_OK && body.len > TOPIC_BODY_KEYED_MAX) {
        return status_set(err, SMQ_TOO_BIG,
                          "the body has %zu bytes, and no topic accepts more than %d", body.len,
                          TOPIC_BODY_KEYED_MAX);
    }
    return status;
}

/* Check a key or an id.  An empty one is refused, because treating it as none would lose the order
 * of its key. */
static smq_status send_check_name(smq_bytes name, const char *what, smq_error *err)
{
    smq_status status = send_check_pointer(name, what, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (name.data != NULL && name.len == 0) {
        return status_set(err, SMQ_INVALID, "the %s is empty: at least 1 byte is needed", what);
    }
    if (name.len > TOPIC_KEY_MAX) {
        return status_set(err, SMQ_TOO_BIG, "the %s has %zu bytes: at most %d are allowed", what,
                          name.len, TOPIC_KEY_MAX);
    }
    return SMQ_OK;
}

static smq_status send_check_limits(const struct message *message, smq_error *err)
{
    if (message->ttl_ms < SMQ_NONE || message->ttl_ms > TOPIC_TIME_MAX_MS) {
        return status_set(err, SMQ_INVALID,
                          "ttl_ms must be from 1 to %" PRId64
                          ", 0 for the topic's, or SMQ_NONE, not %" PRId64,
                          TOPIC_TIME_MAX_MS, message->ttl_ms);
    }
    if (message->max_retries < SMQ_NONE || message->max_retries > TOPIC_RETRIES_MAX) {
        return status_set(err, SMQ_INVALID,
                          "max_retries must be from 1 to %d, 0 for the topic's, or SMQ_NONE, not "
                          "%" PRId32,
                          TOPIC_RETRIES_MAX, message->max_retries);
    }
    return SMQ_OK;
}

static smq_status send_check_time(const struct message *message, smq_error *err)
{
    /* Versions before 0.2.1 stored times before 1970. */
    const int64_t least_due_ms = message->restored ? -TOPIC_TIME_MAX_MS : 0;

    if (message->delay_ms != 0 && message->due_at_ms != 0) {
        return status_set(err, SMQ_INVALID, "set either delay_ms or due_at_ms, not both");
    }
    if (message->delay_ms == SMQ_NONE) {
        return status_set(err, SMQ_INVALID,
                          "delay_ms is SMQ_NONE: at once is 0, and the delay of the topic "
                          "SMQ_TOPIC_DELAY");
    }
    if (message->delay_ms < SMQ_TOPIC_DELAY || message->delay_ms > TOPIC_TIME_MAX_MS) {
        return status_set(err, SMQ_INVALID,
                          "delay_ms must be from 0 to %" PRId64
                          ", or SMQ_TOPIC_DELAY, not %" PRId64,
                          TOPIC_TIME_MAX_MS, message->delay_ms);
    }
    if (message->due_at_ms < least_due_ms || message->due_at_ms > TOPIC_TIME_MAX_MS) {
        return status_set(err, SMQ_INVALID,
                          "due_at_ms must be from %" PRId64 " to %" PRId64 ", not %" PRId64,
                          least_due_ms, TOPIC_TIME_MAX_MS, message->due_at_ms);
    }
    return SMQ_OK;
}

/* Check what a message brings along that is restored. */
static smq_status send_check_restored(const struct message *message, smq_error *err)
{
    if (message->attempt < 0 || message->attempt > TOPIC_RETRIES_MAX) {
        return status_set(err, SMQ_INVALID, "attempt must be from 0 to %d, not %" PRId32,
                          TOPIC_RETRIES_MAX, message->attempt);
    }
    if (message->sent_at_ms < 0 || message->sent_at_ms > TOPIC_TIME_MAX_MS) {
        return status_set(err, SMQ_INVALID,
                          "sent_at_ms must be from 0 to %" PRId64 ", not %" PRId64,
                          TOPIC_TIME_MAX_MS, message->sent_at_ms);
    }
    if (message->expires_at_ms < 0 || message->expires_at_ms > TOPIC_TIME_MAX_MS) {
        return status_set(err, SMQ_INVALID,
                          "expires_at_ms must be from 0 to %" PRId64 ", not %" PRId64,
                          TOPIC_TIME_MAX_MS, message->expires_at_ms);
    }
    return SMQ_OK;
}

smq_status send_check(const struct message *message, smq_error *err)
{
    smq_status status = send_check_body(message->body, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = send_check_name(message->key, "key", err);
    if (status != SMQ_OK) {
        return status;
    }
    status = send_check_name(message->id, "id", err);
    if (status != SMQ_OK) {
        return status;
    }
    status = headers_check(message->headers, message->header_count, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = send_check_limits(message, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = send_check_time(message, err);
    return status == SMQ_OK ? send_check_restored(message, err) : status;
}

/* --- what depends on the topic --- */

static smq_status send_wrong_type(const struct topic *topic, const char *option, const char *type,
                                  smq_error *err)
{
    return status_set(err, SMQ_WRONG_TYPE, "topic %s does not have type %s, which %s needs",
                      topic->name, type, option);
}

static smq_status send_place_range_merge(char *when, const struct topic *topic,
                                         const struct message *message, smq_error *err)
{
    int64_t delay_ms = message->delay_ms == SMQ_TOPIC_DELAY ? topic->delay_ms : message->delay_ms;

    if (message->due_at_ms != 0 && message->restored) {
        snprintf(when, SEND_WHEN_MAX, "%" PRId64, message->due_at_ms);
        return SMQ_OK;
    }
    if (message->due_at_ms != 0) {
        return send_wrong_type(topic, "due_at_ms", "fixed_time or priority", err);
    }
    snprintf(when, SEND_WHEN_MAX, "+%" PRId64, delay_ms == SMQ_NONE ? 0 : delay_ms);
    return SMQ_OK;
}

static smq_status send_place_fixed_time(char *when, const struct message *message)
{
    if (message->delay_ms > 0) {
        snprintf(when, SEND_WHEN_MAX, "+%" PRId64, message->delay_ms);
    } else {
        snprintf(when, SEND_WHEN_MAX, "%" PRId64, message->due_at_ms);
    }
    return SMQ_OK;
}

static smq_status send_place_priority(char *when, const struct topic *topic,
                                      const struct message *message, smq_error *err)
{
    int64_t max = topic->ties == SMQ_TIES_ARRIVAL ? TOPIC_PRIORITY_ARRIVAL : TOPIC_PRIORITY_BYTES;

    if (message->priority < -max || message->priority > max) {
        return status_set(err, SMQ_INVALID,
                          "priority must be from -%" PRId64 " to %" PRId64
                          " in topic %s (ties by %s), not %" PRId64,
                          max, max, topic->name,
                          topic->ties == SMQ_TIES_ARRIVAL ? "arrival" : "bytes", message->priority);
    }
    if (message->delay_ms > 0) {
        snprintf(when, SEND_WHEN_MAX, "%" PRId64 "@+%" PRId64, message->priority,
                 message->delay_ms);
    } else if (message->due_at_ms > 0) {
        snprintf(when, SEND_WHEN_MAX, "%" PRId64 "@%" PRId64, message->priority,
                 message->due_at_ms);
    } else {
        snprintf(when, SEND_WHEN_MAX, "%" PRId64, message->priority);
    }
    return SMQ_OK;
}

static smq_status send_place_fifo(char *when, const struct topic *topic,
                                  const struct message *message, smq_error *err)
{
    if (message->delay_ms > 0) {
        return send_wrong_type(topic, "delay_ms", "range_merge, fixed_time or priority", err);
    }
    if (message->due_at_ms != 0) {
        return send_wrong_type(topic, "due_at_ms", "fixed_time or priority", err);
    }
    snprintf(when, SEND_WHEN_MAX, "0");
    return SMQ_OK;
}

static smq_status send_place_when(char *when, const struct topic *topic,
                                  const struct message *message, smq_error *err)
{
    if (topic->type != SMQ_TYPE_PRIORITY && message->priority != 0) {
        return send_wrong_type(topic, "priority", "priority", err);
    }
    switch (topic->type) {
    case SMQ_TYPE_RANGE_MERGE:
        return send_place_range_merge(when, topic, message, err);
    case SMQ_TYPE_FIXED_TIME:
        return send_place_fixed_time(when, message);
    case SMQ_TYPE_PRIORITY:
        return send_place_priority(when, topic, message, err);
    case SMQ_TYPE_FIFO:
        break;
    }
    return send_place_fifo(when, topic, message, err);
}

/* Refuse fields that only layout keyed can store. */
static smq_status send_place_inline(const struct topic *topic, const struct message *message,
                                    smq_error *err)
{
    const char *option = message->id.data != NULL                 ? "id"
                         : message->ttl_ms != 0                   ? "ttl_ms"
                         : message->max_retries != 0              ? "max_retries"
                         : message->sent_at_ms != 0               ? "sent_at_ms"
                         : message->expires_at_ms != 0            ? "expires_at_ms"
                         : message->header_count > message->added ? "a header"
                                                                  : NULL;

    if (option != NULL) {
        return status_set(err, SMQ_WRONG_TYPE,
                          "topic %s does not have layout keyed, which %s needs", topic->name,
                          option);
    }
    if (message->body.len == 0) {
        return status_set(err, SMQ_INVALID,
                          "the body is empty: topic %s of layout inline needs at least 1 byte",
                          topic->name);
    }
    return SMQ_OK;
}

static smq_status send_place_body(const struct topic *topic, const struct message *message,
                                  smq_error *err)
{
    bool keyed = topic->layout == SMQ_LAYOUT_KEYED;

    if ((int64_t) message->body.len <= topic->max_body) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_TOO_BIG,
                      "the body has %zu bytes: topic %s accepts at most %" PRId64 " (max_body)%s",
                      message->body.len, topic->name, topic->max_body,
                      !keyed && topic->max_body == TOPIC_BODY_INLINE_MAX
                          ? "; larger ones need a topic of layout keyed"
                          : "");
}

int32_t send_slot(const struct topic *topic, const struct message *message)
{
    if (message->key.data != NULL) {
        return slot_of_key(message->key.data, message->key.len, topic->slots);
    }
    return topic->layout == SMQ_LAYOUT_KEYED
               ? slot_of_key(message->id.data, message->id.len, topic->slots)
               : slot_of_key(message->body.data, message->body.len, topic->slots);
}

bool send_lacks_id(const struct topic *topic, const struct message *message)
{
    return topic->layout == SMQ_LAYOUT_KEYED && message->id.data == NULL;
}

/* Is all of the message in its member?  It is if no other send can have its id, if it is due at
 * once, and if its place says when it expires. */
static bool send_is_whole(const struct topic *topic, const struct message *message,
                          const struct send_place *place)
{
    bool timed = topic->type == SMQ_TYPE_RANGE_MERGE || topic->type == SMQ_TYPE_FIXED_TIME;
    bool at_once = topic->type == SMQ_TYPE_RANGE_MERGE
                       ? strcmp(place->when, "+0") == 0
                       : message->delay_ms <= 0 && message->due_at_ms == 0;

    return topic->format >= TOPIC_FORMAT_WHOLE && topic->layout == SMQ_LAYOUT_KEYED &&
           topic->debounce_ms == 0 && topic->dedup_window_ms == 0 && message->made &&
           !message->restored && at_once && (timed || place->ttl_ms < 0) &&
           (int64_t) (headers_size(message->headers, message->header_count) + message->body.len) <=
               topic->whole_max;
}

smq_status send_place(struct send_place *out, const struct topic *topic,
                      const struct message *message, smq_error *err)
{
    struct send_place place = {.max_retries = -1, .ttl_ms = -1};
    smq_status status = send_place_when(place.when, topic, message, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = topic->layout == SMQ_LAYOUT_INLINE ? send_place_inline(topic, message, err) : SMQ_OK;
    if (status != SMQ_OK) {
        return status;
    }
    status = send_place_body(topic, message, err);
    if (status != SMQ_OK) {
        return status;
    }
    place.slot = send_slot(topic, message);
    if (message->max_retries != 0) {
        place.max_retries = message->max_retries == SMQ_NONE ? 0 : message->max_retries;
    }
    if (message->ttl_ms > 0) {
        place.ttl_ms = message->ttl_ms;
    } else if (message->ttl_ms == 0 && !message->restored && topic->ttl_ms > 0) {
        place.ttl_ms = topic->ttl_ms;
    }
    place.whole = send_is_whole(topic, message, &place);
    *out = place;
    return SMQ_OK;
}

/* A time, or nothing for 0. */
static void send_time_text(char text[SEND_WHEN_MAX], int64_t at_ms)
{
    text[0] = '\0';
    if (at_ms != 0) {
        snprintf(text, SEND_WHEN_MAX, "%" PRId64, at_ms);
    }
}

const char *send_when(char scratch[SEND_RESTORED_MAX], const struct send_place *place,
                      const struct message *message)
{
    char first[SEND_WHEN_MAX];
    char expiry[SEND_WHEN_MAX];

    if (!message->restored) {
        return place->when;
    }
    send_time_text(first, message->sent_at_ms);
    send_time_text(expiry, message->expires_at_ms);
    snprintf(scratch, SEND_RESTORED_MAX, "%s/%" PRId32 "/%s/%s", place->when, message->attempt * 2,
             first, expiry);
    return scratch;
}

void send_member_whole(struct buf *out, const struct send_place *place,
                       const struct message *message, smq_bytes stored, size_t headers_len)
{
    struct whole whole = {.key = message->key.data,
                          .key_len = message->key.len,
                          .id = message->id.data,
                          .max_retries = place->max_retries,
                          .ttl_ms = place->ttl_ms,
                          .headers_len = headers_len,
                          .stored = stored.data,
                          .stored_len = stored.len};

    whole_encode(out, &whole);
}

void send_member(const void **out, size_t *len, struct buf *scratch, const struct topic *topic,
                 const struct message *message)
{
    bool keyed = topic->layout == SMQ_LAYOUT_KEYED;
    const void *id = keyed ? message->id.data : message->body.data;
    size_t id_len = keyed ? message->id.len : message->body.len;

    if (member_is_plain(message->key.data, message->key.len, id, id_len)) {
        *out = id;
        *len = id_len;
        return;
    }
    buf_clear(scratch);
    member_encode(scratch, message->key.data, message->key.len, id, id_len);
    *out = scratch->data;
    *len = scratch->len;
}
