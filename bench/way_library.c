/* way_library.c - an open loop by the library: asynchronous sends, and a worker in the same
 * process.
 *
 * Thread: main sends; handlers run on the threads of the consumer. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "library.h"
#include "ways.h"

enum { FLUSH_MS = 120000 };

struct by_library {
    const struct form *form;
    struct flow *flow;
    smq_producer *producer;
    char topic[LAB_NAME_SIZE];
    int64_t late_ns; /* how late the sender called, all messages together */
    atomic_ulong failed;
    int32_t last_slot;             /* of the last receipt */
    atomic_uint_fast64_t requests; /* the receipts of a request come one after the other */
};

/* === Sending ============================================================ */

static void note_stored(const smq_receipt *receipt, void *user)
{
    struct by_library *way = user;

    if (receipt->status != SMQ_OK) {
        atomic_fetch_add(&way->failed, 1);
    }
    if (receipt->slot != way->last_slot) {
        way->last_slot = receipt->slot;
        atomic_fetch_add(&way->requests, 1);
    }
}

static bool send_one(void *user, uint64_t number)
{
    struct by_library *way = user;
    char body[TALLY_BODY];
    smq_message message = library_message(body, number);
    struct library_key key;
    smq_error err = SMQ_ERROR_INIT;

    if (way->form->keys) { /* the id is also the key */
        message.id = (smq_bytes){body, TALLY_DIGITS};
    } else if (way->form->busy) {
        library_give_key(&message, number, &key);
    }
    way->late_ns += meter_now_ns() - flow_due_ns(way->flow, number);
    return lab_good(smq_send_async(way->producer, way->topic, &message, note_stored, way, &err),
                    &err);
}

static bool end(void *user)
{
    struct by_library *way = user;
    smq_error err = SMQ_ERROR_INIT;
    bool good = lab_good(smq_producer_flush(way->producer, FLUSH_MS, &err), &err);

    if (way->failed > 0) {
        fprintf(stderr, "bench: %lu sends failed\n", (unsigned long) way->failed);
    }
    return good && way->failed == 0;
}

/* === Handling =========================================================== */

static void seen(const smq_message_info *info, void *user)
{
    struct by_library *way = user;
    const struct timespec time = {.tv_nsec = way->form->handler_ms * 1000000L};

    if (info->attempt == 1) {
        flow_seen(way->flow, info->slot, info->body.data, info->body.len);
    }
    if (way->form->busy) {
        library_sleep_if_busy(info);
    }
    if (way->form->handler_ms > 0) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    }
}

static smq_verdict answer(const smq_message_info *info, void *user)
{
    struct by_library *way = user;

    return way->form->retries && library_fails(info) ? SMQ_RETRY : SMQ_DONE;
}

/* ======================================================================== */

static bool run(struct by_library *way, struct lab *lab, struct meter *cost)
{
    static const struct flow_way sending = {.send = send_one, .wait = flow_sleep, .end = end};

    if (!meter_start(cost, lab) || !flow_send(way->flow, &sending, way)) {
        return false;
    }
    flow_await(way->flow);
    return meter_stop(cost, lab);
}

static bool read_metrics(smq_client *client, smq_metrics *out)
{
    smq_error err = SMQ_ERROR_INIT;

    *out = (smq_metrics) SMQ_METRICS_INIT;
    return lab_good(smq_client_metrics(client, out, &err), &err);
}

/* From what the library has counted before and after the flow. */
static void find_waits(const struct by_library *way, const smq_metrics *before,
                       const smq_metrics *after, double out_ms[WAITS])
{
    const struct flow *flow = way->flow;
    double sum_ns = 0, rest_ms, sent = (double) flow->sent, us = 1000 * sent;

    for (uint64_t i = 0; i < flow->sent; i++) {
        sum_ns += (double) flow->late_ns[i];
    }
    out_ms[WAIT_SENDER] = (double) way->late_ns / 1e6 / sent;
    out_ms[WAIT_SEND] = (double) (after->wait_send_us - before->wait_send_us) / us;
    out_ms[WAIT_SLOT] = (double) (after->wait_slot_us - before->wait_slot_us) / us;
    out_ms[WAIT_PACE] = (double) (after->wait_pace_us - before->wait_pace_us) / us;
    out_ms[WAIT_ROOM] = (double) (after->wait_room_us - before->wait_room_us) / us;
    out_ms[WAIT_CLAIM] = (double) (after->wait_claim_us - before->wait_claim_us) / us;
    out_ms[WAIT_HANDLER] = (double) (after->wait_handler_us - before->wait_handler_us) / us;
    out_ms[WAIT_REQUEST] = (double) (after->wait_request_us - before->wait_request_us) / us;
    rest_ms = sum_ns / 1e6 / sent;
    for (int i = 0; i < WAIT_REQUEST; i++) {
        rest_ms -= i == WAIT_WAKE ? 0 : out_ms[i];
    }
    out_ms[WAIT_WAKE] = rest_ms;
}

bool way_library(struct lab *lab, smq_client *client, const struct form *form, struct flow *flow,
                 struct meter *cost, struct way_found *found)
{
    struct by_library way = {
        .form = form, .flow = flow, .last_slot = -1, .producer = library_producer(client)};
    struct library_consumer consumer = {
        .threads = form->threads, .seen = seen, .answer = answer, .user = &way};
    smq_metrics before, after;
    bool good = way.producer != NULL && lab_empty(lab) && read_metrics(client, &before) &&
                lab_topic_with(lab, client, way.topic,
                               SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = FLOW_SLOTS,
                                                 .layout = form->layout, .backoff = "fixed:10"));

    if (good) {
        good = library_consumer_start(&consumer, client, way.topic, 0) && run(&way, lab, cost);
        library_consumer_stop(&consumer);
    }
    smq_producer_free(way.producer);
    good = good && read_metrics(client, &after);
    if (good) {
        find_waits(&way, &before, &after, found->waits_ms);
        found->batch = (double) flow->sent / (double) (way.requests > 0 ? way.requests : 1);
    }
    return good;
}
