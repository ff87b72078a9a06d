/* topic_change.h - what creating, altering, repairing and deleting a topic have in common.
 *
 * Each of these can be interrupted at any point, by a crash or an outage; the state in topic{T}
 * shows it, and repeating the call completes it.  Each call to Redis names the state that it
 * changes, so a call that arrives late or twice does nothing
 * (docs/decisions/0009-what-slots-know.md).
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#ifndef ADMIN_TOPIC_CHANGE_H
#define ADMIN_TOPIC_CHANGE_H

#include <slotmq/topic.h>

#include "admin/fanout.h"
#include "model/damage.h"
#include "store/topic.h"

/* How often a call begins again because other callers changed the topic. */
enum { TOPIC_CHANGE_TRIES = 10 };

/* What each of them has.  `topic` is the definition that is stored, or will be; `stored` the one
 * that it replaces: a creation, an alteration and a repair set it. */
struct topic_change {
    struct core *core;
    struct topic topic;
    struct topic stored;
    enum store_topic_state state;
    bool changed; /* another caller changed the topic: begin again */
    bool found;   /* the name was in the registry */
};

/* Make one call, or one for each slot. */
smq_status topic_change_one(struct topic_change *change, fanout_one_send_fn *send,
                            fanout_one_done_fn *done, smq_error *err);
smq_status topic_change_slots(struct topic_change *change, fanout_send_fn *send,
                              fanout_done_fn *done, smq_error *err);

/* "cannot `what` topic T: ...", with what the result says. */
enum fanout_next topic_change_stop(smq_error *err, const struct topic_change *change,
                                   const struct store_result *result, const char *what);

/* Fill `err`: other callers keep changing the topic. */
smq_status topic_change_fail_busy(smq_error *err, const struct topic_change *change);

/* Read topic{T}.  Fails: NO_TOPIC (state MISSING; generation and deletes are those of before). */
smq_status topic_change_read(struct topic_change *change, smq_error *err);

/* The same of the topic `name`; what was known of another is forgotten. */
smq_status topic_change_read_named(struct topic_change *change, const char *name, smq_error *err);

/* Take the next step in topic{T}; sets `changed` if another caller has taken one. */
smq_status topic_change_step(struct topic_change *change, enum store_topic_step step,
                             smq_error *err);

smq_status topic_change_register(struct topic_change *change, smq_error *err);

/* The same for a topic that existed before: its name should be there.  If it was missing others may
 * be missing, too: that is noted in the registry, and `found` is false. */
smq_status topic_change_relist(struct topic_change *change, smq_error *err);

/* The same for a new topic.  If it is the first one that is listed, and others exist, those are
 * missing, which is noted in the registry. */
smq_status topic_change_list_first(struct topic_change *change, smq_error *err);
smq_status topic_change_unregister(struct topic_change *change, smq_error *err); /* sets `found` */

/* --- create.c --- */

/* Create a topic or a group, or find that it exists, and repair it then.  A group is one with a
 * nonce and a version: those of its topic. */
smq_status create_one(smq_topic_report *report, struct core *core, const struct topic *asked,
                      smq_error *err);

/* --- delete.c --- */

/* Does a group hold messages, and the caller does not force its deletion?  Then NOT_EMPTY. */
smq_status delete_check_group(struct core *core, const char *name, bool force, smq_error *err);

/* The two halves of the deletion of a group.  The first one lets no call into its slots, and gives
 * the number of the deletion; NOT_EMPTY: the group holds messages, and all is as before.  The
 * second one removes it.  Both may be repeated, and do nothing if there is no such group. */
smq_status delete_seal_group(uint32_t *deletion, struct core *core, const char *name, bool force,
                             smq_error *err);
smq_status delete_clear_group(struct core *core, const char *name, smq_error *err);

/* Undo the first half, unless another caller has begun a later deletion of the group. */
smq_status delete_unseal_group(struct core *core, const char *name, uint32_t deletion,
                               smq_error *err);

/* Delete a topic, with its groups; or a group that its topic does not name. */
smq_status delete_topic(struct core *core, const char *topic, bool force, smq_error *err);

/* Delete the topic that was read if it is doubted that it is used; `changed`: it is used, or
 * another caller deletes it.  NOT_EMPTY: it holds messages, and expires_with_messages is not set.
 */
smq_status delete_disused(struct topic_change *change, smq_error *err);

/* --- expire.c --- */

/* The topic change->topic, which may expire, is used now, because it is created or altered: mark
 * it; and, once it exists, list it and have this client look for those that are due.  Without the
 * right to it nothing is done.  Each does nothing if it does not expire. */
smq_status expire_mark(const struct topic_change *change, smq_error *err);
smq_status expire_list(const struct topic_change *change, smq_error *err);

/* --- alter.c --- */

/* Drop a group of `stored`, its topic, which names others, too; `force`: also if it holds messages.
 * *again: another caller has altered the list of groups, and nothing was changed. */
smq_status alter_drop_group(bool *again, struct core *core, const struct topic *stored,
                            const char *name, bool force, smq_error *err);

/* --- repair.c --- */

/* Read what all slots know of change->topic, whose slots and layout must be known.  The caller
 * frees *out, also if it fails. */
smq_status repair_survey(struct damage **out, const struct topic_change *change, smq_error *err);

/* Repair the topic if it is damaged.  `stored` is the definition in topic{T}, in state ready, or
 * NULL; `asked` is the definition that a creation requests, or NULL; change->stored must be what
 * was read.  Sets `changed`. */
smq_status repair_topic(smq_topic_report *report, struct topic_change *change,
                        const struct topic *stored, const struct topic *asked, smq_error *err);

/* topic{T} of a topic with groups is missing, and change->stored is what was read.  If groups that
 * the caller has named exist, restore it from them, and set *found.  Sets `changed`. */
smq_status repair_from_groups(bool *found, smq_topic_report *report, struct topic_change *change,
                              const struct topic *asked, smq_error *err);

/* Repairs may have raised the version of some groups of a topic: bring the topic, and its other
 * groups, to the same version. */
smq_status repair_level(struct core *core, const char *name, smq_error *err);

/* Read what a slot knows, for store_slot_notes_read(). */
void topic_change_look_send(struct store_call *call, int32_t index, void *user);

/* Open a slot, or bring its copy of the definition up to date. */
void topic_change_open_send(struct store_call *call, int32_t index, void *user);

/* Fill `err` if the key is used for something else; false: that is not the cause. */
bool topic_change_is_foreign(smq_error *err, const struct topic_change *change,
                             const struct store_result *result, const char *what);

#endif
