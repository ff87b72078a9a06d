/* way_library.c - an open loop by the library: asynchronous sends, and a worker in the same
 * process.
 *
 * Thread: main sends; handlers run on the threads of the consumer. */
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "library.h"
#include "ways.h"

enum { FLUSH_MS = 120000 };

struct by_library {
    const struct form *form;
    struct flow *flow;
    smq_producer *producer;
    char topic[LAB_NAME_SIZE];
    atomic_ulong failed;
};

/* === Sending ============================================================ */

static void count_failed(const smq_receipt *receipt, void *user)
{
    struct by_library *way = user;

    if (receipt->status != SMQ_OK) {
        atomic_fetch_add(&way->failed, 1);
    }
}

static bool send_one(void *user, uint64_t number)
{
    struct by_library *way = user;
    char body[TALLY_BODY];
    smq_message message = library_message(body, number);
    smq_error err = SMQ_ERROR_INIT;

    if (way->form->layout == SMQ_LAYOUT_KEYED) { /* also the key */
        message.id = (smq_bytes){body, TALLY_DIGITS};
    }
    return lab_good(smq_send_async(way->producer, way->topic, &message, count_failed, way, &err),
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

    flow_seen(way->flow, info->slot, info->body.data, info->body.len);
    if (way->form->handler_ms > 0) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    }
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

bool way_library(struct lab *lab, smq_client *client, const struct form *form, struct flow *flow,
                 struct meter *cost)
{
    struct by_library way = {.form = form, .flow = flow, .producer = library_producer(client)};
    struct library_consumer consumer = {.threads = form->threads, .seen = seen, .user = &way};
    bool good = way.producer != NULL && lab_empty(lab) &&
                lab_topic_laid_out(lab, client, way.topic, FLOW_SLOTS, form->layout);

    if (good) {
        good = library_consumer_start(&consumer, client, way.topic, 0) && run(&way, lab, cost);
        library_consumer_stop(&consumer);
    }
    smq_producer_free(way.producer);
    return good;
}
