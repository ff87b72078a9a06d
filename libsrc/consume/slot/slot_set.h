/* slot_set.h - what the slots of one topic share in this process, and the callbacks to their
 * consumer.
 *
 * A slot that may have something to do is marked with slot_set_changed().  Every entry from the
 * loop ends with slot_set_turn(), in which all marked slots act (slot_turn.h).  So no slot calls
 * another one, and a slot is freed only in a turn.
 *
 * Thread: smq:io, except for making and freeing a set. */
#ifndef CONSUME_SLOT_SLOT_SET_H
#define CONSUME_SLOT_SLOT_SET_H

#include <sys/queue.h>

#include <uv.h>

#include "base/alarms.h"
#include "base/episode.h"
#include "base/hash.h"
#include "consume/run/delivery.h"
#include "consume/run/scheduler.h"
#include "consume/slot/budget.h"
#include "core/coord_link.h"
#include "core/core.h"
#include "model/gate.h"
#include "model/pace.h"
#include "model/topic.h"
#include "redis/redis.h"
#include "store/consume.h"

struct owned_slot;

TAILQ_HEAD(owned_slot_queue, owned_slot);
LIST_HEAD(owned_slot_list, owned_slot);

/* The callbacks of the slots to their consumer, which notes the call and acts in the turn. */
struct slot_host {
    void (*turn)(void *user);       /* an entry from the loop ends; may free the set */
    void (*outdated)(void *user);   /* a script refused the definition: read it again */
    void (*accepted)(void *user);   /* a script accepts a slot that it refused before */
    void (*superseded)(void *user); /* a slot has an owner with a larger generation */
    void (*allowed)(void *user);    /* Redis has done a call */
    /* Redis denies a right; `had`: this consumer has had it before */
    void (*denied)(void *user, bool had, const char *text);
    void *user;
};

/* A call to Redis for a slot. */
enum slot_call {
    SLOT_CALL_TAKEOVER,
    SLOT_CALL_VACATE,
    SLOT_CALL_CONSUME,
    SLOT_CALL_RENEWAL,
    SLOT_CALLS /* number of calls */
};

/* A call of the slot's present era has ended.  `done`: it succeeded, and its reply was read;
 * otherwise `result` has the outcome. */
typedef void slot_ended_fn(struct owned_slot *slot, enum slot_call call, bool done,
                           const struct store_result *result);

/* Takeovers in progress per server: slots of a server that does not reply do not delay those of
 * others. */
enum { TAKEOVERS_MAX = 256 };

struct takeovers {
    UT_hash_handle hh;
    char server[REDIS_SERVER_MAX]; /* "" if it is not known */
    int32_t running;               /* in progress */
    bool short_of_replicas;        /* the last one did not reach enough of them; reported once */
    struct owned_slot_queue waiting;
};

enum { SLOT_ROOM_MAX = 1000 };

/* The list of its set in which a slot is. */
enum slot_place {
    SLOT_OUT,      /* in none */
    SLOT_CHANGED,  /* it acts in this turn */
    SLOT_TOGETHER, /* its call may leave with those of others */
    SLOT_PLACES
};

/* Invariants: slot_count counts the slots that are not freed; gained - lost is the number of slots
 * that are owned by a token; `joining` counts the slots in SLOT_TOGETHER that do not wait idly;
 * `open` is at most push_slots. */
struct slot_set {
    /* immutable after slot_set_open(), except a consumer's drain_timeout_ms */
    struct core *core;
    struct scheduler *scheduler;
    struct slot_host host;
    slot_ended_fn *ended;
    char name[TOPIC_NAME_MAX + 1];
    bool shared;
    int32_t batch_size; /* messages that a claim takes at most */
    int32_t room;       /* unanswered deliveries that a slot may have, at least batch_size */
    int32_t per_slot;   /* deliveries of a slot that are handled at once, if there are as many keys:
                           polled the option, with handlers the threads */
    int32_t push_slots; /* slots into which sends may push at once */
    char caller[STORE_CALLER_MAX]; /* shared: the name by which the scripts know this set */
    int64_t rate_per_s;
    int64_t drain_timeout_ms;

    /* smq:io */
    struct topic topic;
    char bound[COORD_BINDING_MAX]; /* the topic's binding, as Redis confirmed it last */
    bool claiming;                 /* the consumer runs */
    bool proved;                   /* the user had all rights of an owner when the consumer began */
    bool had[SLOT_CALLS];          /* calls that Redis has done at least once */
    bool subscribed;               /* a channel was subscribed at least once */
    bool abandoned;                /* messages were given up unfinished, since the stop */
    uint32_t reads_confirmed;      /* how many reads of the definition have found the topic */
    int64_t missing_at;            /* since when the topic seems to be deleted; 0: it does not */
    struct owned_slot **slots;     /* by number; NULL: this process does not have the slot */
    int32_t slot_count;
    int32_t owned;        /* slots that are ACTIVE */
    int64_t gained, lost; /* how often slots were, since the set was opened; not in shared topics */
    int32_t open;         /* slots that are open for pushes */
    int64_t unnoticed_ms; /* when a message last came without a notice, by clock_now_ms(); 0: none
                             has */
    struct {
        bool reported; /* the pause of the topic was reported */
        int32_t slots; /* slots that were paused at their last consume call */
    } paused;
    struct budget budget;
    struct delivery_pool pool;
    struct episode ticks_fail;
    struct takeovers *takeovers; /* by server */
    struct owned_slot_queue places[SLOT_PLACES];
    int32_t joining;
    struct pace pace;
    struct gates gates; /* of consume calls */
    struct alarm alarm; /* for what does not concern one slot alone: when slots of SLOT_TOGETHER may
                           call, and throttled ones may claim */
    int64_t now_us;     /* when this turn began */
    bool awaited;       /* the application flushes: no call of this turn waits */
    struct owned_slot_queue throttled; /* slots that wait for room in the budget, or for a rate */
    struct owned_slot_list busy,
        leaving; /* slots with deliveries in flight; slots that wait for a handler */
    uv_timer_t renewal;
    uv_prepare_t wake;
    int handles_open;        /* number of libuv handles of the set and its consumer */
    int32_t turns_unchecked; /* turns since the sums over all slots were checked */
};

/* Initialize a set; the caller sets `name`, the options and `queue`. */
void slot_set_init(struct slot_set *set, struct core *core, const struct slot_host *host,
                   slot_ended_fn *ended);

/* Free the memory of a set that smq:io does not use any more.  Thread: any. */
void slot_set_fini(struct slot_set *set);

/* Allocate the slots of set->topic, and open the handles on the loop. */
void slot_set_open(struct slot_set *set);

/* Close the handles; slot_set_handle_closed() follows for each. */
void slot_set_close(struct slot_set *set);

/* A handle that handles_open counts was closed.  May free the set. */
void slot_set_handle_closed(struct slot_set *set);

/* End an entry from the loop.  May free slots and the set. */
void slot_set_turn(struct slot_set *set);

/* Mark the slot: it acts in this turn. */
void slot_set_changed(struct owned_slot *slot);

/* Move the slot to this list: the only function that changes its place.  While it is in
 * SLOT_TOGETHER, what it waits for does not change. */
void slot_set_move(struct owned_slot *slot, enum slot_place place);

/* Mark the slots whose calls may leave in this turn. */
void slot_set_begin_turn(struct slot_set *set);

/* A call leaves now: those of SLOT_TOGETHER leave with it, in one flush. */
void slot_set_flush(struct slot_set *set);

/* Mark the slots that may call, as this gate has places now. */
void slot_set_serve(const struct gate *gate);

/* Has a call left in this turn? */
bool slot_set_has_flushed(const struct slot_set *set);

/* Do slots wait for room whose turn it is before that of a slot which does not: those of this
 * consumer, or of others under its limit? */
bool slot_set_is_contended(const struct slot_set *set);

/* May throttled slots claim: is it time for calls, is there room, and is it this consumer's turn?
 * Earlier, all of them would compete for the same free places. */
bool slot_set_may_feed(const struct slot_set *set);

/* Schedule a turn for the earliest time at which a call that waits may leave, or a throttled slot
 * may claim. */
void slot_set_await(struct slot_set *set);

/* Wake the handler threads for deliveries that were added, once, before the loop sleeps. */
void slot_set_wake_handlers(struct slot_set *set);

/* Do failed messages hold up those behind them? */
bool slot_set_is_strict(const struct slot_set *set);

/* The number of owned slots has changed by `change`. */
void slot_set_owns(struct slot_set *set, int32_t change);

/* A rate limit or the number of slots has changed. */
void slot_set_update_rates(struct slot_set *set);

/* A consume call found its slot paused, or not.  Reports the first paused slot, and reports when no
 * slot is paused any more. */
void slot_set_see_pause(struct owned_slot *slot, bool paused);

/* The slot has ended: it no longer counts as paused. */
void slot_set_forget_pause(struct owned_slot *slot);

#endif
