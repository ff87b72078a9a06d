/* slot_walk.h - reading the stats of the slots of a topic, many at once.
 *
 * Thread: the caller's. */
#ifndef ADMIN_SLOT_WALK_H
#define ADMIN_SLOT_WALK_H

#include "admin/fanout.h"
#include "store/slot.h"

/* A range of slots of one topic that is read at once. */
struct slot_walk {
    struct core *core;
    struct topic topic;
    int32_t first; /* number of the slot in looks[0] */
    int32_t count;
    struct store_inspected *looks; /* zeroed for slots with a fault */
    struct slot_walk_fault *faults;
    int32_t good, broken, refused; /* of all slots read so far; `refused` of this range */
    smq_error why;                 /* the first fault */
    bool begun;                    /* slot_walk_read_first() has read the first slots ... */
    smq_error begun_err;           /* ... and failed so, or SMQ_OK */
};

/* Why a slot could not be read; status OK: it was. */
struct slot_walk_fault {
    smq_status status; /* DAMAGED, UNAVAILABLE, TIMED_OUT, UNKNOWN */
    char text[160];
};

/* Report the slots that were left out: the first of them, and how many more.  Returns OK if there
 * are none. */
smq_status slot_walk_faults(const struct slot_walk *walk, smq_error *err);

/* Read the definition of the topic.  Fails: INVALID (the name), NO_TOPIC and others. */
smq_status slot_walk_begin(struct slot_walk *walk, struct core *core, const char *topic,
                           smq_error *err);
void slot_walk_end(struct slot_walk *walk);

/* Begin a walk with a definition that was read before. */
void slot_walk_init(struct slot_walk *walk, struct core *core, const struct topic *topic);

/* The masters of slots that were asked for; zeroed: none.  Only smq:io changes it. */
enum { SLOT_WALK_MASTERS_MAX = 256 };
struct slot_walk_masters {
    struct slot_walk_master {
        char *address;         /* owned */
        bool answered, silent; /* for some slot; for another one */
    } all[SLOT_WALK_MASTERS_MAX];
    size_t count;
};
void slot_walk_masters_fini(struct slot_walk_masters *masters);

/* Has one of them answered nothing? */
bool slot_walk_masters_lack(const struct slot_walk_masters *masters);

/* Read the first slots of all these walks together.  A master that has answered nothing, now or
 * before, is asked no more: its slots get a fault.  The next slot_walk_visit() of each walk uses
 * what was read. */
void slot_walk_read_first(struct slot_walk *walks, int32_t count, struct core *core,
                          struct slot_walk_masters *masters);

/* Read the slots from `first` to before `end`, and call `each` for every one on the caller's
 * thread; `each` may set *more to false, which ends the walk. */
typedef smq_status slot_walk_fn(const struct slot_walk *walk, int32_t index, bool *more, void *user,
                                smq_error *err);
smq_status slot_walk_visit(struct slot_walk *walk, int32_t first, int32_t end, slot_walk_fn *each,
                           void *user, smq_error *err);

#endif
