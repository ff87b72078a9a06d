/* consumer.h - a consumer: the slots that this process owns, polled by threads of the application.
 *
 * A consumer is a worker without handlers: it has the same slots, and their deliveries wait in the
 * scheduler until a poll fetches them.
 *
 *   consumer.c  the functions, on threads of the application
 *   poll_gap.c  what happens when no poll comes, and the end, on smq:io
 *
 * Thread: as each function says. */
#ifndef CONSUME_WORKER_CONSUMER_H
#define CONSUME_WORKER_CONSUMER_H

#include <uv.h>

#include <slotmq/consumer.h>
#include <slotmq/worker.h>

#include "base/loop.h"
#include "consume/worker/worker.h"
#include "core/core.h"

/* --- the functions of the public header; options are complete --- */

smq_status consumer_new(smq_consumer **out, struct core *core, const smq_consumer_options *options,
                        smq_error *err);
smq_status consumer_poll(smq_delivery **out, size_t *count, smq_consumer *consumer, size_t capacity,
                         int64_t timeout_ms, smq_error *err);
int consumer_fd(const smq_consumer *consumer);
smq_status consumer_flush(smq_consumer *consumer, int64_t timeout_ms, smq_error *err);
void consumer_free(smq_consumer *consumer); /* not in a child of fork() */

/* --- internal --- */

struct smq_consumer {
    /* immutable after consumer_new() */
    smq_worker *worker;
    int32_t per_slot;
    int64_t gap_ms;
    int descriptor; /* an eventfd */

    struct loop_task back, stop_within;

    /* smq:io */
    uv_timer_t gap;
    bool wanted; /* a poll came since the worker was suspended */
};

/* --- poll_gap.c --- */

/* Initialize the tasks; return the callbacks for its worker.  Thread: that of consumer_new(). */
void consumer_init_loop(smq_consumer *consumer);
struct worker_poller consumer_poller(smq_consumer *consumer);

#endif
