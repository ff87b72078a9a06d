/* worker.h - handlers called on threads of the library, over the slots that this process owns; or a
 * consumer's inside, which has no handlers and is polled.
 *
 *   threads.c      the handler threads
 *   standby.c      reporting that the worker has nothing to do
 *   watchdog.c     handlers that take too long
 *   binding.c      what the topic is bound to
 *   worker_loop.c  the worker on smq:io: its turn, its definition, what coordination says, its end
 *   worker_open.c  the topic as it is read and bound before the worker begins
 *   worker.c       life and options, on the threads of the application
 *
 * Each of them calls those above it only.  Below them are the slots (consume/slot/owned_slot.h) and
 * the run queue (consume/run/run_queue.h); a consumer is made of a worker.
 *
 * Thread: as each function says. */
#ifndef CONSUME_WORKER_WORKER_H
#define CONSUME_WORKER_WORKER_H

#include <pthread.h>

#include <slotmq/worker.h>

#include "consume/run/run_queue.h"
#include "consume/slot/slot_set.h"
#include "core/core.h"

/* --- the calls of the public header; options are complete --- */

smq_status worker_new(smq_worker **out, struct core *core, const smq_worker_options *options,
                      smq_error *err);
smq_status worker_start(smq_worker *worker, smq_error *err);
void worker_stop(smq_worker *worker); /* async-signal-safe */
smq_status worker_wait(smq_worker *worker, int64_t timeout_ms, smq_error *err);
void worker_free(smq_worker *worker);
smq_status worker_check_process(const smq_worker *worker, smq_error *err);

/* --- the inside --- */

/* Who polls a worker that has no handlers.  Thread: smq:io. */
struct worker_poller {
    void (*opened)(void *user,
                   smq_worker *worker); /* it lives on the loop now; its handles count */
    void (*begun)(void *user);
    void (*rested)(void *user);  /* what worker_rest() has begun is done */
    void (*closing)(void *user); /* close the handles; worker_handle_closed() for each */
    void *user;
    int32_t per_slot;       /* a slot may have this many unanswered deliveries */
    struct loop_task *back; /* posted by the first poll of a worker at rest */
};

/* The same as worker_new(), for a poller: without a handler. */
smq_status worker_new_polled(smq_worker **out, struct core *core, const smq_worker_options *options,
                             const struct worker_poller *poller, smq_error *err);

/* Wait for the end; false when `timeout_ms` passed first. */
bool worker_wait_end(smq_worker *worker, int64_t timeout_ms);

enum worker_state {
    WORKER_NEW, /* not started; or it has rested, and is started by the next poll */
    WORKER_RUNNING,
    WORKER_RESTING,  /* nobody polls: as STOPPING, but then NEW again */
    WORKER_STOPPING, /* claims no more, drains */
    WORKER_ENDED,    /* drained, or given up */
    WORKER_STATES
};

/* May a worker go from `from` to `to`?  Pure. */
bool worker_may(enum worker_state from, enum worker_state to);

/* For each thread one that may take its place while its handler hangs. */
#define WORKER_THREADS_MOST(worker) (2 * (worker)->threads)

/* Invariants: the state changes in worker_enter() alone, and set.claiming is true while it is
 * RUNNING. */
struct smq_worker {
    struct slot_set set;
    pid_t pid;

    /* immutable after worker_new() */
    bool polled;
    struct worker_poller poller; /* when it is polled */
    int32_t threads;
    int64_t handler_timeout_ms; /* 0: none */

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
    uint32_t generation; /* floor of the tokens' */
    bool turning;        /* a turn runs: one that is asked for in it is a part of it */
    bool joined;         /* coordination was told, and has not said `left` */
    bool disposing;      /* worker_free() waits */
    bool damaged;        /* it was reported that topic{T} is lost */
    bool standing_by;    /* it was reported that it owns nothing */
    struct {
        bool refresh, check_binding, fail; /* slots have asked for it since the last turn */
    } asked;
    bool refreshing; /* the definition is being read again */
    bool checking;   /* what the topic is bound to is being read again */
    int reads;       /* of these two, on their way */
    smq_error failure;
    uv_timer_t drain, overdue, standby;
};

/* --- threads.c --- */

/* Start the threads that are not started yet.  Thread: that of worker_start(). */
smq_status worker_start_threads(smq_worker *worker, smq_error *err);

/* Start one more thread.  Thread: that of worker_start(), then smq:io. */
smq_status worker_add_thread(smq_worker *worker, smq_error *err);

/* --- worker_open.c --- */

/* Read the topic, bind it to this client's coordination, and open the worker on smq:io.
 * Blocks: request_timeout_ms a round trip, and the first connection to ZooKeeper. */
smq_status worker_open_topic(smq_worker *worker, smq_error *err);

/* --- worker_loop.c; Thread: smq:io --- */

/* Fill what the tasks and the slots need; takes over a reference of `core`.  Thread: any, before
 * smq:io knows the worker. */
void worker_init_loop(smq_worker *worker, struct core *core);

/* Hear what coordination says about the topic, and make what must be closed again: timers, the stop
 * signal.  false: this client consumes the topic already. */
bool worker_open(smq_worker *worker);
void worker_handle_closed(smq_worker *worker);

/* Give the slots up, but stay: the poller's `rested` follows.  A turn follows. */
void worker_rest(smq_worker *worker);

/* End within `ms` without an answer of those who hold deliveries: refuse answers from now on. */
void worker_stop_within(smq_worker *worker, int64_t ms);

/* --- binding.c; Thread: smq:io --- */

/* Read what the topic is bound to, unless that is under way; answered() gets it. */
typedef void binding_answered_fn(smq_worker *worker, const struct store_result *result);
void worker_ask_binding(smq_worker *worker, binding_answered_fn *answered);

/* Fill `err` for a topic that is bound to another coordination: what to do.  Its status. */
smq_status worker_other_fleet(smq_error *err, const smq_worker *worker,
                              const struct store_result *result);

/* --- standby.c; Thread: smq:io --- */

/* The state, or the number of slots that it owns, may have changed. */
void worker_watch_standby(smq_worker *worker);

/* --- watchdog.c; Thread: smq:io --- */

/* Something is in flight: watch for handlers that take too long. */
void worker_watch_handlers(smq_worker *worker);

#endif
