/* send.c - the end of a send: its status, text, event and counters. */
#include "produce/send.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "model/headers.h"

enum { TEXT_MAX = 400 };

void send_init(struct send *send, const char *topic, const struct message *message,
               int64_t deadline_ms)
{
    *send = (struct send){.topic = topic,
                          .message = *message,
                          .deadline_ms = deadline_ms,
                          .made_us = clock_now_us(),
                          .status = SMQ_TIMED_OUT,
                          .place = {.slot = -1}};
}

/* Copy `len` bytes to *bytes, and advance it; NULL stays NULL. */
static const void *send_copy_bytes(char **bytes, const void *data, size_t len)
{
    char *copy = *bytes;

    if (data == NULL) {
        return NULL;
    }
    memcpy(copy, data, len);
    *bytes += len;
    return copy;
}

/* Copy the headers to *bytes, which is aligned as they are, and advance it. */
static const smq_header *send_copy_headers(char **bytes, const struct message *message)
{
    smq_header *copy = (smq_header *) (void *) *bytes;

    *bytes += message->header_count * sizeof(*copy);
    for (size_t i = 0; i < message->header_count; i++) {
        const smq_header *header = &message->headers[i];

        copy[i] = *header;
        copy[i].name = send_copy_bytes(bytes, header->name, strlen(header->name) + 1);
        copy[i].value.data = send_copy_bytes(bytes, header->value.data, header->value.len);
    }
    return message->header_count > 0 ? copy : NULL;
}

struct send *send_copy(const char *topic, const struct message *message, int64_t deadline_ms)
{
    size_t name = strlen(topic) + 1;
    size_t headers = message->header_count * sizeof(smq_header) +
                     headers_size(message->headers, message->header_count);
    struct send *send = malloc(sizeof(*send) + headers + name + message->key.len + message->id.len +
                               message->body.len);

    if (send == NULL) {
        return NULL;
    }
    char *bytes = (char *) (send + 1);
    const smq_header *copied = send_copy_headers(&bytes, message);
    send_init(send, send_copy_bytes(&bytes, topic, name), message, deadline_ms);
    send->message.key.data = send_copy_bytes(&bytes, message->key.data, message->key.len);
    send->message.id.data = send_copy_bytes(&bytes, message->id.data, message->id.len);
    send->message.body.data = send_copy_bytes(&bytes, message->body.data, message->body.len);
    send->message.headers = copied;
    return send;
}

void send_free(struct send *send)
{
    if (send != NULL) {
        free(send->text);
        free(send);
    }
}

void send_doubt(struct send *send, int64_t begun_ms)
{
    int64_t until_ms = begun_ms + SEND_REPEAT_MAX_MS;

    if (!send->unknown && until_ms < send->deadline_ms) {
        send->deadline_ms = until_ms;
    }
    send->unknown = true;
}

void send_list_prepend(struct send_list *list, struct send_list *before)
{
    STAILQ_CONCAT(before, list);
    STAILQ_CONCAT(list, before);
}

void send_end(struct send_sink *sink, struct send *send, smq_status status, const char *text)
{
    struct send_group *group = send->group;

    if (send->unknown && status != SMQ_OK && status != SMQ_NO_TOPIC) {
        status = SMQ_UNKNOWN;
    }
    send->status = status;
    if (status == SMQ_DUPLICATE) {
        metric_add(&sink->core->metrics.send_duplicates, 1);
    } else if (status != SMQ_OK) {
        metric_add(&sink->core->metrics.send_failures, 1);
    }
    if (group != NULL && status != SMQ_OK && send->index < group->first_failed) {
        group->first_failed = send->index;
        (void) status_set(&group->err, status, "%s", text);
    }
    if (group == NULL && status != SMQ_OK) {
        send->text = memory_string(text);
    }
    STAILQ_INSERT_TAIL(&sink->ended, send, link);
}

void send_end_list(struct send_sink *sink, struct send_list *list, smq_status status,
                   const char *text)
{
    struct send *send;

    while ((send = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, link);
        send_end(sink, send, status, text);
    }
}

static const char *send_expired_text(const struct send *send)
{
    if (send->unknown) {
        return "no reply came in time";
    }
    if (send->status == SMQ_TIMED_OUT) {
        return "it could not be sent in time";
    }
    return send->status == SMQ_NO_TOPIC ? "the slot has no definition"
                                        : "no server was reachable in time";
}

void send_end_expired(struct send_sink *sink, struct send *send, const char *why)
{
    char text[TEXT_MAX];

    if (send->status == SMQ_DAMAGED && !send->unknown) {
        (void) snprintf(text, sizeof(text),
                        "Redis has lost a part of slot %" PRId32
                        " of topic %.120s: run slotmq topic repair %.120s",
                        send->place.slot, send->topic, send->topic);
    } else {
        (void) snprintf(text, sizeof(text), "topic %.120s: %s%s%.200s", send->topic,
                        send_expired_text(send), why != NULL ? ": " : "", why != NULL ? why : "");
    }
    send_end(sink, send, send->status, text);
}

void send_end_full(struct send_sink *sink, struct send *send, const struct topic *part)
{
    char text[TEXT_MAX];

    (void) snprintf(text, sizeof(text),
                    "slot %" PRId32 " of topic %s is full: max_waiting is %" PRId64 " over %" PRId32
                    " slots; send again when messages were consumed, or raise it",
                    send->place.slot, part->name, part->max_waiting, part->slots);
    topic_numbers_add(&sink->core->topic_numbers, part->name, 1);
    send_end(sink, send, SMQ_FULL, text);
}

void send_end_duplicate(struct send_sink *sink, struct send *send)
{
    char text[TEXT_MAX];

    (void) snprintf(text, sizeof(text),
                    "topic %.120s: a message with this id is in flight, rests, or was done within "
                    "dedup_window_ms; nothing was stored",
                    send->topic);
    send_end(sink, send, SMQ_DUPLICATE, text);
}

static void send_count(struct metrics *metrics, const struct send *send)
{
    if (send->result == SEND_ADDED) {
        metric_add(&metrics->sent, 1);
    } else if (send->result == SEND_MERGED) {
        metric_add(&metrics->merged, 1);
    }
}

void send_end_stored(struct send_sink *sink, struct send *send, smq_status status, const char *text)
{
    static const char *const done[] = {[SEND_ADDED] = "added", [SEND_MERGED] = "merged"};
    struct core *core = sink->core;

    send_count(&core->metrics, send);
    if (events_wanted(core->events, SMQ_EVENT_SENT)) {
        events_emit(core->events, SMQ_EVENT_SENT,
                    &(smq_event){.topic = send->topic, .slot = send->place.slot},
                    "%s a message of %zu bytes in slot %" PRId32 " of topic %s", done[send->result],
                    send->message.body.len, send->place.slot, send->topic);
    }
    send_end(sink, send, status, text);
}
