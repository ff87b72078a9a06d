/* consumer.c - the functions of a consumer.
 *
 * Thread: those of the application. */
#include "consume/worker/consumer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "consume/worker/worker.h"

enum { CONSUMER_BATCH_MAX = 100, CONSUMER_KEYS_LEAST = 10 };

/* --- options --- */

/* The options of the consumer's worker.  The options of the consumer are complete, so these are,
 * too. */
static smq_worker_options consumer_work(const smq_consumer_options *options)
{
    smq_worker_options work = SMQ_WORKER_OPTIONS_INIT;

    work.topic = options->topic;
    work.threads = options->weight;
    work.batch_size = CONSUMER_BATCH_MAX;
    work.max_in_flight = options->max_in_flight;
    work.order = options->order;
    work.rate_per_s = options->rate_per_s;
    work.handler_timeout_ms = options->handler_timeout_ms;
    work.drain_timeout_ms = options->drain_timeout_ms;
    work.push_slots = options->push_slots;
    work.linger_ms = options->linger_ms;
    return work;
}

static int32_t consumer_within(int32_t least, int32_t value, int32_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* How many messages are claimed at once from a slot, and how many it may have unanswered.  All
 * slots together fit into max_in_flight, so that no slot has to wait until the others are empty. By
 * key the default of per_slot is more than each of many slots can have, so there it is no lower
 * limit; what polls have taken may go beyond its share; and half of max_in_flight stays for other
 * keys than the one that fills a slot. */
static void consumer_set_room(const smq_consumer *consumer)
{
    struct slot_set *set = &consumer->worker->set;
    int32_t share = set->budget.max_in_flight / set->topic.slots, least = consumer->per_slot;
    int32_t half = set->budget.max_in_flight > 1 ? set->budget.max_in_flight / 2 : 1;

    if (set->by_key) {
        share = share < half ? share : half;
        half = half < CONSUMER_KEYS_LEAST ? half : CONSUMER_KEYS_LEAST;
        least = least < half ? least : half;
    }
    set->room = consumer_within(least, share,
                                consumer->per_slot > CONSUMER_BATCH_MAX ? consumer->per_slot
                                                                        : CONSUMER_BATCH_MAX);
    set->batch_size =
        set->by_key && set->room > CONSUMER_BATCH_MAX ? CONSUMER_BATCH_MAX : set->room;
}

/* --- life --- */

static void consumer_destroy(smq_consumer *consumer)
{
    if (consumer->descriptor >= 0) {
        (void) close(consumer->descriptor);
    }
    free(consumer);
}

smq_status consumer_new(smq_consumer **out, struct core *core, const smq_consumer_options *options,
                        smq_error *err)
{
    smq_consumer *consumer = memory_new(sizeof(*consumer));
    smq_worker_options work = consumer_work(options);
    struct worker_poller poller;
    smq_status status;

    consumer->per_slot = options->per_slot;
    consumer->gap_ms = options->max_poll_gap_ms;
    consumer_init_loop(consumer);
    consumer->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (consumer->descriptor < 0) {
        status = status_set(err, SMQ_NO_MEMORY, "cannot make a descriptor to wait for: %s",
                            strerror(errno));
        goto fail;
    }
    poller = consumer_poller(consumer);
    status = worker_new(&consumer->worker, core, &work, &poller, err);
    if (status != SMQ_OK) {
        goto fail;
    }
    consumer_set_room(consumer);
    loop_post(core->io, &consumer->worker->begin);
    *out = consumer;
    return SMQ_OK;
fail:
    consumer_destroy(consumer);
    return status;
}

void consumer_free(smq_consumer *consumer)
{
    smq_worker *worker = consumer->worker;

    scheduler_set_descriptor(worker->set.scheduler, -1);
    loop_post(worker->set.core->io, &consumer->stop_within);
    worker_free(worker);
    consumer_destroy(consumer);
}

/* --- polls --- */

/* Why polls return nothing any more. */
static smq_status consumer_result(smq_consumer *consumer, smq_error *err)
{
    smq_worker *worker = consumer->worker;

    (void) worker_wait_end(worker, SMQ_FOREVER); /* it will end soon */
    if (worker->end.result.status == SMQ_OK) {
        return status_set(err, SMQ_CLOSED, "the consumer of topic %s was stopped",
                          worker->set.name);
    }
    if (worker->end.result.status == SMQ_TIMED_OUT) {
        return status_set(
            err, SMQ_CLOSED,
            "the consumer of topic %s was stopped; deliveries that were not answered within "
            "drain_timeout_ms are delivered again",
            worker->set.name);
    }
    return status_copy(err, &worker->end.result);
}

smq_status consumer_poll(smq_delivery **out, size_t *count, smq_consumer *consumer, size_t capacity,
                         int64_t timeout_ms, smq_error *err)
{
    if (!scheduler_poll(consumer->worker->set.scheduler, out, count, capacity, timeout_ms)) {
        return consumer_result(consumer, err);
    }
    return SMQ_OK;
}

int consumer_fd(const smq_consumer *consumer)
{
    scheduler_set_descriptor(consumer->worker->set.scheduler, consumer->descriptor);
    return consumer->descriptor;
}

smq_status consumer_flush(smq_consumer *consumer, int64_t timeout_ms, smq_error *err)
{
    smq_status late = SMQ_OK;
    const char *topic = consumer->worker->set.name;

    if (!scheduler_flush(consumer->worker->set.scheduler, &late, timeout_ms)) {
        return status_set(err, SMQ_TIMED_OUT, "answers of topic %s are not stored yet", topic);
    }
    if (late == SMQ_UNKNOWN) {
        return status_set(err, late,
                          "it is not known whether an answer of topic %s is stored: its reply was "
                          "lost; its message may be delivered again",
                          topic);
    }
    if (late != SMQ_OK) {
        return status_set(err, late,
                          "an answer of topic %s came too late: %s; its message is delivered again",
                          topic, smq_status_text(late));
    }
    return SMQ_OK;
}
