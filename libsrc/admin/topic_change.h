/* topic_change.h - one topic while it is created, repaired or deleted: what these have in common.
 *
 * Each of them can be cut at any point, by a crash or an outage: the state in topic{T} tells, and
 * calling it again completes it.  Each call to Redis says what it changes, so one that comes late
 * or twice does nothing (docs/decisions/0009-what-slots-know.md).
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#ifndef ADMIN_TOPIC_CHANGE_H
#define ADMIN_TOPIC_CHANGE_H

#include <slotmq/topic.h>

#include "admin/fanout.h"

/* Others may work on the topic, too: so often it is begun again. */
enum { WORK_TRIES = 10 };

/* `topic` is what is stored, or is to be. */
struct work {
    struct core *core;
    struct topic topic;
    enum store_topic_state state;
    enum store_topic_step step;
    bool changed; /* by others meanwhile: begin again */

    /* creation: the slots that this call opened */
    struct work_opened {
        int32_t slot;
        bool made; /* nothing of it was there */
    } * opened;
    int32_t opened_count;

    /* deletion */
    bool force;
    char id[TOPIC_NONCE_LEN + 1];
    uint64_t messages; /* found in the slots that are not empty */
    bool found;        /* in the registry */

    /* repair */
    struct damage *damage;
    struct topic seen; /* what is replaced */
    const char *coord; /* what it is bound to; "": nobody knows, or topic{T} does */
};

typedef void work_send_fn(struct store_call *call, int32_t index, void *user);
typedef enum calls_next work_done_fn(const struct store_result *result, int32_t index, void *user,
                                     smq_error *err);

/* One call, or one for each slot. */
smq_status work_one(struct work *work, work_send_fn *send, work_done_fn *done, smq_error *err);
smq_status work_slots(struct work *work, work_send_fn *send, work_done_fn *done, smq_error *err);

/* "cannot `what` topic T: `text`" */
smq_status work_fail(smq_error *err, const struct work *work, smq_status status, const char *what,
                     const char *text);
enum calls_next work_stop(smq_error *err, const struct work *work,
                          const struct store_result *result, const char *what);

/* It is altered, created, deleted by others all the time. */
smq_status work_give_up(smq_error *err, const struct work *work);

/* Read topic{T}.  Fails: NO_TOPIC (state MISSING; generation and deletes are those of before). */
smq_status work_read(struct work *work, smq_error *err);

/* A further step in topic{T}; `changed` when others have taken one. */
smq_status work_step(struct work *work, enum store_topic_step step, smq_error *err);

smq_status work_register(struct work *work, smq_error *err);
smq_status work_unregister(struct work *work, smq_error *err); /* sets `found` */

/* --- repair.c --- */

/* Read what all slots know of work->topic, of which slots and layout must be known, into
 * work->damage.  The caller frees it. */
smq_status repair_survey(struct work *work, smq_error *err);

/* Repair what is damaged, if anything is.  `stored` is what stands in topic{T}, ready, or NULL;
 * `asked` what a creation wants, or NULL; work->seen is to be what was read.  Sets `changed`. */
smq_status repair_topic(smq_topic_report *report, struct work *work, const struct topic *stored,
                        const struct topic *asked, smq_error *err);

/* Open a slot, or bring it what the topic says now. */
void work_open_send(struct store_call *call, int32_t index, void *user);

/* "the key K holds something else"; false: that is not why. */
bool work_is_foreign(smq_error *err, const struct work *work, const struct store_result *result,
                     const char *what);

#endif
