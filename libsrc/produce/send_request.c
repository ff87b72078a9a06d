/* send_request.c - requests of the script `send`: building them, waiting for replicas after them,
 * and what their replies mean for their sends. */
#include "produce/send_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "model/headers.h"
#include "store/send.h"

enum { SPARE_MAX = 64, SPARE_BYTES_MAX = 64 * 1024, TEXT_MAX = 240 };
enum { SENDS_MAX = 500, BYTES_MAX = 1024 * 1024 }; /* limits of one request */

/* Servers have a limit for one argument, which cannot be less than 1 MiB, and end the connection of
 * who exceeds it.  A send that may be the cause goes alone, so that it cuts no other, and then the
 * cause is known. */
enum { CUTS_SUSPECT = 2, CUTS_SURE = 4 };

static void send_request_on_looked(struct store_call *call, const struct store_result *result);

static void send_request_on_sent(struct store_call *call, const struct store_result *result);
static void send_request_on_acknowledged(const struct redis_result *result, void *user);

/* --- memory --- */

static struct send_request *send_request_new(struct send_requests *all)
{
    struct send_request *request = LIST_FIRST(&all->spare);

    if (request != NULL) {
        LIST_REMOVE(request, link);
        all->spare_count--;
        return request;
    }
    request = memory_new(sizeof(*request));
    store_call_init(&request->call, send_request_on_sent, request);
    request->await.done = send_request_on_acknowledged;
    request->await.user = request;
    request->all = all;
    STAILQ_INIT(&request->batch);
    return request;
}

static void send_request_free(struct send_request *request)
{
    store_call_fini(&request->call);
    free(request);
}

/* Keep the request for reuse, if it has the usual size. */
static void send_request_recycle(struct send_requests *all, struct send_request *request)
{
    if (all->spare_count >= SPARE_MAX || request->call.command.args.bytes.size > SPARE_BYTES_MAX) {
        send_request_free(request);
        return;
    }
    LIST_INSERT_HEAD(&all->spare, request, link);
    all->spare_count++;
}

/* --- begin --- */

/* About how many bytes a send adds to a request. */
static size_t send_request_size(const struct send *send)
{
    return send->message.body.len + send->message.key.len + send->message.id.len +
           headers_size(send->message.headers, send->message.header_count);
}

/* Is it larger than every server takes?  Then it is the only one of its request. */
static bool send_request_is_large(const struct send *send)
{
    return send_request_size(send) > BYTES_MAX;
}

/* Headers and body as they are stored. */
static void send_request_add_body(struct store_message *out, struct buf *scratch,
                                  const struct message *message)
{
    out->body = message->body.data != NULL ? message->body.data : "";
    out->body_len = message->body.len;
    if (message->header_count > 0) {
        buf_clear(scratch);
        headers_encode(scratch, message->headers, message->header_count);
        out->headers_len = scratch->len;
        buf_add(scratch, out->body, out->body_len);
        out->body = scratch->data;
        out->body_len = scratch->len;
    }
}

static void send_request_add_member(struct send_request *request, struct store_message *out,
                                    const struct send *send)
{
    struct buf *member = &request->all->member;

    if (send->place.whole) {
        buf_clear(member);
        send_member_whole(member, &send->place, &send->message,
                          (smq_bytes){out->body, out->body_len}, out->headers_len);
        out->member = member->data;
        out->member_len = member->len;
    } else {
        send_member(&out->member, &out->member_len, member, request->topic, &send->message);
    }
}

static void send_request_add(struct send_request *request, struct send *send)
{
    char restored[SEND_RESTORED_MAX];
    struct store_message message = {.when = send_when(restored, &send->place, &send->message),
                                    .max_retries = send->place.max_retries,
                                    .ttl_ms = send->place.ttl_ms};

    send_request_add_body(&message, &request->all->stored, &send->message);
    send_request_add_member(request, &message, send);
    store_send_add(&request->call, &request->slot, &message);
    STAILQ_INSERT_TAIL(&request->batch, send, link);
    request->count++;
    if (send->made_us != 0) {
        metrics_waited(&request->all->sink->core->metrics, METRICS_WAIT_SEND,
                       request->begun_us - send->made_us, 1);
        send->made_us = 0;
    }
}

/* Give the send an id, if it has none.  Returns false if another request must take it: the ids of a
 * request follow each other, and sends that have ids by now are not in one with those that have
 * none. */
static bool send_request_identify(struct send_request *request, struct send *send, bool has_ids)
{
    if ((send->sequence != 0) != has_ids) {
        return false;
    }
    if (!has_ids) {
        send->sequence = ++request->all->last_sequence;
    }
    return send->sequence == request->sequence + request->count;
}

/* Move sends from the head of the queue into the request, while they fit.  Returns the earliest
 * deadline. */
static int64_t send_request_fill(struct send_request *request, struct send_list *queue)
{
    bool has_ids = STAILQ_FIRST(queue)->sequence != 0;
    bool whole = STAILQ_FIRST(queue)->place.whole;
    struct send *send;
    size_t bytes = 0;
    int64_t deadline_ms = INT64_MAX;
    /* each part of the topic stores all of them, in one run of the script */
    size_t most = SENDS_MAX / (size_t) topic_parts(request->topic);

    while ((send = STAILQ_FIRST(queue)) != NULL && request->count < most &&
           send->place.whole == whole &&
           (request->count == 0 || bytes + send_request_size(send) <= BYTES_MAX) &&
           send_request_identify(request, send, has_ids)) {
        STAILQ_REMOVE_HEAD(queue, link);
        send_request_add(request, send);
        bytes += send_request_size(send);
        deadline_ms = send->deadline_ms < deadline_ms ? send->deadline_ms : deadline_ms;
    }
    return deadline_ms;
}

void send_request_begin(struct send_requests *all, struct send_list *queue,
                        const struct topic *topic, int32_t slot, int64_t now_us, void *user)
{
    struct send_request *request = send_request_new(all);
    const struct core *core = all->sink->core;
    uint64_t sequence = STAILQ_FIRST(queue)->sequence;
    int64_t deadline_ms, left_ms;

    request->user = user;
    request->topic = topic;
    request->number = slot;
    request->count = 0;
    request->sequence = sequence != 0 ? sequence : all->last_sequence + 1;
    request->begun_us = now_us;
    store_slot_fill(&request->slot, topic, slot);
    if (STAILQ_FIRST(queue)->place.whole) {
        request->slot.keyed = false; /* nothing is stored beside the members */
    }
    store_send_begin(&request->call, &request->slot, topic, all->no_repeat ? NULL : all->producer,
                     request->sequence);
    deadline_ms = send_request_fill(request, queue);
    request->call.command.alone = send_request_is_large(STAILQ_FIRST(&request->batch)) &&
                                  STAILQ_FIRST(&request->batch)->cuts >= CUTS_SUSPECT;
    store_replicas(&request->call, all->replicas, deadline_ms);
    left_ms = deadline_ms - now_us / 1000;
    if (left_ms > core->request_timeout_ms) {
        left_ms = core->request_timeout_ms;
    }
    LIST_INSERT_HEAD(&all->wire, request, link);
    store_send(&request->call, core->redis, left_ms > 0 ? left_ms : 1);
}

/* --- end --- */

static void send_request_end(struct send_request *request, enum send_request_end how,
                             const char *why)
{
    struct send_requests *all = request->all;

    LIST_REMOVE(request, link);
    all->ended(request, how, why);
    send_request_recycle(all, request);
}

static void send_request_fail(struct send_request *request, smq_status status, const char *text)
{
    send_end_list(request->all->sink, &request->batch, status, text);
    send_request_end(request, SEND_REQUEST_FAILED, NULL);
}

/* `unknown`: the sends may have been stored already. */
static void send_request_repeat(struct send_request *request, enum send_request_end how,
                                smq_status status, const char *why, bool unknown)
{
    struct send *send;

    STAILQ_FOREACH(send, &request->batch, link)
    {
        /* DAMAGED is more precise, and stays */
        if (status != SMQ_NO_TOPIC || send->status != SMQ_DAMAGED) {
            send->status = status;
        }
        if (unknown) {
            send_doubt(send, request->begun_us / 1000);
        } else if (!send->unknown) {
            send->sequence = 0;
        }
    }
    send_request_end(request, how, why);
}

/* It is not known whether the sends were stored. */
static void send_request_lose(struct send_request *request, const char *text)
{
    if (request->all->no_repeat) {
        send_request_fail(request, SMQ_UNKNOWN, text);
        return;
    }
    send_request_repeat(request, SEND_REQUEST_REPEAT, SMQ_UNKNOWN, text, true);
}

/* --- sends that the server does not take --- */

static void send_request_cut(struct send_request *request, const char *text)
{
    struct send *first = STAILQ_FIRST(&request->batch), *send;

    STAILQ_FOREACH(send, &request->batch, link)
    {
        send->cuts++;
    }
    if (!request->all->no_repeat && request->call.command.alone && first->cuts >= CUTS_SURE) {
        request->call.done = send_request_on_looked;
        store_sent(&request->call, request->all->sink->core->redis, &request->slot, request->topic,
                   request->all->producer);
    } else {
        send_request_lose(request, text);
    }
}

/* The slot remembers the last request of the producer: was this one stored before its connection
 * ended? */
static void send_request_looked(struct send_request *request, const struct store_result *result)
{
    const struct send *first = STAILQ_FIRST(&request->batch);
    char text[TEXT_MAX];
    uint64_t last;

    if (result->outcome != STORE_OK || !store_sent_read(&last, result)) {
        send_request_lose(request, result->text);
        return;
    }
    if (last >= request->sequence) {
        send_request_fail(request, SMQ_UNKNOWN, "it is stored, but the reply was lost");
        return;
    }
    (void) snprintf(text, sizeof(text),
                    "slot %" PRId32 " of topic %.100s: Redis ends each connection over which this "
                    "message of %zu bytes comes: look at its client-query-buffer-limit",
                    request->number, request->topic->name, send_request_size(first));
    STAILQ_FIRST(&request->batch)->unknown = false;
    send_request_fail(request, SMQ_TOO_BIG, text);
}

static void send_request_on_looked(struct store_call *call, const struct store_result *result)
{
    struct send_request *request = call->user;
    struct send_requests *all = request->all;

    call->done = send_request_on_sent;
    if (all == NULL) {
        send_request_free(request);
        return;
    }
    send_request_looked(request, result);
    all->turn(all->user);
}

/* The script failed with an error.  An error about a key of another type is raised before the
 * script writes anything; a missing permission may be noticed after that.  Repeating helps in
 * neither case. */
static void send_request_break(struct send_request *request, smq_status status, const char *text)
{
    if (status == SMQ_INVALID) {
        send_request_fail(request, SMQ_INVALID, text);
    } else if (status == SMQ_DENIED) {
        send_request_fail(request, SMQ_UNKNOWN, text);
    } else {
        send_request_lose(request, text);
    }
}

static void send_request_not_done(struct send_request *request, const struct store_result *result,
                                  const char *text)
{
    if (result->status == SMQ_UNAVAILABLE || result->status == SMQ_TIMED_OUT) {
        send_request_repeat(request, SEND_REQUEST_REPEAT, result->status, result->text, false);
    } else {
        send_request_fail(request, result->status, text);
    }
}

/* The part of the topic that is full, by its index; -1: it is not known which. */
static void send_request_part(struct topic *out, const struct send_request *request, int index)
{
    if (index >= 0 && index < topic_parts(request->topic)) {
        topic_part(out, request->topic, index);
    } else {
        *out = *request->topic;
    }
}

/* A part of the topic has no room for the send. */
static void send_request_full(struct send_request *request, struct send *send, int index)
{
    struct topic part;

    send_request_part(&part, request, index);
    send_end_full(request->all->sink, send, &part);
}

/* A part of the topic has no places left for any send of the request. */
static void send_request_used_up(struct send_request *request, const struct store_result *result)
{
    char text[TEXT_MAX];
    struct topic part;

    send_request_part(&part, request, store_send_full_group(result));
    (void) snprintf(text, sizeof(text), "slot %" PRId32 " of topic %s: %s", request->number,
                    part.name, result->text);
    topic_numbers_add(&request->all->sink->core->topic_numbers, part.name, request->count);
    send_request_fail(request, SMQ_FULL, text);
}

/* Handle the reply to one send that had room, a character of `results`.  A stored send stays in the
 * batch if it has to wait for replicas. */
static void send_request_answer_one(struct send_request *request, struct send *send, char result)
{
    struct send_requests *all = request->all;

    if (result == 'u') {
        send_end(all->sink, send, SMQ_UNKNOWN,
                 "an earlier try may have stored it, and its answer is not known any more");
        return;
    }
    if (result == 'd') {
        send_end_duplicate(all->sink, send);
        return;
    }
    send->result = result == 'm' ? SEND_MERGED : SEND_ADDED;
    if (all->replicas > 0) {
        STAILQ_INSERT_TAIL(&request->batch, send, link);
    } else {
        send_end_stored(all->sink, send, SMQ_OK, "");
    }
}

/* The request waits for replicas while sends are left in its batch. */
static void send_request_stored(struct send_request *request, const struct store_result *result)
{
    struct send_list batch = STAILQ_HEAD_INITIALIZER(batch);
    struct send *send;
    const char *results;

    if (!store_send_read(&results, result, request->count)) {
        send_request_lose(request, "the reply to a send cannot be read");
        return;
    }
    metrics_waited(&request->all->sink->core->metrics, METRICS_WAIT_REQUEST,
                   clock_now_us() - request->begun_us, request->count);
    STAILQ_CONCAT(&batch, &request->batch);
    for (size_t i = 0; (send = STAILQ_FIRST(&batch)) != NULL; i++) {
        STAILQ_REMOVE_HEAD(&batch, link);
        send->unknown = results[i] == 'u'; /* a repeat gets the answer to its first try */
        if (results[i] == 'f') {
            send_request_full(request, send, store_send_full(result, i));
        } else {
            send_request_answer_one(request, send, results[i]);
        }
    }
    if (STAILQ_EMPTY(&request->batch)) {
        send_request_end(request, SEND_REQUEST_DONE, NULL);
    } else {
        store_await(&request->await, &request->call);
    }
}

static void send_request_answered(struct send_request *request, const struct store_result *result)
{
    char text[TEXT_MAX];

    (void) snprintf(text, sizeof(text), "slot %" PRId32 " of topic %s: %s", request->number,
                    request->topic->name, result->text);
    switch (result->outcome) {
    case STORE_OK:
        send_request_stored(request, result);
        break;
    case STORE_NO_TOPIC:
    case STORE_STALE:
        send_request_repeat(request, SEND_REQUEST_OUTDATED, SMQ_NO_TOPIC, result->text, false);
        break;
    case STORE_NOT_DONE:
        send_request_not_done(request, result, text);
        break;
    case STORE_REFUSED:
        if (result->status == SMQ_FULL) {
            send_request_used_up(request, result);
            break;
        }
        send_request_fail(request, result->status, text);
        break;
    case STORE_FENCED:
        send_request_fail(request, result->status, text);
        break;
    case STORE_PARTLY:
        send_request_break(request, result->status, text);
        break;
    case STORE_UNKNOWN:
        if (result->cut) {
            send_request_cut(request, text);
        } else {
            send_request_lose(request, text);
        }
        break;
    }
}

static void send_request_on_sent(struct store_call *call, const struct store_result *result)
{
    struct send_request *request = call->user;
    struct send_requests *all = request->all;

    if (all == NULL) {
        send_request_free(request);
        return;
    }
    send_request_answered(request, result);
    all->turn(all->user);
}

/* --- replicas --- */

/* End the sends whose deadline is `until_ms` or earlier; returns the earliest deadline of the
 * others. */
static int64_t send_request_end_until(struct send_request *request, int64_t until_ms,
                                      smq_status status, const char *text)
{
    struct send_list batch = STAILQ_HEAD_INITIALIZER(batch);
    struct send *send;
    int64_t deadline_ms = INT64_MAX;

    STAILQ_CONCAT(&batch, &request->batch);
    while ((send = STAILQ_FIRST(&batch)) != NULL) {
        STAILQ_REMOVE_HEAD(&batch, link);
        if (send->deadline_ms <= until_ms) {
            send_end_stored(request->all->sink, send, status, text);
            continue;
        }
        deadline_ms = send->deadline_ms < deadline_ms ? send->deadline_ms : deadline_ms;
        STAILQ_INSERT_TAIL(&request->batch, send, link);
    }
    return deadline_ms;
}

/* Too few replicas have acknowledged in time: continue to wait for the sends that have time
 * left. */
static void send_request_await_again(struct send_request *request, const char *text)
{
    request->await.until_ms = send_request_end_until(request, clock_now_ms(), SMQ_UNKNOWN, text);
    if (STAILQ_EMPTY(&request->batch)) {
        send_request_end(request, SEND_REQUEST_FAILED, NULL);
    } else {
        redis_await_again(&request->await);
    }
}

/* While its connection lasts a stored message need not be sent again, it only needs more time.
 * When the connection has ended the message may be lost, and is sent again as after a lost
 * reply. */
static void send_request_acknowledged(struct send_request *request,
                                      const struct redis_result *result)
{
    char text[TEXT_MAX];

    (void) snprintf(text, sizeof(text), "slot %" PRId32 " of topic %s: stored, but %s",
                    request->number, request->topic->name, result->text);
    if (result->outcome == REDIS_NOT_DONE) {
        send_request_await_again(request, text);
    } else if (result->outcome == REDIS_DONE) {
        (void) send_request_end_until(request, INT64_MAX, SMQ_OK, "");
        send_request_end(request, SEND_REQUEST_DONE, NULL);
    } else {
        send_request_lose(request, text);
    }
}

static void send_request_on_acknowledged(const struct redis_result *result, void *user)
{
    struct send_request *request = user;
    struct send_requests *all = request->all;

    if (all == NULL) {
        send_request_free(request);
        return;
    }
    send_request_acknowledged(request, result);
    all->turn(all->user);
}

void send_requests_abandon(struct send_requests *all)
{
    struct send_request *request;

    while ((request = LIST_FIRST(&all->wire)) != NULL) {
        LIST_REMOVE(request, link);
        send_end_list(all->sink, &request->batch, SMQ_UNKNOWN,
                      "the producer was freed before the reply came");
        request->all = NULL;
    }
    while ((request = LIST_FIRST(&all->spare)) != NULL) {
        LIST_REMOVE(request, link);
        send_request_free(request);
    }
    buf_fini(&all->member);
    buf_fini(&all->stored);
}
