/* delivery.h - a claimed message, on its way from a slot to a handler, and back as an answer.
 *
 * Deliveries of usual size return to a pool of their consumer when they have ended, so in the
 * steady state a message allocates nothing.
 *
 * Thread: as each function says. */
#ifndef CONSUME_RUN_DELIVERY_H
#define CONSUME_RUN_DELIVERY_H

#include <stdatomic.h>
#include <sys/queue.h>

#include <slotmq/delivery.h>

#include "model/entry.h"
#include "model/token.h"
#include "model/topic.h"
#include "store/consume.h"

struct run_call;
struct run_key;
struct run_queue;

/* The part of a scheduler that its deliveries refer to; it lives as long as they do.  Its maker
 * holds one reference, and each delivery another. */
struct delivery_origin {
    atomic_int references;
    unsigned forks; /* by fork_count(), in the process that made it */
    char *topic;
    void (*free)(struct delivery_origin *origin); /* called when the last reference was dropped */
};

/* Whether a delivery may still be answered. */
enum delivery_answered {
    DELIVERY_OPEN,     /* the handler or poller still has to answer it */
    DELIVERY_ANSWERED, /* it was answered */
    DELIVERY_OVERDUE   /* its handler time-out has expired, and smq:io answered instead */
};

/* Invariants: `answered` leaves OPEN once; the thread that changes it is the only one to write the
 * answer, and then passes the delivery to the scheduler.  A late answer of an overdue delivery sets
 * it to ANSWERED and changes nothing else.  `queue` is NULL once the slot has dropped the delivery.
 *
 * References: the slot holds one while the delivery is in flight.  Another one belongs to the part
 * that must answer it: to the queue before a handler or poll has begun it, to the application after
 * that, and once it is answered to the scheduler, then to the slot.  A call of a handler has no
 * reference of its own while it waits for its answer; it gets one when another thread answers. */
struct smq_delivery {
    struct delivery_origin *origin;
    struct run_queue *queue; /* guarded by the scheduler's lock */
    struct run_key *key;   /* scheduler's lock: while it waits, is begun or holds it; else it may be
                              gone */
    struct run_call *call; /* scheduler's lock: the handler call that has it, without a reference */
    STAILQ_ENTRY(smq_delivery)
    link; /* in the queue, in the answers of the scheduler or slot, or in the pool */
    TAILQ_ENTRY(smq_delivery) in_flight_link; /* smq:io */
    atomic_int references;
    atomic_int answered;             /* enum delivery_answered */
    atomic_int validity;             /* smq_status: whether an answer still counts */
    _Atomic int64_t leased_until_ms; /* by clock_now_ms(), from when the lease was requested */
    int held;                        /* smq:io: number of its slot's references */
    bool begun;                      /* scheduler's lock: counted in queue->begun */
    bool holds;                      /* scheduler's lock: its answer holds its key */
    bool in_flight, unanswered;      /* smq:io: whether its slot counts it as such */
    bool unseen;                     /* smq:io: it is requeued and no handler saw it */
    bool usual;                      /* it has the size of the pool's deliveries */
    struct {
        enum store_answer_op op;
        int64_t delay_ms;
        char *reason; /* NULL: no reason */
        size_t group; /* number of answers in the group that this one begins; 0: no group */
    } answer;
    int64_t claimed_us; /* smq:io: when it was claimed, by clock_now_us() */
    int64_t begun_us;   /* when it was begun last; scheduler's lock until it is answered */
    int64_t leased_ms;  /* smq:io: when its lease was last requested */
    size_t entry_len;
    uint32_t key_hash; /* of the message's key */
    uint64_t number;   /* scheduler's lock: in its queue, in the order in which they were added */
    struct attempts attempts;
    int32_t max_retries; /* limit of the message; -1: that of the topic */

    /* fields that most deliveries do not use */
    TAILQ_ENTRY(smq_delivery) begun_link;
    uint64_t flush_number; /* scheduler's lock: number of its answer while flushes wait for it; 0:
                              none does */
    TAILQ_ENTRY(smq_delivery) flush_link;
    void *span; /* of the hooks, from begin to end */

    smq_header *headers;   /* of the message, which point into `entry`; NULL: none */
    smq_message_info info; /* points into `entry` and to the name of the topic */
    char token[TOKEN_TEXT_LEN + 1];
    /* the entry as it was claimed, in layout keyed followed by the headers and the body */
    char entry[];
};

STAILQ_HEAD(delivery_list, smq_delivery);
TAILQ_HEAD(delivery_in_flight, smq_delivery);
TAILQ_HEAD(delivery_begun, smq_delivery);

/* Ended deliveries of one scheduler, to be reused.  Thread: smq:io. */
struct delivery_pool {
    struct delivery_list spare; /* each holds a reference of the origin */
    size_t count;
};

/* `topic` is copied. */
void delivery_origin_init(struct delivery_origin *origin, const char *topic,
                          void (*free)(struct delivery_origin *origin));
void delivery_origin_fini(struct delivery_origin *origin);

/* Thread: any. */
void delivery_origin_unref(struct delivery_origin *origin);

void delivery_pool_init(struct delivery_pool *pool);

/* Make a delivery of a claimed message; NULL if its entry cannot be read.  It starts with two
 * references, and holds one of `origin`.  `pool` may be NULL.  Thread: smq:io. */
smq_delivery *delivery_new(struct delivery_pool *pool, struct delivery_origin *origin,
                           struct run_queue *queue, const struct topic *topic, int32_t slot,
                           const char *token, const struct store_claimed *claimed);

/* Drop the slot's references; the last reference returns the delivery to the pool.  Thread:
 * smq:io. */
void delivery_leave_flight(smq_delivery *delivery, struct delivery_pool *pool);

/* Free the deliveries in the pool.  Thread: any, once smq:io does not use the pool any more. */
void delivery_pool_fini(struct delivery_pool *pool);

/* Thread: any. */
void delivery_ref(smq_delivery *delivery);
void delivery_unref(smq_delivery *delivery);

/* Set whether an answer still counts: CLOSED (it does, but the consumer stops), LEASE_LOST or
 * FENCED (it does not, and this is final), UNKNOWN (it is not known whether the answer is stored).
 * Thread: smq:io. */
void delivery_set_validity(smq_delivery *delivery, smq_status validity);
smq_status delivery_validity(const smq_delivery *delivery);

/* Does an answer come too late? */
bool delivery_is_late(smq_status validity);

/* The lease that was requested at `asked_ms` was granted.  Thread: smq:io. */
void delivery_leased(smq_delivery *delivery, int64_t asked_ms, int64_t lease_ms);

/* Returns SMQ_FORKED in a child of fork().  Thread: any. */
smq_status delivery_check_process(const smq_delivery *delivery, smq_error *err);

/* How many times the message may still fail, by its own limit or that of the topic. */
int32_t delivery_retries_left(const smq_delivery *delivery, const struct topic *topic);

/* Does this answer end the delivery's message?  RETRY, RELEASE and HUNG do not: they requeue it. */
bool delivery_op_is_final(enum store_answer_op op);

/* The id of the message for people: hex-escaped, cut at 64 bytes. */
enum { DELIVERY_ID_MAX = 65 };
void delivery_id(char out[DELIVERY_ID_MAX], const smq_delivery *delivery);

#endif
