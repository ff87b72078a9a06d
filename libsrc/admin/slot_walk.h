/* slot_walk.h - the slots of a topic looked at, many at once.
 *
 * Thread: the caller's. */
#ifndef ADMIN_SLOT_WALK_H
#define ADMIN_SLOT_WALK_H

#include "admin/fanout.h"
#include "store/store.h"

/* A run of slots of one topic that is looked at. */
struct slot_walk {
    struct core *core;
    struct topic topic;
    int32_t first; /* slot number of looks[0] */
    int32_t count;
    struct store_look *looks; /* zero: see faults */
    struct slot_walk_fault *faults;
    int32_t good, broken, refused; /* of all slots looked at; of this run */
    smq_error why;                 /* the first fault */
};

/* Why nothing is known of a slot; status OK: something is. */
struct slot_walk_fault {
    smq_status status; /* DAMAGED, UNAVAILABLE, TIMED_OUT, UNKNOWN */
    char text[160];
};

/* Slots were left out: the first of them, and how many more.  OK: none. */
smq_status slot_walk_faults(const struct slot_walk *walk, smq_error *err);

/* Read the definition.  Fails: INVALID (the name), NO_TOPIC, ... */
smq_status slot_walk_begin(struct slot_walk *walk, struct core *core, const char *topic,
                           smq_error *err);
void slot_walk_end(struct slot_walk *walk);

/* Look at the slots from `first` to before `end`, and call `each` for every one on the caller's
 * thread; it may set *more to false, which ends it. */
typedef smq_status slot_walk_fn(const struct slot_walk *walk, int32_t index, bool *more, void *user,
                                smq_error *err);
smq_status slot_walk_visit(struct slot_walk *walk, int32_t first, int32_t end, slot_walk_fn *each,
                           void *user, smq_error *err);

#endif
