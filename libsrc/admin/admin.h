/* admin.h - create, describe, alter and delete topics; inspect slots and messages; edit messages.
 *
 * Every function blocks its caller for up to request_timeout_ms per round trip, and calls many
 * slots at once.
 *
 * Thread: any but smq:io. */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include <slotmq/admin.h>
#include <slotmq/ops.h>
#include <slotmq/schedule.h>
#include <slotmq/topic.h>

#include "core/core.h"
#include "model/topic.h"

/* `report` has its full size. */
smq_status admin_topic_create(smq_topic_report *report, struct core *core,
                              const smq_topic_options *options, smq_error *err);
smq_status admin_topic_repair(smq_topic_report *report, struct core *core, const char *topic,
                              smq_error *err);
smq_status admin_topic_delete(struct core *core, const char *topic, bool force, smq_error *err);

/* Delete the topic if it expires and was not used for long enough and, unless its definition says
 * otherwise, holds no messages; or note when to look again. */
void admin_topic_expire(struct core *core, const char *topic);

smq_status admin_topic_alter(struct core *core, const smq_topic_options *options,
                             const char *fields, smq_error *err);
smq_status admin_topic_pause(struct core *core, const char *topic, bool paused, smq_error *err);
smq_status admin_topic_rebind(struct core *core, const char *topic, bool force, smq_error *err);
smq_status admin_topic_each(struct core *core, bool search, smq_topic_fn *visit, void *user,
                            smq_error *err);
/* What a visitor of admin_topic_each() is shown, if it is not unreadable; *why has how reading its
 * definition ended, SMQ_OK or DAMAGED.  Both are valid only during the callback. */
const struct topic *admin_topic_of(const smq_topic_info *info, const smq_error **why);
smq_status admin_topic_get(smq_topic_info **out, struct core *core, const char *topic,
                           smq_error *err);
void admin_topic_info_free(smq_topic_info *info);

/* `out` has its full size, and zeros. */
smq_status admin_topic_older(smq_topic_older *out, struct core *core, const char *topic,
                             smq_error *err);

smq_status admin_raise_fence(smq_fence *out, struct core *core, smq_error *err);

smq_status admin_topic_binding(smq_binding *out, struct core *core, const char *topic,
                               smq_error *err);
smq_status admin_server_each(struct core *core, smq_server_fn *visit, void *user, smq_error *err);
smq_status admin_sender_each(struct core *core, const char *topic, smq_sender_fn *visit, void *user,
                             smq_error *err);

/* `visitor` has its full size. */
smq_status admin_fleet_describe(struct core *core, const smq_fleet_visitor *visitor,
                                smq_error *err);
smq_status admin_fleet_evict(struct core *core, const char *member, int64_t incarnation,
                             smq_error *err);

/* As coord_fleet_forget(); without a ZooKeeper nothing is done. */
smq_status admin_fleet_forget(size_t *removed, struct core *core, coord_keep_fn *keep, void *user,
                              smq_error *err);

smq_status admin_stats(smq_stats *out, struct core *core, const char *topic, smq_error *err);

/* `options` has its full size. */
smq_status admin_survey(struct core *core, const char *topics, const smq_survey_options *options,
                        smq_survey_fn *visit, void *user, smq_error *err);

smq_status admin_slots(struct core *core, const char *topic, smq_slot_fn *visit, void *user,
                       smq_error *err);

smq_status admin_message_each(struct core *core, const char *topic, const smq_filter *filter,
                              smq_message_fn *visit, void *user, smq_error *err);
smq_status admin_message_get(smq_message_info **out, struct core *core, const char *topic,
                             const smq_message_ref *which, smq_error *err);
void admin_message_info_free(smq_message_info *info);
smq_status admin_message_rank(uint64_t *out, struct core *core, const char *topic,
                              const smq_message_ref *which, smq_error *err);
smq_status admin_message_remove(struct core *core, const char *topic, const smq_message_ref *which,
                                smq_error *err);
smq_status admin_message_reschedule(struct core *core, const char *topic,
                                    const smq_message_ref *which, const smq_message *to,
                                    smq_error *err);

/* `schedule` and its message have their full sizes, and those of `saved`, too.  `note` NULL:
 * resume.
 */
smq_status admin_schedule_put(smq_schedule_change *change, struct core *core, const char *topic,
                              const char *id, const smq_schedule *schedule, smq_error *err);
smq_status admin_schedule_restore(smq_schedule_change *change, struct core *core, const char *topic,
                                  const smq_schedule_info *saved, smq_error *err);
smq_status admin_schedule_get(smq_schedule_info **out, struct core *core, const char *topic,
                              const char *id, smq_error *err);
void admin_schedule_info_free(smq_schedule_info *info);
smq_status admin_schedule_each(struct core *core, const char *topic, smq_schedule_fn *visit,
                               void *user, smq_error *err);
smq_status admin_schedule_remove(struct core *core, const char *topic, const char *id,
                                 smq_error *err);
smq_status admin_schedule_pause(struct core *core, const char *topic, const char *id,
                                const char *note, smq_error *err);
smq_status admin_schedule_run(int64_t *at_ms, struct core *core, const char *topic, const char *id,
                              smq_error *err);

/* Give a group the schedules of another group of the same topic, as they are, and no others. */
smq_status admin_schedules_copy(struct core *core, const char *from, const char *to,
                                smq_error *err);

smq_status admin_dead_requeue(uint64_t *count, struct core *core, const char *topic,
                              const smq_filter *filter, smq_progress_fn *progress, void *user,
                              smq_error *err);
smq_status admin_topic_purge(uint64_t *count, struct core *core, const char *topic,
                             const smq_filter *filter, smq_progress_fn *progress, void *user,
                             smq_error *err);

#endif
