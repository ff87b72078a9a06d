/* keys.h - the keys of a queue: which deliveries of it may run beside each other.
 *
 * Deliveries of one key run one after another, in the order in which they were added; those of
 * different keys may run at once, and begin in that order as far as their keys let them.
 *
 * Thread: any.  The lock of the scheduler is held, except where a function says otherwise. */
#ifndef CONSUME_RUN_KEYS_H
#define CONSUME_RUN_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "consume/run/delivery.h"

struct run_queue;

TAILQ_HEAD(run_keys, run_key);

/* Invariants: `ready` says whether the key is in the queue's list of that name, and is what
 * run_key_may_begin() says, except while a function of this folder changes the key.  A key exists
 * while a delivery of it waits, is begun or holds it, or a call has one. */
struct run_key {
    struct delivery_list waiting; /* deliveries that are not begun */
    size_t begun;                 /* deliveries that are begun, and not answered */
    size_t called;                /* deliveries of a handler call that has not returned */
    size_t held;                  /* deliveries whose answers hold it: see scheduler.h */
    bool ready;
    uint64_t number; /* of the first that waited when it became ready; orders the list */
    struct run_queue *queue;
    TAILQ_ENTRY(run_key) ready_link;
    TAILQ_ENTRY(run_key) link; /* in the queue's keys, or among the spare ones */
    struct buf name;           /* the queue's address, and the key's bytes */
    UT_hash_handle hh;
};

/* What the keys of one scheduler share. */
struct run_key_table {
    struct run_key *keys;
    struct buf name; /* of the key that was looked for last */
    struct run_keys spare;
    size_t spare_count;
};

void run_key_table_init(struct run_key_table *table);
void run_key_table_fini(struct run_key_table *table);

/* May the first waiting delivery of the key be begun, as far as the key knows?  Pure. */
bool run_key_may_begin(const struct run_key *key);

/* Note in deliveries that are to be added what run_keys_add() needs.  The lock need not be held. */
void run_keys_prepare(struct delivery_list *list);

/* Let the deliveries wait, each behind the others of its key; the list is empty afterwards. */
void run_keys_add(struct run_key_table *table, struct run_queue *queue, struct delivery_list *list);

/* The key has changed: put it into the queue's list of ready keys or take it out, or free it if it
 * is not needed any more. */
void run_key_update(struct run_key_table *table, struct run_key *key);

/* Move the deliveries of the key that wait to the end of `out`, in their order; or those of all
 * keys of the queue. */
void run_key_recall(struct run_key_table *table, struct run_key *key, struct delivery_list *out);
void run_keys_recall(struct run_key_table *table, struct run_queue *queue,
                     struct delivery_list *out);

/* The key of a delivery that does not wait; NULL: it does not exist. */
struct run_key *run_key_look_up(struct run_key_table *table, struct run_queue *queue,
                                const smq_delivery *delivery);

/* The answer of this delivery, which is not begun, holds its key, which is made if need be. */
void run_key_hold(struct run_key_table *table, struct run_queue *queue, smq_delivery *delivery);

/* Append the keys of the queue of which deliveries wait and none may be begun, as LEN:KEY,
 * PASSED_MAX of them at most. */
void run_keys_append_blocked(const struct run_queue *queue, struct buf *out);

/* Remove a delivery from those of its key that wait; false: it is not among them. */
bool run_key_remove(struct run_key_table *table, smq_delivery *delivery);

#endif
