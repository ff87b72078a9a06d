/* worker.h - handlers called on threads of the library, over the slots that this process owns; or a
 * consumer's inside, which has no handlers and is polled.
 *
 *   worker.c       life and options, on the threads of the application
 *   worker_loop.c  answers, definition and end, on smq:io
 *   budget.c       how much it may claim
 *   watchdog.c     handlers that take too long
 *   standby.c      saying that it has nothing to do
 *   slot.h         one slot
 *   run_queue.h    the handler threads
 *
 * Thread: as each function says. */
#ifndef CONSUME_WORKER_WORKER_H
#define CONSUME_WORKER_WORKER_H

#include <pthread.h>

#include <slotmq/consumer.h>
#include <slotmq/worker.h>

#include "base/hash.h"
#include "consume/run/run_queue.h"
#include "consume/slot/owned_slot.h"
#include "core/core.h"
#include "model/limiter.h"

/* --- the calls of the public header; options have their full size --- */

smq_status worker_new(smq_worker **out, struct core *core, const smq_worker_options *options,
                      smq_error *err);
smq_status worker_start(smq_worker *worker, smq_error *err);
void worker_stop(smq_worker *worker); /* async-signal-safe */
smq_status worker_wait(smq_worker *worker, int64_t timeout_ms, smq_error *err);
void worker_free(smq_worker *worker);
smq_status worker_check_process(const smq_worker *worker, smq_error *err);

/* --- the inside --- */

/* Start one more thread.  Thread: that of worker_start(), then smq:io. */
smq_status worker_add_thread(smq_worker *worker, smq_error *err);

/* The same as worker_new(), as the inside of a consumer: without a handler. */
smq_status worker_new_polled(smq_worker **out, struct core *core, const smq_worker_options *options,
                             smq_consumer *consumer, smq_error *err);

/* Take a number 1 .. `most`, 0 for the default.  Fails: INVALID. */
smq_status worker_take_number(int32_t *out, const char *option, int64_t value, int64_t most,
                              int64_t default_value, smq_error *err);

/* Wait for the end; false when `timeout_ms` passed first. */
bool worker_wait_end(smq_worker *worker, int64_t timeout_ms);

enum worker_state {
    WORKER_NEW, /* not started; or it has rested, and is started by the next poll */
    WORKER_RUNNING,
    WORKER_RESTING,  /* nobody polls: as STOPPING, but then NEW again */
    WORKER_STOPPING, /* claims no more, drains */
    WORKER_ENDED     /* drained, or given up */
};

/* Takeovers of slots that one server has, so many at a time: a server that does not answer keeps
 * back no others. */
enum { WORKER_TAKEOVERS_MAX = 256 };

struct takeovers {
    UT_hash_handle hh;
    char server[REDIS_SERVER_MAX]; /* "" when it is not known */
    int32_t running;               /* on their way */
    struct owned_slot_queue waiting;
};

/* For each thread one that may take its place while its handler hangs. */
#define WORKER_THREADS_MOST(worker) (2 * (worker)->threads)

/* What follows the word "smq:io" belongs to that thread.  Invariants: owned_slot_count counts the
 * slots that are not freed; reserved is the sum of what the consumes on their way may bring. */
struct smq_worker {
    /* immutable after worker_new(), but for a consumer's drain_timeout_ms */
    struct core *core;
    pid_t pid;
    struct run_queue *queue;
    smq_consumer *consumer; /* NULL: it has handlers */
    int32_t per_slot;       /* of a consumer: a lane may have so many unanswered ones; else 0 */
    char name[TOPIC_NAME_MAX + 1];
    bool shared;
    int32_t threads, batch_size, max_in_flight;
    int64_t max_messages;       /* 0: no limit */
    int64_t rate_per_s;         /* 0: no limit */
    int64_t handler_timeout_ms; /* 0: none */
    int64_t drain_timeout_ms;
    uint32_t generation; /* floor of the tokens' */

    pthread_t *thread_ids;
    int32_t threads_started; /* smq:io starts some in the place of those that hang */
    atomic_bool started, stop_asked;
    uv_async_t stop_signal;
    struct loop_task begin, answered, extended, dispose;

    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool ended, disposed;
        smq_error result; /* how it ended */
    } end;

    /* smq:io */
    enum worker_state state;
    struct topic topic;
    bool joined;              /* coordination was told, and has not said `left` */
    bool refreshing;          /* the definition is being read again */
    bool checking;            /* what the topic is bound to is being read again */
    bool disposing;           /* worker_free() waits */
    bool damaged;             /* it was told that topic{T} is lost */
    uint32_t reads_confirmed; /* reads of the definition that found the topic, so far */
    int64_t missing_at;       /* since when the topic seems to be deleted; 0: it does not */
    bool abandoned;           /* something was given up unfinished */
    bool paused;              /* it was told that the topic is */
    bool standing_by;         /* it was said that it owns nothing */
    smq_error failure;
    struct owned_slot **slots; /* by number; NULL: not ours */
    int32_t owned_slot_count;
    struct takeovers *takeovers; /* by server */
    int32_t paused_strands;      /* whose slot was paused when they looked last */
    struct owned_slot_queue starved;
    struct owned_slot_list busy, leaving;
    struct delivery_pool pool;
    int64_t in_flight_count, unanswered, reserved, answered_count;
    int32_t owned;             /* slots that are ACTIVE */
    struct limiter own, share; /* rates of the worker, and of its part of the topic */
    uv_timer_t renewal, drain, tokens, overdue, standby;
    uv_prepare_t rouse;      /* runs when the handler threads are to be woken */
    int handles_open, reads; /* reads of the definition, or of the binding, on their way */
};

/* --- worker_loop.c; Thread: smq:io --- */

void worker_on_begin(struct loop_task *task);
void worker_on_answered(struct loop_task *task);
void worker_on_extended(struct loop_task *task);
void worker_on_dispose(struct loop_task *task);

/* Make what must be closed again: timers, the stop signal. */
void worker_open(smq_worker *worker);
void worker_handle_closed(smq_worker *worker);

/* Wake the handler threads for what was added, at the end of this turn of the loop. */
void worker_rouse(smq_worker *worker);

/* Begin to stop. */
void worker_begin_stopping(smq_worker *worker);

/* Give the slots up, but stay: consumer_rested() follows. */
void worker_rest(smq_worker *worker);

/* End within `ms` without an answer of those who hold deliveries: refuse answers from now on. */
void worker_stop_within(smq_worker *worker, int64_t ms);

/* A call has ended: there may be room for others, or the last message may be answered. */
void worker_feed(smq_worker *worker);

/* Put a slot into a list of those to be looked at, once; then look at them, and feed the others.
 */
void worker_touch(struct owned_slot_batch *touched, struct owned_slot *slot);
void worker_look_at_touched(smq_worker *worker, struct owned_slot_batch *touched);

/* A consume has found its slot paused, or not: tell it once, and once that no slot is any more.
 * A slot that ends says nothing about the topic. */
void worker_see_pause(struct owned_slot *slot, bool paused);
void worker_forget_pause(struct owned_slot *slot);

/* Do failed messages keep back what stands behind them? */
bool worker_is_strict(const smq_worker *worker);

/* The slot that has this delivery in flight. */
struct owned_slot *worker_strand(const smq_delivery *delivery);

/* Look at all leases in flight at once, and then as often as the definition demands. */
void worker_renew_soon(smq_worker *worker);

/* A renewal for which handlers wait has failed: look at all leases again in a moment. */
void worker_renew_again(smq_worker *worker);

/* A script says that the definition is not the stored one: read it again. */
void worker_refresh(smq_worker *worker);

/* A slot was refused under a larger generation: continue under that of the topic, if it is larger
 * now; end the worker if the topic is bound to another coordination. */
void worker_check_binding(smq_worker *worker);
void worker_read_ended(smq_worker *worker); /* one of `reads` */

/* Fill `err` for a topic that is bound to another coordination: what to do.  Its status. */
smq_status worker_other_fleet(smq_error *err, const smq_worker *worker,
                              const struct store_result *result);

/* topic{T} is lost, or is there (NULL): tell it once.  The slots are consumed all the same. */
void worker_tell_lost_definition(smq_worker *worker, const char *text);

/* It cannot go on: drop everything, end with `status`. */
void worker_fail(smq_worker *worker, smq_status status, const char *text);

/* The end may be reached. */
void worker_check_end(smq_worker *worker);

/* Hear what coordination says about the topic; false: this client consumes it already. */
bool worker_register(smq_worker *worker);

/* --- takeover.c --- */

/* Begin the takeovers for which there is room now.  Thread: smq:io. */
void takeovers_feed(smq_worker *worker);

/* None is on its way, and none waits. */
void takeovers_free(smq_worker *worker);

/* --- budget.c; Thread: smq:io --- */

/* How many of `wish` messages may be claimed now. */
int32_t worker_room(const smq_worker *worker, int32_t wish);

/* A consume that may bring `count` is on its way; it has brought `used`.  For a repeated one the
 * first reservation holds. */
void worker_reserve(smq_worker *worker, int32_t count);
void worker_unreserve(smq_worker *worker, int32_t count, int32_t used);

/* So many that were claimed go back, and no handler has seen them. */
void worker_unused(smq_worker *worker, int32_t count);

/* The number of slots that it owns has changed; or a rate. */
void worker_owns(smq_worker *worker, int32_t change);
void worker_rates_set(smq_worker *worker);

/* Some may be starved for want of tokens only: feed them in time.  Does that take longer than a
 * change of the topic may take to be seen? */
void worker_await_tokens(smq_worker *worker);
bool worker_awaits_tokens_long(const smq_worker *worker);

/* --- standby.c; Thread: smq:io --- */

/* The state, or the number of slots that it owns, has changed. */
void worker_watch_standby(smq_worker *worker);

/* --- watchdog.c; Thread: smq:io --- */

/* Something is in flight: watch for handlers that take too long. */
void worker_watch_handlers(smq_worker *worker);

#endif
