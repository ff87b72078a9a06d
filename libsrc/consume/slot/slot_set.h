/* slot_set.h - what the slots of one topic at this process share, and whom they tell.
 *
 * A slot that may have something to do is marked with slot_set_changed(); every entry from the loop
 * ends with slot_set_turn(), in which all marked slots are looked at (slot_turn.h).  So no slot
 * calls another one, and a slot is freed in a turn only.
 *
 * Thread: smq:io, but for the making and the end. */
#ifndef CONSUME_SLOT_SLOT_SET_H
#define CONSUME_SLOT_SLOT_SET_H

#include <sys/queue.h>

#include <uv.h>

#include "base/hash.h"
#include "consume/run/delivery.h"
#include "consume/run/run_queue.h"
#include "consume/slot/budget.h"
#include "core/coord_link.h"
#include "core/core.h"
#include "model/topic.h"
#include "redis/redis.h"
#include "store/store.h"

struct owned_slot;

TAILQ_HEAD(owned_slot_queue, owned_slot);
STAILQ_HEAD(owned_slot_batch, owned_slot);
LIST_HEAD(owned_slot_list, owned_slot);

/* Whom the slots tell: their worker, which takes note and acts in the turn. */
struct slot_host {
    void (*turn)(void *user);       /* an entry from the loop ends; may free the set */
    void (*outdated)(void *user);   /* a script refused the definition: it is to be read again */
    void (*superseded)(void *user); /* a slot has an owner of a larger generation */
    void (*denied)(void *user, const char *text); /* the topic cannot be consumed any more */
    void *user;
};

/* A call to Redis for a slot. */
enum slot_call { SLOT_CALL_TAKEOVER, SLOT_CALL_VACATE, SLOT_CALL_CONSUME, SLOT_CALL_RENEWAL };

/* A call of the slot's present era has ended.  `done`: it is complete, and its answer was read; for
 * any other call `result` says what came of it. */
typedef void slot_ended_fn(struct owned_slot *slot, enum slot_call call, bool done,
                           const struct store_result *result);

/* Takeovers of slots that one server has, so many at a time: a server that does not answer keeps
 * back no others. */
enum { TAKEOVERS_MAX = 256 };

struct takeovers {
    UT_hash_handle hh;
    char server[REDIS_SERVER_MAX]; /* "" when it is not known */
    int32_t running;               /* on their way */
    struct owned_slot_queue waiting;
};

/* Invariants: slot_count counts the slots that are not freed; each slot is in `changed` at most
 * once. */
struct slot_set {
    /* immutable after slot_set_open(), but for a consumer's drain_timeout_ms */
    struct core *core;
    struct run_queue *queue;
    struct slot_host host;
    slot_ended_fn *ended;
    char name[TOPIC_NAME_MAX + 1];
    bool shared;
    int32_t batch_size;
    int32_t per_slot; /* of a consumer: a slot may have this many unanswered ones; else 0 */
    int64_t rate_per_s;
    int64_t drain_timeout_ms;

    /* smq:io */
    struct topic topic;
    char bound[COORD_BINDING_MAX]; /* what the topic is bound to, as Redis confirmed last */
    bool claiming;                 /* the worker runs */
    bool abandoned;                /* something was given up unfinished */
    uint32_t reads_confirmed;      /* reads of the definition that found the topic, so far */
    int64_t missing_at;            /* since when the topic seems to be deleted; 0: it does not */
    struct owned_slot **slots;     /* by number; NULL: not ours */
    int32_t slot_count;
    int32_t owned; /* slots that are ACTIVE */
    struct {
        bool told;     /* that the topic is paused */
        int32_t slots; /* that were paused when they looked last */
    } paused;
    struct budget budget;
    struct delivery_pool pool;
    struct takeovers *takeovers; /* by server */
    struct owned_slot_batch changed;
    struct owned_slot_queue starved;      /* they wait for room in the budget */
    struct owned_slot_list busy, leaving; /* with deliveries in flight; waiting for a handler */
    uv_timer_t renewal, credit;
    uv_prepare_t wake;
    int handles_open; /* libuv handles of the set, its slots and its worker */
};

/* Fill what every set needs; `name`, the options and `queue` are the caller's to set. */
void slot_set_init(struct slot_set *set, struct core *core, const struct slot_host *host,
                   slot_ended_fn *ended);

/* Free the memory; nothing of it is known to smq:io any more.  Thread: any. */
void slot_set_fini(struct slot_set *set);

/* Make place for the slots of set->topic, and the handles on the loop. */
void slot_set_open(struct slot_set *set);

/* Close the handles; slot_set_handle_closed() follows for each. */
void slot_set_close(struct slot_set *set);

/* A handle that handles_open counts is closed.  May free the set. */
void slot_set_handle_closed(struct slot_set *set);

/* The entry from the loop ends here.  May free slots and the set. */
void slot_set_turn(struct slot_set *set);

/* Look at the slot in this turn. */
void slot_set_changed(struct slot_set *set, struct owned_slot *slot);

/* Wake the handler threads for what was added, once, when the loop has nothing more to do. */
void slot_set_wake_handlers(struct slot_set *set);

/* Do failed messages keep back what stands behind them? */
bool slot_set_is_strict(const struct slot_set *set);

/* The number of slots that it owns has changed. */
void slot_set_owns(struct slot_set *set, int32_t change);

/* A rate, or the number of slots, has changed. */
void slot_set_update_rates(struct slot_set *set);

/* Some slots may be starved for want of rate only: a turn follows as soon as it is there. */
void slot_set_await_credit(struct slot_set *set);

/* A consume has found its slot paused, or not: say it once, and once that no slot is any more. */
void slot_set_see_pause(struct owned_slot *slot, bool paused);

/* A slot that ends says nothing about the topic. */
void slot_set_forget_pause(struct owned_slot *slot);

#endif
