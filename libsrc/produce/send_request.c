/* send_request.c - requests of the send script: building them, waiting for replicas behind them,
 * and what their ends mean.
 *
 * Thread: smq:io. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "produce/outbox_internal.h"

enum { SPARE_MAX = 64, SPARE_BYTES_MAX = 64 * 1024, TEXT_MAX = 240 };

static void on_sent(struct store_call *call, const struct store_result *result);
static void on_acknowledged(const struct redis_result *result, void *user);

/* --- memory --- */

static struct request *request_new(struct outboxes *all)
{
    struct request *request = LIST_FIRST(&all->spare);

    if (request != NULL) {
        LIST_REMOVE(request, link);
        all->spare_count--;
        return request;
    }
    request = memory_new(sizeof(*request));
    store_call_init(&request->call, on_sent, request);
    request->await.done = on_acknowledged;
    request->await.user = request;
    STAILQ_INIT(&request->batch);
    return request;
}

static void request_free(struct request *request)
{
    store_call_fini(&request->call);
    free(request);
}

/* Keep it for the next one, if it is of usual size. */
static void request_recycle(struct outboxes *all, struct request *request)
{
    if (all->spare_count >= SPARE_MAX || request->call.command.args.bytes.size > SPARE_BYTES_MAX) {
        request_free(request);
        return;
    }
    LIST_INSERT_HEAD(&all->spare, request, link);
    all->spare_count++;
}

void requests_free_spare(struct outboxes *all)
{
    struct request *request;

    while ((request = LIST_FIRST(&all->spare)) != NULL) {
        LIST_REMOVE(request, link);
        request_free(request);
    }
}

/* --- begin --- */

/* The bytes that a send adds to a request, nearly. */
static size_t send_size(const struct send *send)
{
    return send->message.body_len + send->message.key_len + send->message.id_len;
}

static void request_add(struct request *request, struct send *send)
{
    const struct outbox_topic *topic = request->outbox->topic;
    struct store_message message = {.when = send->place.when,
                                    .body = send->message.body != NULL ? send->message.body : "",
                                    .body_len = send->message.body_len,
                                    .max_retries = send->place.max_retries,
                                    .ttl_ms = send->place.ttl_ms};

    send_member(&message.member, &message.member_len, &topic->all->member, &topic->topic,
                &send->message);
    store_send_add(&request->call, &request->slot, &message);
    STAILQ_INSERT_TAIL(&request->batch, send, link);
    request->count++;
}

/* Move what fits into one request, and is repeated or not as it is, out of the queue; returns the
 * earliest deadline. */
static int64_t request_fill(struct request *request, struct send_list *queue)
{
    struct send *send;
    size_t bytes = 0;
    int64_t deadline_ms = INT64_MAX;

    while ((send = STAILQ_FIRST(queue)) != NULL && send->unknown == request->repeated &&
           request->count < REQUEST_SENDS_MAX &&
           (request->count == 0 || bytes + send_size(send) <= REQUEST_BYTES_MAX)) {
        STAILQ_REMOVE_HEAD(queue, link);
        request_add(request, send);
        bytes += send_size(send);
        deadline_ms = send->deadline_ms < deadline_ms ? send->deadline_ms : deadline_ms;
    }
    return deadline_ms;
}

void request_begin(struct outbox *outbox, int64_t now_ms)
{
    struct outboxes *all = outbox->topic->all;
    struct request *request = request_new(all);
    int64_t deadline_ms, left_ms;

    request->outbox = outbox;
    request->count = 0;
    request->repeated = STAILQ_FIRST(&outbox->queue)->unknown;
    store_slot_fill(&request->slot, &outbox->topic->topic, outbox->slot);
    store_send_begin(&request->call, &request->slot, request->repeated);
    deadline_ms = request_fill(request, &outbox->queue);
    store_send_replicas(&request->call, all->options.replicas, deadline_ms);
    left_ms = deadline_ms - now_ms;
    if (left_ms > all->core->request_timeout_ms) {
        left_ms = all->core->request_timeout_ms;
    }
    outbox_set_state(outbox, OUTBOX_ON_WIRE);
    outbox->topic->on_wire++;
    LIST_INSERT_HEAD(&all->wire, request, link);
    store_send(&request->call, all->core->redis, left_ms > 0 ? left_ms : 1);
}

/* --- end --- */

static void batch_end(struct request *request, smq_status status, const char *text)
{
    struct send *send;

    while ((send = STAILQ_FIRST(&request->batch)) != NULL) {
        STAILQ_REMOVE_HEAD(&request->batch, link);
        send_end(request->outbox->topic->all, send, status, text);
    }
}

/* What a repeat finds waiting is what the first try has stored, unless that was never stored, or is
 * another message than the one that waits.  An id that the library made is no other message's. */
static enum send_result send_merged_result(const struct send *send)
{
    if (!send->unknown) {
        return SEND_MERGED;
    }
    if (send->result != SEND_UNANSWERED) {
        return send->result;
    }
    return send->id[0] != '\0' ? SEND_ADDED : SEND_ADDED_OR_MERGED;
}

static void send_count(struct metrics *metrics, const struct send *send)
{
    if (send->result == SEND_ADDED) {
        metric_add(&metrics->sent, 1);
    } else if (send->result == SEND_MERGED) {
        metric_add(&metrics->merged, 1);
    }
}

/* It stands in Redis; `status`: and is done, or not where it is asked for. */
static void send_stored(struct outboxes *all, struct send *send, smq_status status,
                        const char *text)
{
    static const char *const done[] = {[SEND_ADDED] = "added",
                                       [SEND_MERGED] = "merged",
                                       [SEND_ADDED_OR_MERGED] = "added or merged"};
    struct core *core = all->core;

    send_count(&core->metrics, send);
    if (events_wanted(core->events, SMQ_EVENT_SENT)) {
        events_emit(core->events, SMQ_EVENT_SENT,
                    &(smq_event){.topic = send->topic, .slot = send->place.slot},
                    "%s a message of %zu bytes in slot %" PRId32 " of topic %s", done[send->result],
                    send->message.body_len, send->place.slot, send->topic);
    }
    send_end(all, send, status, text);
}

/* Its slot has its share of what may wait. */
static void send_refused(struct outboxes *all, struct send *send, const struct topic *topic)
{
    char text[TEXT_MAX];

    snprintf(text, sizeof(text),
             "slot %" PRId32 " of topic %s is full: max_waiting is %" PRId64 " over %" PRId32
             " slots; send again when messages were consumed, or raise it",
             send->place.slot, topic->name, topic->max_waiting, topic->slots);
    send_end(all, send, SMQ_FULL, text);
}

/* It is done, unless replicas are asked for. */
static void send_kept(struct request *request, struct send *send)
{
    struct outboxes *all = request->outbox->topic->all;

    if (all->options.replicas > 0) {
        STAILQ_INSERT_TAIL(&request->batch, send, link);
    } else {
        send_stored(all, send, SMQ_OK, "");
    }
}

/* `results` are one character a message.  If replicas are asked for, those that were stored stay.
 */
static void batch_stored(struct request *request, const char *results)
{
    struct outboxes *all = request->outbox->topic->all;
    struct send_list batch = STAILQ_HEAD_INITIALIZER(batch);
    struct send *send;

    STAILQ_CONCAT(&batch, &request->batch);
    while ((send = STAILQ_FIRST(&batch)) != NULL) {
        STAILQ_REMOVE_HEAD(&batch, link);
        if (*results == 'f') {
            send_refused(all, send, &request->outbox->topic->topic);
        } else {
            send->result = *results == 'm' ? send_merged_result(send) : SEND_ADDED;
            send_kept(request, send);
        }
        results++;
    }
}

/* Send the batch again later; `unknown`: it may have been stored already. */
static void batch_repeat(struct request *request, smq_status status, const char *why, bool unknown)
{
    struct send *send;

    STAILQ_FOREACH(send, &request->batch, link)
    {
        if (status != SMQ_NO_TOPIC || send->status != SMQ_DAMAGED) { /* it is known to be more */
            send->status = status;
        }
        send->unknown = send->unknown || unknown;
    }
    outbox_failed(request->outbox, why);
    outbox_put_back(request->outbox, &request->batch);
}

static void batch_lost(struct request *request, const char *text)
{
    if (request->outbox->topic->all->options.no_repeat) {
        batch_end(request, SMQ_UNKNOWN, text);
        return;
    }
    batch_repeat(request, SMQ_UNKNOWN, text, true);
}

/* The script raised an error.  One of a key of another type comes before a send writes anything;
 * one of what the user may not do can come after it; neither goes away by sending again. */
static void batch_broken(struct request *request, smq_status status, const char *text)
{
    if (status == SMQ_INVALID) {
        batch_end(request, SMQ_INVALID, text);
    } else if (status == SMQ_DENIED) {
        batch_end(request, SMQ_UNKNOWN, text);
    } else {
        batch_lost(request, text);
    }
}

static bool is_temporary(smq_status status)
{
    return status == SMQ_UNAVAILABLE || status == SMQ_TIMED_OUT;
}

static void request_answered(struct request *request, const struct store_result *result)
{
    char text[TEXT_MAX];
    const char *results;

    snprintf(text, sizeof(text), "slot %" PRId32 " of topic %s: %s", request->outbox->slot,
             request->outbox->topic->name, result->text);
    switch (result->outcome) {
    case STORE_OK:
        if (store_send_read(&results, result, request->count)) {
            batch_stored(request, results);
        } else {
            batch_lost(request, "the answer to a send cannot be read");
        }
        break;
    case STORE_NO_TOPIC:
    case STORE_STALE:
        topic_block(request->outbox->topic);
        batch_repeat(request, SMQ_NO_TOPIC, result->text, false);
        break;
    case STORE_NOT_DONE:
        if (is_temporary(result->status)) {
            batch_repeat(request, result->status, result->text, false);
        } else {
            batch_end(request, result->status, text);
        }
        break;
    case STORE_FENCED:
    case STORE_REFUSED:
        batch_end(request, result->status, text);
        break;
    case STORE_PARTLY:
        batch_broken(request, result->status, text);
        break;
    case STORE_UNKNOWN:
        batch_lost(request, text);
        break;
    }
}

/* Its sends have ended, or went back.  The outbox may be gone then. */
static void request_end(struct request *request)
{
    struct outbox *outbox = request->outbox;
    struct outboxes *all = outbox->topic->all;

    LIST_REMOVE(request, link);
    request_recycle(all, request);
    outbox_settle(outbox);
    topic_request_ended(outbox->topic);
}

/* The replicas are waited for while there is something in the batch. */
static void on_sent(struct store_call *call, const struct store_result *result)
{
    struct request *request = call->user;
    struct outboxes *all;

    if (request->outbox == NULL) {
        request_free(request);
        return;
    }
    all = request->outbox->topic->all;
    if (result->outcome == STORE_OK && all->options.replicas == 0) {
        outbox_forgive(request->outbox);
    }
    request_answered(request, result);
    if (STAILQ_EMPTY(&request->batch)) {
        request_end(request);
    } else {
        store_send_await(call, &request->await);
    }
    outboxes_turn(all);
}

/* --- replicas --- */

/* End those whose time is over by then; returns the earliest deadline of the others. */
static int64_t batch_end_until(struct request *request, int64_t until_ms, smq_status status,
                               const char *text)
{
    struct send_list batch = STAILQ_HEAD_INITIALIZER(batch);
    struct send *send;
    int64_t deadline_ms = INT64_MAX;

    STAILQ_CONCAT(&batch, &request->batch);
    while ((send = STAILQ_FIRST(&batch)) != NULL) {
        STAILQ_REMOVE_HEAD(&batch, link);
        if (send->deadline_ms <= until_ms) {
            send_stored(request->outbox->topic->all, send, status, text);
            continue;
        }
        deadline_ms = send->deadline_ms < deadline_ms ? send->deadline_ms : deadline_ms;
        STAILQ_INSERT_TAIL(&request->batch, send, link);
    }
    return deadline_ms;
}

/* A stored message needs no second send as long as its connection stands, only more time; else it
 * may be lost, and is repeated as after a lost reply. */
static void request_acknowledged(struct request *request, const struct redis_result *result)
{
    char text[TEXT_MAX];

    snprintf(text, sizeof(text), "slot %" PRId32 " of topic %s: stored, but %s",
             request->outbox->slot, request->outbox->topic->name, result->text);
    if (result->outcome == REDIS_DONE) {
        outbox_forgive(request->outbox);
        (void) batch_end_until(request, INT64_MAX, SMQ_OK, "");
    } else if (result->outcome == REDIS_NOT_DONE) {
        request->await.until_ms = batch_end_until(request, clock_now_ms(), SMQ_UNKNOWN, text);
    } else {
        batch_lost(request, text);
    }
}

static void on_acknowledged(const struct redis_result *result, void *user)
{
    struct request *request = user;
    struct outboxes *all;

    if (request->outbox == NULL) {
        request_free(request);
        return;
    }
    all = request->outbox->topic->all;
    request_acknowledged(request, result);
    if (STAILQ_EMPTY(&request->batch)) {
        request_end(request);
    } else {
        redis_await_again(&request->await);
    }
    outboxes_turn(all);
}

void requests_abandon(struct outboxes *all)
{
    struct request *request;

    while ((request = LIST_FIRST(&all->wire)) != NULL) {
        LIST_REMOVE(request, link);
        batch_end(request, SMQ_UNKNOWN, "the producer was freed before the answer came");
        request->outbox = NULL;
    }
}
