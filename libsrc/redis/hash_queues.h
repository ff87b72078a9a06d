/* hash_queues.h - the requests of one hash slot, in their order; and which queue may send.
 *
 * There is one queue for each hash slot that has requests, one for those that are apart, and two
 * more for each number of replicas; every command without a key has a queue of its own.  At most
 * one request of a queue is in flight, so the order of the queue survives every redirect and
 * repeat.
 *
 * Thread: smq:io. */
#ifndef REDIS_HASH_QUEUES_H
#define REDIS_HASH_QUEUES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <uv.h>

#include "base/hash.h"
#include "redis/context.h"
#include "redis/states.h"

TAILQ_HEAD(hash_queue_list, hash_queue);

/* Embedded in a request. */
struct hash_queue_item {
    struct hash_queue *queue;
    TAILQ_ENTRY(hash_queue_item) link;
};

/* Invariants: `place` changes in hash_queue_move() alone; `list`, which contains `link`, belongs to
 * the place, and is NULL when SENT.  `sent` is not NULL exactly when SENT; in every other place the
 * queue has waiting items, and without items it is freed. */
struct hash_queue {
    /* made from the next two fields and whether its requests are apart; or the number of one
     * command without a key */
    int64_t number;
    int32_t hash_slot; /* or REDIS_ANY_NODE */
    int replicas;
    struct hash_queues *all;
    enum hash_queue_place place;
    struct hash_queue_list *list;
    TAILQ_ENTRY(hash_queue) link;
    TAILQ_HEAD(, hash_queue_item) waiting;
    struct hash_queue_item *sent; /* NULL: none is in flight */
    int64_t until_ms;             /* PAUSED */
    UT_hash_handle hh;
};

struct hash_queues_listener {
    /* Send the queue's first request, or end it, or have the queue wait. */
    void (*send)(struct hash_queue *queue);
    /* send() was called for all queues that were READY when this turn began. */
    void (*turned)(void *user);
    void *user;
};

struct hash_queues {
    struct context *context;
    struct hash_queues_listener listener;
    struct hash_queue *by_number;
    struct hash_queue_list ready, unrouted, paused;
    uint64_t next_any;      /* the number of the next command without a key */
    uv_idle_t turn;         /* runs while there are READY queues */
    uv_timer_t pause_timer; /* ticks while there are PAUSED queues */
};

void hash_queues_init(struct hash_queues *queues, struct context *context,
                      const struct hash_queues_listener *listener);

/* Append an item to the queue of `hash_slot`, or REDIS_ANY_NODE, `replicas` and `apart`. */
void hash_queues_add(struct hash_queues *queues, struct hash_queue_item *item, int32_t hash_slot,
                     int replicas, bool apart);

/* Remove an item that has ended, waiting or in flight.  Then the next item can be sent; if there is
 * none the queue is freed. */
void hash_queue_remove(struct hash_queue_item *item);

/* The first item is in flight. */
void hash_queue_send_first(struct hash_queue *queue);

/* An item in flight was not executed: put it back in front of its queue, which then must be made
 * READY or PAUSED. */
void hash_queue_put_back(struct hash_queue_item *item);

void hash_queue_make_ready(struct hash_queue *queue);

/* Pause for `ms`. */
void hash_queue_pause(struct hash_queue *queue, int64_t ms);

/* Wait for a slot map, until hash_queues_make_ready() of queues->unrouted. */
void hash_queue_await_route(struct hash_queue *queue);

/* Wait in the list of a node, until hash_queues_make_ready() of that list. */
void hash_queue_stall(struct hash_queue *queue, struct hash_queue_list *stalled);

/* Make all queues of a list READY. */
void hash_queues_make_ready(struct hash_queue_list *list);

/* The client closes: end all pauses, and call turned() even if no queue is READY. */
void hash_queues_stop(struct hash_queues *queues);

#endif
