/* delivery.h - a claimed message on its way from a slot to a handler and back as an answer.
 *
 * Those of usual size are kept in a pool of their worker when they have ended: a message in the
 * steady state allocates nothing.
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
#include "store/store.h"

struct run_lane;

/* The queue as its deliveries know it: it outlives them.  One reference of its maker, and one of
 * each delivery. */
struct delivery_origin {
    atomic_int references;
    pid_t pid;
    char *topic;
    void (*free)(struct delivery_origin *origin); /* the last reference has ended */
};

/* Who may still answer. */
enum delivery_answered {
    DELIVERY_OPEN,     /* whoever must answer it */
    DELIVERY_ANSWERED, /* nobody: that was done */
    DELIVERY_OVERDUE   /* nobody: its time is over, and smq:io has written the answer */
};

/* Invariant: `answered` leaves OPEN once; who changed it alone writes the answer, and then gives
 * the delivery to the queue.  The late answer of an overdue one makes it ANSWERED, and changes
 * nothing else.  `lane` is NULL as soon as the slot has dropped it.
 *
 * References: one of the slot while it has the delivery in flight, one of whoever must answer it
 * (un-begun: the lane; begun: the user; answered: the queue, then the slot).  A call of a handler
 * lives on that of the answer which it waits for; it gets one of its own when somebody else
 * answers. */
struct smq_delivery {
    struct delivery_origin *origin;
    struct run_lane *lane; /* guarded by the queue's lock */
    STAILQ_ENTRY(smq_delivery)
    link; /* of the lane, the queue's or the slot's answers, the pool */
    TAILQ_ENTRY(smq_delivery) in_flight_link; /* smq:io */
    atomic_int references;
    atomic_int answered;             /* enum delivery_answered */
    atomic_int standing;             /* what smq_delivery_check() says while the membership lasts */
    _Atomic int64_t leased_until_ms; /* by clock_now_ms(), counted from when it was asked for */
    int held;                        /* smq:io: references of its slot */
    bool begun;                      /* the queue's lock: counted in the lane */
    bool holds;                      /* the same: its answer holds the lane */
    bool called;                     /* the same: a call of a handler has it, without a reference */
    bool in_flight, unanswered;      /* smq:io: how its slot counts it */
    bool unseen;                     /* smq:io: it goes back before a handler has seen it */
    bool usual;                      /* its size is that of the pool's */
    struct {
        enum store_answer_op op;
        int64_t delay_ms;
        char *reason; /* NULL: none */
        size_t group; /* so many answers, itself the first, belong together; 0: it alone */
    } answer;
    int64_t claimed_us; /* smq:io: when it came, by clock_now_us() */
    int64_t leased_ms;  /* smq:io: when its lease was asked for last */
    size_t entry_len;
    struct attempts attempts;
    int32_t max_retries; /* its own limit; -1: the topic's */

    /* what most deliveries do not need */
    int64_t begun_ms; /* the queue's lock: when, if the queue has a handler time-out */
    TAILQ_ENTRY(smq_delivery) begun_link;
    uint64_t flush_number; /* the same: of its answer, while a flush waits for it; 0: none does */
    TAILQ_ENTRY(smq_delivery) flush_link;

    smq_message_info info; /* points into what follows, and to the name of the topic */
    char token[TOKEN_TEXT_LEN + 1];
    char entry[]; /* as it was claimed; layout keyed: then the body */
};

STAILQ_HEAD(delivery_list, smq_delivery);
TAILQ_HEAD(delivery_in_flight, smq_delivery);
TAILQ_HEAD(delivery_begun, smq_delivery);

/* Deliveries of one queue that have ended, to be used again.  Thread: smq:io. */
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

/* Make a delivery of what was claimed; NULL: its entry is none.  It has two references, and holds
 * one of `origin`.  `pool`: NULL for none.  Thread: smq:io. */
smq_delivery *delivery_new(struct delivery_pool *pool, struct delivery_origin *origin,
                           struct run_lane *lane, const struct topic *topic, int32_t slot,
                           const char *token, const struct store_claimed *claimed);

/* End the references of its slot; the last one gives it to the pool.  Thread: smq:io. */
void delivery_leave_flight(smq_delivery *delivery, struct delivery_pool *pool);

/* Free what is in the pool.  Thread: any, when smq:io does not know it any more. */
void delivery_pool_fini(struct delivery_pool *pool);

/* Thread: any. */
void delivery_ref(smq_delivery *delivery);
void delivery_unref(smq_delivery *delivery);

/* Tell how it stands: CLOSED, or LEASE_LOST or FENCED, which then stays; UNKNOWN: nobody knows
 * whether its answer is stored.  Thread: smq:io. */
void delivery_tell(smq_delivery *delivery, smq_status standing);
smq_status delivery_standing(const smq_delivery *delivery);

/* Does this standing say that an answer comes too late? */
bool delivery_is_late(smq_status standing);

/* Its lease was asked for at `asked_ms`, and granted.  Thread: smq:io. */
void delivery_leased(smq_delivery *delivery, int64_t asked_ms, int64_t lease_ms);

/* SMQ_FORKED in a child of fork().  Thread: any. */
smq_status delivery_check_process(const smq_delivery *delivery, smq_error *err);

/* The failures it may still have, by its own limit or the topic's. */
int32_t delivery_retries_left(const smq_delivery *delivery, const struct topic *topic);

/* Does this answer let what comes behind it in its slot go on?  Not so RETRY, RELEASE and HUNG:
 * with them the message comes back. */
bool delivery_is_over(enum store_answer_op op);

/* Its id for people: hex-escaped, cut at 64 bytes. */
enum { DELIVERY_ID_MAX = 65 };
void delivery_id(char out[DELIVERY_ID_MAX], const smq_delivery *delivery);

#endif
