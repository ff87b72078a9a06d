/* way_library.c - an open loop by the library: asynchronous sends, and a worker in the same
 * process.
 *
 * Thread: main sends; handlers run on the threads of the consumer. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "library.h"
#include "samples.h"
#include "ways.h"

enum { FLUSH_MS = 120000 };

/* Of one message.  `sent_ns` is written by the sender, `stored_ns` on smq:call. */
struct passage {
    struct by_library *way;
    int64_t sent_ns, stored_ns;
};

struct by_library {
    const struct form *form;
    struct flow *flow;
    smq_producer *producer;
    char topic[LAB_NAME_SIZE];
    struct passage *passages; /* of each message of the flow */
    atomic_ulong failed;
};

/* === Sending ============================================================ */

static void note_stored(const smq_receipt *receipt, void *user)
{
    struct passage *passage = user;

    passage->stored_ns = meter_now_ns();
    if (receipt->status != SMQ_OK) {
        atomic_fetch_add(&passage->way->failed, 1);
    }
}

static bool send_one(void *user, uint64_t number)
{
    struct by_library *way = user;
    char body[TALLY_BODY];
    struct passage *passage = &way->passages[number];
    smq_message message = library_message(body, number);
    smq_error err = SMQ_ERROR_INIT;

    if (way->form->keys) { /* the id is also the key */
        message.id = (smq_bytes){body, TALLY_DIGITS};
    }
    passage->way = way;
    bool good = lab_good(
        smq_send_async(way->producer, way->topic, &message, note_stored, passage, &err), &err);
    passage->sent_ns = meter_now_ns();
    return good;
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

static void find_waits(const struct by_library *way, struct waits *waits)
{
    const struct flow *flow = way->flow;
    struct samples call = {.count = 0}, stored = {.count = 0}, begun = {.count = 0};

    for (uint64_t i = (uint64_t) (FLOW_WARM_S * flow->rate); i < flow->sent; i++) {
        const struct passage *passage = &way->passages[i];
        int64_t due_ns = flow_due_ns(flow, i);
        samples_add(&call, (double) (passage->sent_ns - due_ns) / 1e6);
        samples_add(&stored, (double) (passage->stored_ns - passage->sent_ns) / 1e6);
        samples_add(&begun, (double) (due_ns + flow->late_ns[i] - passage->stored_ns) / 1e6);
    }
    *waits = (struct waits){.call_ms = samples_quantile(&call, 0.5),
                            .stored_ms = samples_quantile(&stored, 0.5),
                            .begun_ms = samples_quantile(&begun, 0.5)};
    samples_fini(&call);
    samples_fini(&stored);
    samples_fini(&begun);
}

bool way_library(struct lab *lab, smq_client *client, const struct form *form, struct flow *flow,
                 struct meter *cost, struct waits *waits)
{
    struct by_library way = {.form = form,
                             .flow = flow,
                             .producer = library_producer(client),
                             .passages = calloc(flow->messages + 1, sizeof(struct passage))};
    struct library_consumer consumer = {.threads = form->threads, .seen = seen, .user = &way};
    bool good = way.producer != NULL && way.passages != NULL && lab_empty(lab) &&
                lab_topic_laid_out(lab, client, way.topic, FLOW_SLOTS, form->layout);

    if (good) {
        good = library_consumer_start(&consumer, client, way.topic, 0) && run(&way, lab, cost);
        library_consumer_stop(&consumer);
    }
    smq_producer_free(way.producer);
    if (good) {
        find_waits(&way, waits);
    }
    free(way.passages);
    return good;
}
