/* worker.h - a worker: it calls handlers on its own threads for the slots that this process owns.
 * A consumer has a worker without handlers, which is polled.
 *
 *   threads.c      the handler threads
 *   standby.c      reporting that the worker has no slots
 *   assignment.c   reporting how many slots were gained and lost
 *   watchdog.c     handlers that take too long
 *   health.c       what the worker reports of its health
 *   binding.c      what the topic is bound to
 *   worker_loop.c  the worker on smq:io: its turn, its definition, coordination, its end
 *   worker_open.c  reading and binding the topic before the worker begins
 *   worker.c       life and options, on threads of the application
 *
 * Each of them calls only those above it.  Below them are the slots (consume/slot/owned_slot.h) and
 * the scheduler (consume/run/scheduler.h).
 *
 * Thread: as each function says. */
#ifndef CONSUME_WORKER_WORKER_H
#define CONSUME_WORKER_WORKER_H

#include <pthread.h>

#include <slotmq/worker.h>

#include "base/alarms.h"
#include "base/episode.h"
#include "consume/run/scheduler.h"
#include "consume/slot/slot_set.h"
#include "core/core.h"

struct worker_poller;

/* --- the functions of the public header; options are complete --- */

/* `poller`: the consumer of a worker without a handler; NULL: the worker has one. */
smq_status worker_new(smq_worker **out, struct core *core, const smq_worker_options *options,
                      const struct worker_poller *poller, smq_error *err);
smq_status worker_start(smq_worker *worker, smq_error *err);
void worker_stop(smq_worker *worker); /* async-signal-safe */
smq_status worker_wait(smq_worker *worker, int64_t timeout_ms, smq_error *err);
void worker_free(smq_worker *worker);
smq_status worker_check_process(const smq_worker *worker, smq_error *err);

/* --- internal --- */

/* The callbacks of a worker without handlers to its consumer.  Thread: smq:io. */
struct worker_poller {
    void (*opened)(void *user, smq_worker *worker); /* the worker is on the loop now; handles that
                                                       the consumer opens count */
    void (*begun)(void *user);
    void (*suspended)(void *user); /* worker_suspend() has ended */
    void (*closing)(void *user);   /* close the handles; call slot_set_handle_closed() for each */
    void *user;
    int32_t per_slot;       /* unanswered deliveries that a slot may have */
    struct loop_task *back; /* posted by the first poll of a suspended worker */
};

/* Wait for the end of the worker; false: `timeout_ms` has passed. */
bool worker_wait_end(smq_worker *worker, int64_t timeout_ms);

enum worker_state {
    WORKER_NEW, /* not started, or suspended until the next poll */
    WORKER_RUNNING,
    WORKER_SUSPENDING, /* no poll came: as STOPPING, and then NEW again */
    WORKER_STOPPING,   /* claims no more, drains */
    WORKER_ENDED,      /* drained, or ended without */
    WORKER_STATES
};

/* May a worker go from `from` to `to`?  Pure. */
bool worker_may(enum worker_state from, enum worker_state to);

enum { STANDBY_MS = 5000 }; /* longer than the start of a fleet or a move of a slot takes */

/* Since when a worker has no slots.  Zeroed: it has some, or does not run. */
struct worker_standby {
    int64_t since_ms;
    bool reported;
};

/* After how many milliseconds is it to be reported that a worker is `spare`: it runs and has no
 * slots.  0: now, which is returned once for each time without slots; -1: not at all.  Pure but for
 * `standby`. */
int64_t worker_standby_wait_ms(struct worker_standby *standby, bool spare, int64_t now_ms);

/* An assignment is carried out when no slot has changed for ASSIGNMENT_QUIET_MS and none is being
 * taken over or given up.  What lasts longer is reported each ASSIGNMENT_LONGEST_MS. */
enum { ASSIGNMENT_QUIET_MS = 100, ASSIGNMENT_LONGEST_MS = 1000 };

/* What was reported of the slots that were gained and lost.  Zeroed: nothing yet. */
struct worker_assignment {
    int64_t gained, lost;      /* as they were reported last */
    int64_t seen;              /* gained + lost as they were at the last look */
    int64_t first_ms, last_ms; /* when the changes that are not reported came; 0: there are none */
    int64_t reported_ms;       /* 0: never */
};

/* The slots of a worker as they are now. */
struct worker_slots {
    int64_t gained, lost; /* so far */
    bool moving;          /* some are being taken over or given up */
    bool ended;           /* no slot is left, and none will come */
};

/* When is it to be reported how many slots were gained and lost?  A time of now_ms or before: now,
 * and it is noted as reported; INT64_MAX: nothing has changed.  Pure but for `assignment`. */
int64_t worker_assignment_due_ms(struct worker_assignment *assignment,
                                 const struct worker_slots *slots, int64_t now_ms);

/* Each thread may be replaced once while its handler hangs. */
#define WORKER_THREADS_MOST(worker) (2 * (worker)->threads)

/* Invariants: the state changes in worker_enter() alone, and set.claiming is true only while it is
 * RUNNING. */
struct smq_worker {
    struct slot_set set; /* groups of its own */

    /* immutable after worker_new() */
    unsigned forks; /* by fork_count(), in the process that made it */
    bool polled;
    struct worker_poller poller; /* if it is polled */
    int32_t threads;
    int64_t handler_timeout_ms; /* 0: none */

    /* the thread of worker_start(), then smq:io, then that of worker_free() */
    pthread_t *thread_ids;
    int32_t threads_started; /* smq:io starts some to replace hung ones */

    /* any thread */
    atomic_bool started, stop_asked;
    uv_async_t stop_signal;
    struct loop_task begin, answered, extended, dispose; /* they run on smq:io */

    /* guarded by end.lock */
    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool ended, disposed;
        smq_error result; /* the status with which it ended */
    } end;

    /* smq:io */
    enum worker_state state;
    uint32_t generation; /* generation that new tokens have at least */
    bool turning;        /* a turn runs; a turn that is requested during it becomes a part of it */
    bool joined;         /* it has joined coordination, and `left` was not called yet */
    bool disposing;      /* worker_free() waits for the end */
    bool damaged;        /* the loss of topic{T} was reported */
    struct episode denials;
    struct {
        bool refresh, check_binding, fail; /* slots have requested this since the last turn */
    } asked;
    bool refreshing; /* the definition is being read again */
    bool checking;   /* what the topic is bound to is being read again */
    struct {
        size_t running;                 /* questions that are not answered yet */
        bool unknown;                   /* one was not answered */
        char missing[STORE_RIGHTS_MAX]; /* what one server says is missing; "": nothing */
    } rights; /* of the user when the worker began, asked of each server that has slots */
    smq_error failure;
    struct health_source health;
    struct worker_standby standby;
    struct worker_assignment assignment;
    struct alarm assignment_due; /* set while a change of the slots is not reported */
    uv_timer_t drain, overdue, standby_timer;
    struct {
        uv_timer_t timer;
        struct store_call call;
        bool running; /* a look at the list of topics is in progress */
        bool denied;  /* the user may not */
    } listing;
};

/* --- threads.c --- */

/* Start the threads that are not started yet.  Thread: that of worker_start(). */
smq_status worker_start_threads(smq_worker *worker, smq_error *err);

/* Start one more thread.  Thread: that of worker_start(), then smq:io. */
smq_status worker_add_thread(smq_worker *worker, smq_error *err);

/* --- worker_open.c --- */

/* Read the topic, bind it to this client's coordination, and open the worker on smq:io.  Blocks:
 * request_timeout_ms per round trip, and until the first connection to ZooKeeper. */
smq_status worker_open_topic(smq_worker *worker, smq_error *err);

/* --- worker_loop.c; Thread: smq:io --- */

/* Initialize the tasks and the callbacks of the slots; takes over a reference of `core`.  Thread:
 * any, before smq:io uses the worker. */
void worker_init_loop(smq_worker *worker, struct core *core);

/* Register with the link to coordination, and open the handles that have to be closed at the end:
 * timers, the stop signal.  false: this client consumes the topic already. */
bool worker_open(smq_worker *worker);

/* Give up all slots, but keep the worker; then `suspended` of the poller is called.  A turn must
 * follow. */
void worker_suspend(smq_worker *worker);

/* End within `ms` although deliveries are not answered: refuse answers from now on. */
void worker_stop_within(smq_worker *worker, int64_t ms);

/* --- binding.c; Thread: smq:io --- */

/* Read the topic's binding, unless a read is in progress, and call answered() with the result. */
typedef void binding_answered_fn(smq_worker *worker, const struct store_result *result);
void worker_ask_binding(smq_worker *worker, binding_answered_fn *answered);

/* The topic is bound to another fleet: may that be this one, under an identity that this process,
 * whose session is lost, has not heard of yet? */
bool worker_may_have_new_identity(const smq_worker *worker, const struct store_result *result);

/* Fill `err` for a topic that is bound to another coordination, and say what to do; returns its
 * status. */
smq_status worker_other_fleet(smq_error *err, const smq_worker *worker,
                              const struct store_result *result);

/* --- rights.c; Thread: smq:io --- */

/* Ask each server that has slots of the topic whether the user has the rights of an owner, unless
 * that is known; set.proved is true when all have answered yes. */
void worker_prove_rights(smq_worker *worker);

/* Is a command denied that the user might not run when the worker began? */
bool worker_lacked(const smq_worker *worker, const char *denial);

/* --- standby.c; Thread: smq:io --- */

/* The state or the number of owned slots may have changed. */
void worker_watch_standby(smq_worker *worker);

/* Coordination has said why the worker has no slots. */
void worker_report_standby(const smq_worker *worker, enum coord_no_slot why);

/* --- listing.c; Thread: smq:io --- */

/* Look from now on whether the list of all topics has the name of the topic.  Opens listing.timer;
 * its call is to be freed with the worker. */
void worker_listing_open(smq_worker *worker);

/* --- assignment.c; Thread: smq:io --- */

/* Slots may have been gained or lost. */
void worker_watch_assignment(smq_worker *worker);

/* --- health.c; Thread: smq:io --- */

/* Report the worker's part of smq_client_health() from now on. */
void worker_report_health(smq_worker *worker);

/* --- watchdog.c; Thread: smq:io --- */

/* Deliveries are in flight: watch for handlers that take too long. */
void worker_watch_handlers(smq_worker *worker);

#endif
