/* schedule_find.h - one schedule of one part of a topic: found and copied, stored and removed.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#ifndef ADMIN_SCHEDULE_FIND_H
#define ADMIN_SCHEDULE_FIND_H

#include "admin/admin.h"
#include "store/schedule.h"

/* A copy of a stored schedule. */
struct schedule_copy {
    smq_schedule_info info; /* first, because smq_schedule_info_free() gets its address */
    smq_schedule schedule;
    char topic[TOPIC_NAME_MAX + 1];
    char times[SCHEDULE_TIMES_MAX];
    struct buf id, note, definition;
    struct schedule_state state;
    smq_message message;
    smq_header headers[SMQ_HEADERS_MAX];
};

/* What is done with one schedule of one part of a topic. */
struct schedule_op {
    struct core *core;
    const struct topic *topic;
    const char *id;
    int32_t number; /* of the slot in which it is looked for, or was found */
    int32_t first;  /* from which on it is looked for */
    int32_t passed; /* where it is not, if it is looked for elsewhere */
    struct store_slot slot;
    bool found;
    struct schedule_copy *copy; /* what was found */
    int64_t now_ms;             /* by the clock of Redis */
    struct store_schedule_put put;
    struct store_tick tick;
    bool moved; /* another call has changed it in the meantime */
    char result;
};

/* --- copies --- */

struct schedule_copy *schedule_copy_new(const struct store_schedule *stored);
void schedule_copy_free(struct schedule_copy *copy);

/* Fill copy->info, with its message if `whole`.  false: what is stored cannot be read. */
bool schedule_copy_describe(struct schedule_copy *copy, const struct topic *topic, int32_t slot,
                            bool whole);

/* --- one schedule --- */

/* Read it from its slot, or else from any other.  One that is half put is found if there is no
 * other. */
smq_status schedule_find(struct schedule_op *op, smq_error *err);

/* The same from this slot alone. */
smq_status schedule_find_there(struct schedule_op *op, smq_error *err);

/* The same from any slot but this one. */
smq_status schedule_find_elsewhere(struct schedule_op *op, smq_error *err);

/* As schedule_find(); fails also: NO_SCHEDULE. */
smq_status schedule_find_existing(struct schedule_op *op, smq_error *err);

/* Forget what was found. */
void schedule_op_clear(struct schedule_op *op);

/* Store it in op->slot, if it is there as it was found; `state` NULL: remove it; `definition` NULL:
 * that stays.  op->moved: nothing was stored. */
smq_status schedule_store(struct schedule_op *op, const struct schedule_state *state,
                          const struct buf *definition, smq_error *err);

#endif
