/* schedule.h - the schedules of a slot.
 *
 * Thread: smq:io. */
#ifndef STORE_SCHEDULE_H
#define STORE_SCHEDULE_H

#include "model/schedule.h"
#include "store/store.h"

/* A stored schedule; its texts point into the reply. */
struct store_schedule {
    const char *id; /* ended by a NUL, as the state */
    bool there;     /* false: only the time when it is due is left of it */
    struct schedule_state state;
    const char *definition; /* the whole, or its first part without its length */
    size_t definition_len;
};

/* Read one of that id, with its whole definition.  The count is 0 or 1. */
void store_schedule_get(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                        const char *id, int64_t timeout_ms);

/* Read some of them, from `cursor` on, which begins and ends as 0; or those that are due, without
 * the first `skip`. */
enum { STORE_SCHEDULES_DUE = 100 };
void store_schedule_list(struct store_call *call, struct redis *redis,
                         const struct store_slot *slot, uint64_t cursor, int64_t timeout_ms);
void store_schedule_due(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                        size_t skip, int64_t timeout_ms);

/* The reply to each of the three; then each of them. */
struct store_schedules {
    int64_t now_ms;
    uint64_t cursor; /* of those that are due: when the first of the others is, in ms */
    size_t count;
};
bool store_schedules_read(struct store_schedules *out, const struct store_result *result);
bool store_schedule_read(struct store_schedule *out, const struct store_result *result,
                         size_t index);

/* Store or remove one, if it has still the version that was read; 0: if there is none.  REFUSED
 * "MOVED": it has another version. */
struct store_schedule_put {
    const char *id;
    int64_t known;
    const struct schedule_state *state; /* its version does not count; NULL: remove it */
    const struct buf *definition;       /* NULL: it stays */
};
void store_schedule_put(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                        const struct store_schedule_put *put, int64_t timeout_ms);

/* Make ticks: begin a call, add up to STORE_SCHEDULES_DUE, send it. */
enum store_tick_what { STORE_TICK_FIRE = 'f', STORE_TICK_SKIP = 's', STORE_TICK_RUN = 'r' };
struct store_tick {
    const char *id;
    int64_t version, due_ms;
    int64_t next_ms; /* -1: never again */
    enum store_tick_what what;
};
void store_ticks_begin(struct store_call *call, const struct store_slot *slot);
void store_ticks_add(struct store_call *call, const struct store_tick *tick);
void store_ticks(struct store_call *call, struct redis *redis, int64_t timeout_ms);
/* *results has one character for each, as of store_send_read(), and 's' skipped, 'o' another was
 * first, or it is paused or gone.  *tick_ms: when the first of the slot is due. */
bool store_ticks_read(const char **results, int64_t *tick_ms, const struct store_result *result,
                      size_t count);

#endif
