/* producer_state.h - what a producer knows of its sends, and the functions that change it.
 *
 * Thread: any.  The lock of the producer is held, except where a function says otherwise. */
#ifndef PRODUCE_PRODUCER_STATE_H
#define PRODUCE_PRODUCER_STATE_H

#include <pthread.h>

#include "base/ready.h"
#include "produce/outboxes.h"
#include "produce/producer.h"
#include "produce/send.h"

TAILQ_HEAD(pending_list, send);

/* Invariants: `all` holds every accepted send until its receipt was given or is kept, in the order
 * of their numbers; `count` and `bytes` count the asynchronous ones among them, and those in
 * `kept`; while `giving` is set the task `give` is posted or runs, and holds a reference. */
struct smq_producer {
    /* immutable after producer_new() */
    struct core *core;
    int64_t send_timeout_ms, full_timeout_ms, max_count, max_bytes;
    struct outboxes_options options;
    bool polled; /* receipts without a callback are kept */
    smq_room_fn *room;
    void *room_user;

    /* any thread */
    struct loop_task take, flush, close; /* they run on smq:io */
    struct loop_task give;               /* it runs on smq:call */

    /* smq:io */
    struct outboxes *outboxes;

    /* guarded by state.lock */
    struct {
        pthread_mutex_t lock;
        pthread_cond_t room, progress, gettable; /* on CLOCK_MONOTONIC */
        struct send_list inbox;                  /* for smq:io */
        struct send_list ended;                  /* for smq:call */
        struct send_list kept;                   /* for polls */
        struct send_list taken; /* failed, of the last poll, whose texts are valid */
        struct ready ready;     /* a poll would return at once */
        struct pending_list all;
        uint64_t last_number;
        int64_t count, bytes;
        int64_t refused;  /* bytes of the least send that was refused for want of room since the
                             application was told that there is room; -1: none */
        uint64_t awaited; /* `progress` is signalled when no send up to this number is pending */
        int references, room_sleepers;
        bool giving, closing, closed;
    } state;
};

void producer_state_lock(smq_producer *producer);
void producer_state_unlock(smq_producer *producer);

/* Wake the threads that wait for `progress`. */
void producer_state_progress(smq_producer *producer);

/* Returns false when the time has passed.  `deadline_ms` is by clock_now_ms(), or INT64_MAX. */
bool producer_state_wait(smq_producer *producer, pthread_cond_t *cond, int64_t deadline_ms);

/* Is a send pending whose number is not larger? */
bool producer_state_pending(const smq_producer *producer, uint64_t number);

/* Sleep until the sends up to `number` may have changed. */
bool producer_state_await(smq_producer *producer, uint64_t number, int64_t deadline_ms);

/* When a time-out that begins now has passed, by clock_now_ms().  The lock need not be held. */
int64_t producer_deadline(int64_t timeout_ms);

/* What the send counts against max_pending_bytes: an id that the library made does not.  The lock
 * need not be held. */
int64_t producer_send_bytes(const struct send *send);

/* Accept a send; the caller calls producer_state_hand_over() after the last one. */
void producer_state_add(smq_producer *producer, struct send *send);

/* The lock is held on entry, and released before smq:io wakes, which needs it first of all. */
void producer_state_hand_over(smq_producer *producer);

/* The send does not count against the bounds any more. */
void producer_state_make_room(smq_producer *producer, const struct send *send);

/* Nobody waits for the end of the send any more. */
void producer_state_end(smq_producer *producer, struct send *send);

/* The receipt of the send was given, or is about to be given to a waiting call. */
void producer_state_remove(smq_producer *producer, struct send *send);

/* Is there room for a send of these bytes? */
bool producer_has_room(const smq_producer *producer, int64_t bytes);

/* Must the application be told that there is room? */
bool producer_state_tells_room(const smq_producer *producer);

/* As producer_state_tells_room(); it counts as told. */
bool producer_state_tell_room(smq_producer *producer);

/* Would a poll return at once? */
bool producer_state_gettable(const smq_producer *producer);

/* Wake those who wait for something to poll, if there is something now. */
void producer_state_show(smq_producer *producer);

/* Drop a reference; the last one frees everything.  The lock is held on entry, and released. */
void producer_state_unref(smq_producer *producer);

#endif
