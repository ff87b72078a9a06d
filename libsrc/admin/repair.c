/* repair.c - repairing a topic of which Redis has lost a part: keys of slots, topic{T}, or the last
 * writes to either.
 *
 * All slots are read, then model/damage.h decides.  First topic{T} is corrected, then every slot is
 * brought up to date with it.  If the call is interrupted in between, the next one completes it.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <string.h>

#include "admin/admin.h"
#include "admin/report.h"
#include "admin/topic_change.h"
#include "base/status.h"

/* --- what the slots know --- */

static enum fanout_next repair_survey_done(const struct store_result *result, int32_t index,
                                           void *user, smq_error *err)
{
    struct topic_change *change = user;
    struct slot_notes notes;

    if (result->outcome == STORE_OK && store_slot_notes_read(&notes, result)) {
        damage_note(change->damage, index, &notes);
        return FANOUT_DONE;
    }
    return topic_change_is_foreign(err, change, result, "repair")
               ? FANOUT_STOP
               : topic_change_stop(err, change, result, "repair");
}

smq_status repair_survey(struct topic_change *change, smq_error *err)
{
    change->damage = damage_new(change->topic.slots);
    return topic_change_slots(change, topic_change_look_send, repair_survey_done, err);
}

/* --- restoring --- */

static void repair_restore_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_topic_repair(call, change->core->redis, &change->topic, &change->stored, change->coord,
                       0);
}

static enum fanout_next repair_restore_done(const struct store_result *result, void *user,
                                            smq_error *err)
{
    struct topic_change *change = user;

    change->changed = result->outcome == STORE_REFUSED;
    return result->outcome == STORE_OK || change->changed
               ? FANOUT_DONE
               : topic_change_stop(err, change, result, "repair");
}

/* If a slot was changed during the call everything is read again. */
static enum fanout_next repair_reopen_done(const struct store_result *result, int32_t index,
                                           void *user, smq_error *err)
{
    struct topic_change *change = user;

    (void) index;
    if (result->outcome == STORE_OK) {
        return FANOUT_DONE;
    }
    if (topic_change_is_foreign(err, change, result, "repair")) {
        return FANOUT_STOP;
    }
    change->changed =
        change->changed || result->outcome == STORE_REFUSED || result->outcome == STORE_STALE;
    return change->changed ? FANOUT_DONE : topic_change_stop(err, change, result, "repair");
}

static smq_status repair_restore(struct topic_change *change, const struct damage_verdict *verdict,
                                 smq_error *err)
{
    smq_status status = SMQ_OK;

    change->topic = verdict->topic;
    if (verdict->rewrite) {
        change->coord = verdict->coord;
        status = topic_change_one(change, repair_restore_send, repair_restore_done, err);
        change->coord = "";
    }
    if (status != SMQ_OK || change->changed) {
        return status;
    }
    return topic_change_slots(change, topic_change_open_send, repair_reopen_done, err);
}

static smq_status repair_check_asked(const struct damage_verdict *verdict,
                                     const struct topic *asked, smq_error *err)
{
    char difference[160];

    if (asked == NULL ||
        !topic_fixed_difference(difference, sizeof(difference), &verdict->topic, asked)) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_TOPIC_DIFFERS, "topic %s exists, but %s", asked->name, difference);
}

smq_status repair_topic(smq_topic_report *report, struct topic_change *change,
                        const struct topic *stored, const struct topic *asked, smq_error *err)
{
    struct damage_verdict verdict = {0};
    smq_status status = repair_survey(change, err);

    if (status == SMQ_OK) {
        status = damage_decide(&verdict, change->damage, change->topic.name, stored, err);
    }
    damage_free(change->damage);
    change->damage = NULL;
    if (status != SMQ_OK) {
        return status;
    }
    status = repair_check_asked(&verdict, asked, err);
    if (status != SMQ_OK || verdict.whole) {
        return status;
    }
    status = repair_restore(change, &verdict, err);
    if (status == SMQ_OK && !change->changed) {
        report_repaired(report, &verdict, stored == NULL);
    }
    return status;
}

/* --- the call --- */

/* topic{T} is missing. */
static smq_status repair_missing(smq_topic_report *report, struct topic_change *change,
                                 smq_error *err)
{
    struct topic found;
    smq_status status = fanout_definition(&found, change->core, change->topic.name, err);

    change->stored = change->topic;
    change->changed = status == SMQ_OK; /* it exists again */
    if (status != SMQ_DAMAGED) {
        return status;
    }
    change->topic = found;
    return repair_topic(report, change, NULL, NULL, err);
}

static smq_status repair_once(smq_topic_report *report, struct topic_change *change,
                              const char *name, smq_error *err)
{
    struct topic stored;
    smq_error own;
    smq_status status;

    *report = (smq_topic_report) SMQ_TOPIC_REPORT_INIT;
    memset(&change->topic, 0, sizeof(change->topic));
    memcpy(change->topic.name, name, strlen(name) + 1);
    status = topic_change_read(change, &own);
    if (status == SMQ_NO_TOPIC && change->state == STORE_TOPIC_MISSING) {
        return repair_missing(report, change, err);
    }
    if (status != SMQ_OK) {
        return status_copy(err, &own);
    }
    if (change->state != STORE_TOPIC_READY) {
        return status_set(err, SMQ_NO_TOPIC, "topic %s is half %s; repeat that call to complete it",
                          name, change->state == STORE_TOPIC_CREATING ? "created" : "deleted");
    }
    stored = change->stored = change->topic;
    return repair_topic(report, change, &stored, NULL, err);
}

smq_status admin_topic_repair(smq_topic_report *report, struct core *core, const char *topic,
                              smq_error *err)
{
    struct topic_change change = {.core = core, .changed = true};
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    for (int i = 0; i < TOPIC_CHANGE_TRIES && change.changed; i++) {
        status = repair_once(report, &change, topic, err);
    }
    definitions_forget(core->definitions, topic);
    if (change.changed) {
        return topic_change_fail_busy(err, &change);
    }
    return status == SMQ_OK ? topic_change_register(&change, err) : status;
}
