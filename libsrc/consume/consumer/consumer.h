/* consumer.h - a consumer: it calls handlers on its own threads for the slots that this process
 * owns.  Without handlers it is polled: the deliveries wait in the scheduler until a poll of the
 * application fetches them.
 *
 *   threads.c        the handler threads
 *   standby.c        reporting that the consumer has no slots
 *   assignment.c     reporting how many slots were gained and lost
 *   watchdog.c       handlers that take too long
 *   health.c         what the consumer reports of its health
 *   binding.c        what the topic is bound to
 *   poll_gap.c       what happens when no poll comes
 *   room.c           how many messages a slot claims at once, and how many it may have
 *   consumer_loop.c  the consumer on smq:io: its turn, its definition, coordination, its end
 *   consumer_open.c  reading and binding the topic before the consumer begins
 *   consumer.c       life and options, on threads of the application
 *   polling.c        polls and flushes, on threads of the application
 *
 * Each of them calls only those above it.  Below them are the slots (consume/slot/owned_slot.h) and
 * the scheduler (consume/run/scheduler.h).
 *
 * Thread: as each function says. */
#ifndef CONSUME_CONSUMER_CONSUMER_H
#define CONSUME_CONSUMER_CONSUMER_H

#include <pthread.h>

#include <slotmq/consumer.h>

#include "base/alarms.h"
#include "base/episode.h"
#include "consume/run/scheduler.h"
#include "consume/slot/slot_set.h"
#include "core/core.h"
#include "store/owner.h"

/* --- the functions of the public header; options are complete --- */

smq_status consumer_new(smq_consumer **out, struct core *core, const smq_consumer_options *options,
                        smq_error *err);
smq_status consumer_start(smq_consumer *consumer, smq_error *err);
void consumer_stop(smq_consumer *consumer); /* async-signal-safe */
smq_status consumer_wait(smq_consumer *consumer, int64_t timeout_ms, smq_error *err);
void consumer_free(smq_consumer *consumer);
smq_status consumer_check_process(const smq_consumer *consumer, smq_error *err);

/* Change the limit of unanswered deliveries, and wait until it is changed.  Thread: any but
 * smq:io. */
void consumer_set_max_in_flight(smq_consumer *consumer, int32_t most);

/* Is the consumer polled?  Fails: INVALID, with the name of the call that is not for it. */
smq_status consumer_check_polled(const smq_consumer *consumer, const char *call, smq_error *err);

/* Polled. */
smq_status consumer_poll(smq_delivery **out, size_t *count, smq_consumer *consumer, size_t capacity,
                         int64_t timeout_ms, smq_error *err);
int consumer_fd(const smq_consumer *consumer);
smq_status consumer_flush(smq_consumer *consumer, int64_t timeout_ms, smq_error *err);

/* --- internal --- */

/* Wait for the end of the consumer; false: `timeout_ms` has passed. */
bool consumer_wait_end(smq_consumer *consumer, int64_t timeout_ms);

enum consumer_state {
    CONSUMER_NEW, /* not started, or suspended until the next poll */
    CONSUMER_RUNNING,
    CONSUMER_SUSPENDING, /* no poll came: as STOPPING, and then NEW again */
    CONSUMER_STOPPING,   /* claims no more, drains */
    CONSUMER_ENDED,      /* drained, or ended without */
    CONSUMER_STATES
};

/* May a consumer go from `from` to `to`?  Pure. */
bool consumer_may(enum consumer_state from, enum consumer_state to);

enum { STANDBY_MS = 5000 }; /* longer than the start of a fleet or a move of a slot takes */

/* Since when a consumer has no slots.  Zeroed: it has some, or does not run. */
struct consumer_standby {
    int64_t since_ms;
    bool reported;          /* coordination was asked why */
    bool explained, logged; /* it has said so: `why`; an event tells of it */
    enum coord_no_slot why;
};

/* After how many milliseconds is it to be reported that a consumer is `spare`: it runs and has no
 * slots.  0: now, which is returned once for each time without slots; -1: not at all.  Pure but for
 * `standby`. */
int64_t consumer_standby_wait_ms(struct consumer_standby *standby, bool spare, int64_t now_ms);

/* An assignment is carried out when no slot has changed for ASSIGNMENT_QUIET_MS and none is being
 * taken over or given up.  What lasts longer is reported each ASSIGNMENT_LONGEST_MS. */
enum { ASSIGNMENT_QUIET_MS = 100, ASSIGNMENT_LONGEST_MS = 1000 };

/* What was reported of the slots that were gained and lost.  Zeroed: nothing yet. */
struct consumer_assignment {
    int64_t gained, lost;      /* as they were reported last */
    int64_t seen;              /* gained + lost as they were at the last look */
    int64_t first_ms, last_ms; /* when the changes that are not reported came; 0: there are none */
    int64_t reported_ms;       /* 0: never */
};

/* The slots of a consumer as they are now. */
struct consumer_slots {
    int64_t gained, lost; /* so far */
    bool moving;          /* some are being taken over or given up */
    bool ended;           /* no slot is left, and none will come */
};

/* When is it to be reported how many slots were gained and lost?  A time of now_ms or before: now,
 * and it is noted as reported; INT64_MAX: nothing has changed.  Pure but for `assignment`. */
int64_t consumer_assignment_due_ms(struct consumer_assignment *assignment,
                                   const struct consumer_slots *slots, int64_t now_ms);

/* Each thread may be replaced once while its handler hangs. */
#define CONSUMER_THREADS_MOST(consumer) (2 * (consumer)->threads)

/* Invariants: the state changes in consumer_enter() alone, and set.claiming is true only while it
 * is RUNNING. */
struct smq_consumer {
    struct slot_set set; /* groups of its own */

    /* immutable after consumer_new() */
    unsigned forks; /* by fork_count(), in the process that made it */
    bool polled;
    int32_t threads;            /* polled: the weight of this member */
    int64_t handler_timeout_ms; /* 0: none */

    /* the thread of consumer_start(), then smq:io, then that of consumer_free() */
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
    enum consumer_state state;
    uint32_t generation; /* generation that new tokens have at least */
    bool turning;        /* a turn runs; a turn that is requested during it becomes a part of it */
    struct {
        int64_t reign; /* of the fleet, before it was asked */
        enum store_first bound;
    } first;        /* has a fleet had the topic before this process bound it? */
    bool joined;    /* it has joined coordination, and `left` was not called yet */
    bool disposing; /* consumer_free() waits for the end */
    bool damaged;   /* the loss of topic{T} was reported */
    struct episode denials;
    char denial[SMQ_TEXT_SIZE]; /* the last one, while nothing was allowed since; "": none */
    struct {
        bool refresh, check_binding, fail; /* slots have requested this since the last turn */
    } asked;
    bool refreshing;        /* the definition is being read again */
    bool checking;          /* what the topic is bound to is being read again */
    struct disuse_use *use; /* of a topic that expires, until the consumer has ended */
    struct {
        size_t running;                 /* questions that are not answered yet */
        bool unknown;                   /* one was not answered */
        char missing[STORE_RIGHTS_MAX]; /* what one server says is missing; "": nothing */
    } rights; /* of the user when the consumer began, asked of each server that has slots */
    struct {
        bool held;        /* as of the last look, so the topic is not joined */
        struct alarm due; /* when to look again */
        void (*answered)(smq_consumer *consumer, const struct store_result *result);
    } lease; /* of a process of version 0.2, which has all slots of the topic */
    smq_error failure;
    struct health_source health;
    struct consumer_standby standby;
    struct consumer_assignment assignment;
    struct alarm assignment_due; /* set while a change of the slots is not reported */
    uv_timer_t drain, overdue, standby_timer;
    struct {
        /* immutable after consumer_new() */
        int32_t per_slot; /* unanswered deliveries that a slot may have */
        int64_t gap_ms;
        int descriptor;         /* an eventfd; -1: none */
        struct loop_task back;  /* posted by the first poll of a suspended consumer */
        struct loop_task hurry; /* the end, within request_timeout_ms */
        void (*suspend)(smq_consumer *consumer); /* give up all slots, as no poll has come */
        /* smq:io */
        uv_timer_t gap;
        bool wanted; /* a poll came since the consumer was suspended */
    } poll;          /* of a consumer that is polled */
    struct {
        uv_timer_t timer;
        struct store_call call;
        bool running; /* a look at the list of topics is in progress */
        bool denied;  /* the user may not */
    } listing;
};

/* --- threads.c --- */

/* Start the threads that are not started yet.  Thread: that of consumer_start(). */
smq_status consumer_start_threads(smq_consumer *consumer, smq_error *err);

/* Start one more thread.  Thread: that of consumer_start(), then smq:io. */
smq_status consumer_add_thread(smq_consumer *consumer, smq_error *err);

/* --- consumer_open.c --- */

/* Read the topic, bind it to this client's coordination, and open the consumer on smq:io.  Blocks:
 * request_timeout_ms per round trip, and until the first connection to ZooKeeper. */
smq_status consumer_open_topic(smq_consumer *consumer, smq_error *err);

/* --- consumer_loop.c; Thread: smq:io --- */

/* Initialize the tasks and the callbacks of the slots; takes over a reference of `core`.  Thread:
 * any, before smq:io uses the consumer. */
void consumer_init_loop(smq_consumer *consumer, struct core *core);

/* Register with the link to coordination, and open the handles that have to be closed at the end:
 * timers, the stop signal.  false: this client consumes the topic already. */
bool consumer_open(smq_consumer *consumer);

/* Claim until `most` deliveries are unanswered; 0: no more. */
void consumer_limit(smq_consumer *consumer, int32_t most);

/* --- binding.c; Thread: smq:io --- */

/* Read the topic's binding, unless a read is in progress, and call answered() with the result. */
typedef void binding_answered_fn(smq_consumer *consumer, const struct store_result *result);
void consumer_ask_binding(smq_consumer *consumer, binding_answered_fn *answered);

/* Another process holds the lease of the topic: ask for the binding again in a while. */
void consumer_await_lease(smq_consumer *consumer, binding_answered_fn *answered);

/* The topic is bound to another fleet: may that be this one, under an identity that this process,
 * whose session is lost, has not heard of yet? */
bool consumer_may_have_new_identity(const smq_consumer *consumer,
                                    const struct store_result *result);

/* Fill `err` for a topic that is bound to another coordination, and say what to do; returns its
 * status. */
smq_status consumer_other_fleet(smq_error *err, const smq_consumer *consumer,
                                const struct store_result *result);

/* --- rights.c; Thread: smq:io --- */

/* Ask each server that has slots of the topic whether the user has the rights of an owner, unless
 * that is known; set.proved is true when all have answered yes. */
void consumer_prove_rights(smq_consumer *consumer);

/* Is a command denied that the user might not run when the consumer began? */
bool consumer_lacked(const smq_consumer *consumer, const char *denial);

/* --- standby.c; Thread: smq:io --- */

/* The state or the number of owned slots may have changed. */
void consumer_watch_standby(smq_consumer *consumer);

/* Coordination has said why the consumer has no slots. */
void consumer_report_standby(smq_consumer *consumer, enum coord_no_slot why);

/* Adds to the health that the consumer has no slots, and asks anew why. */
void consumer_add_standby(struct health *health, const smq_consumer *consumer);

/* --- listing.c; Thread: smq:io --- */

/* Look from now on whether the list of all topics has the name of the topic.  Opens listing.timer;
 * its call is to be freed with the consumer. */
void consumer_listing_open(smq_consumer *consumer);

/* --- assignment.c; Thread: smq:io --- */

/* Slots may have been gained or lost. */
void consumer_watch_assignment(smq_consumer *consumer);

/* --- health.c; Thread: smq:io --- */

/* Report the consumer's part of smq_client_health() from now on. */
void consumer_report_health(smq_consumer *consumer);

/* --- poll_gap.c; Thread: smq:io --- */

/* Initialize the tasks of polls.  Thread: that of consumer_new(). */
void consumer_gap_init(smq_consumer *consumer);

/* Open the timer, which counts among the handles of the slots. */
void consumer_gap_open(smq_consumer *consumer);
void consumer_gap_close(smq_consumer *consumer);

/* The consumer runs: expect polls from now on. */
void consumer_gap_begun(smq_consumer *consumer);

/* All slots are given up; a poll that has come since lets the consumer begin again. */
void consumer_gap_suspended(smq_consumer *consumer);

/* --- room.c --- */

/* As the options say; they are complete.  Thread: that of consumer_new(). */
void consumer_set_room(smq_consumer *consumer, const smq_consumer_options *options);

/* Of a consumer that is polled, by the number of slots and max_in_flight.  Thread: that of
 * consumer_new(), then smq:io. */
void consumer_set_polled_room(smq_consumer *consumer);

/* --- watchdog.c; Thread: smq:io --- */

/* Deliveries are in flight: watch for handlers that take too long. */
void consumer_watch_handlers(smq_consumer *consumer);

#endif
