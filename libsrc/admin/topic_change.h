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
enum { TOPIC_CHANGE_TRIES = 10 };

/* `topic` is what is stored, or is to be. */
struct topic_change {
    struct core *core;
    struct topic topic;
    enum store_topic_state state;
    enum store_topic_step step;
    bool changed; /* by others meanwhile: begin again */

    /* creation: the slots that this call opened */
    struct topic_change_opened {
        int32_t slot;
        bool made; /* nothing of it was there */
    } * opened;
    int32_t opened_count;
    bool lost; /* nobody knows whether some other slot was opened */

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

/* Make one call, or one for each slot. */
smq_status topic_change_one(struct topic_change *change, fanout_one_send_fn *send,
                            fanout_one_done_fn *done, smq_error *err);
smq_status topic_change_slots(struct topic_change *change, fanout_send_fn *send,
                              fanout_done_fn *done, smq_error *err);

/* "cannot `what` topic T: ...", with what the result says. */
enum fanout_next topic_change_stop(smq_error *err, const struct topic_change *change,
                                   const struct store_result *result, const char *what);

/* It is altered, created, deleted by others all the time. */
smq_status topic_change_give_up(smq_error *err, const struct topic_change *change);

/* Read topic{T}.  Fails: NO_TOPIC (state MISSING; generation and deletes are those of before). */
smq_status topic_change_read(struct topic_change *change, smq_error *err);

/* A further step in topic{T}; `changed` when others have taken one. */
smq_status topic_change_step(struct topic_change *change, enum store_topic_step step,
                             smq_error *err);

smq_status topic_change_register(struct topic_change *change, smq_error *err);
smq_status topic_change_unregister(struct topic_change *change, smq_error *err); /* sets `found` */

/* --- repair.c --- */

/* Read what all slots know of change->topic, of which slots and layout must be known, into
 * change->damage.  The caller frees it. */
smq_status repair_survey(struct topic_change *change, smq_error *err);

/* Repair what is damaged, if anything is.  `stored` is what stands in topic{T}, ready, or NULL;
 * `asked` what a creation wants, or NULL; change->seen is to be what was read.  Sets `changed`. */
smq_status repair_topic(smq_topic_report *report, struct topic_change *change,
                        const struct topic *stored, const struct topic *asked, smq_error *err);

/* Open a slot, or bring it what the topic says now. */
void topic_change_open_send(struct store_call *call, int32_t index, void *user);

/* "the key K holds something else"; false: that is not why. */
bool topic_change_is_foreign(smq_error *err, const struct topic_change *change,
                             const struct store_result *result, const char *what);

#endif
