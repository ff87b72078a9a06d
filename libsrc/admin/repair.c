/* repair.c - repair a topic of which Redis has lost a part: keys of slots, topic{T}, or the
 * last writes to either.
 *
 * All slots are read, then model/damage.h judges.  What is missing in topic{T} is written first,
 * then every slot is brought what it says; a call that was cut between is completed by the next.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <string.h>

#include "admin/admin.h"
#include "admin/report.h"
#include "admin/topic_change.h"
#include "base/status.h"

/* --- what the slots know --- */

static void survey_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_slot_read(call, work->core->redis, &slot, 0);
}

static enum calls_next survey_done(const struct store_result *result, int32_t index, void *user,
                                   smq_error *err)
{
    struct work *work = user;
    struct slot_notes notes;

    if (result->outcome == STORE_OK && store_slot_notes_read(&notes, result)) {
        damage_note(work->damage, index, &notes);
        return CALLS_DONE;
    }
    return work_is_foreign(err, work, result, "repair") ? CALLS_STOP
                                                        : work_stop(err, work, result, "repair");
}

smq_status repair_survey(struct work *work, smq_error *err)
{
    work->damage = damage_new(work->topic.slots);
    return work_slots(work, survey_send, survey_done, err);
}

/* --- putting it back --- */

static void put_back_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_topic_repair(call, work->core->redis, &work->topic, &work->seen, work->coord, 0);
}

static enum calls_next put_back_done(const struct store_result *result, int32_t index, void *user,
                                     smq_error *err)
{
    struct work *work = user;

    (void) index;
    work->changed = result->outcome == STORE_REFUSED;
    return result->outcome == STORE_OK || work->changed ? CALLS_DONE
                                                        : work_stop(err, work, result, "repair");
}

/* A slot that was changed meanwhile: everything is read again. */
static enum calls_next reopen_done(const struct store_result *result, int32_t index, void *user,
                                   smq_error *err)
{
    struct work *work = user;

    (void) index;
    if (result->outcome == STORE_OK) {
        return CALLS_DONE;
    }
    if (work_is_foreign(err, work, result, "repair")) {
        return CALLS_STOP;
    }
    work->changed =
        work->changed || result->outcome == STORE_REFUSED || result->outcome == STORE_STALE;
    return work->changed ? CALLS_DONE : work_stop(err, work, result, "repair");
}

static smq_status put_back(struct work *work, const struct damage_verdict *verdict, smq_error *err)
{
    smq_status status = SMQ_OK;

    work->topic = verdict->topic;
    work->coord = verdict->coord;
    if (verdict->rewrite) {
        status = work_one(work, put_back_send, put_back_done, err);
    }
    if (status != SMQ_OK || work->changed) {
        return status;
    }
    return work_slots(work, work_open_send, reopen_done, err);
}

static smq_status check_asked(const struct damage_verdict *verdict, const struct topic *asked,
                              smq_error *err)
{
    char difference[160];

    if (asked == NULL ||
        !topic_fixed_difference(difference, sizeof(difference), &verdict->topic, asked)) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_TOPIC_DIFFERS, "topic %s exists, but %s", asked->name, difference);
}

smq_status repair_topic(smq_topic_report *report, struct work *work, const struct topic *stored,
                        const struct topic *asked, smq_error *err)
{
    struct damage_verdict verdict = {0};
    smq_status status = repair_survey(work, err);

    if (status == SMQ_OK) {
        status = damage_judge(&verdict, work->damage, work->topic.name, stored, err);
    }
    damage_free(work->damage);
    work->damage = NULL;
    if (status == SMQ_OK) {
        status = check_asked(&verdict, asked, err);
    }
    if (status != SMQ_OK || verdict.whole) {
        return status;
    }
    status = put_back(work, &verdict, err);
    if (status == SMQ_OK && !work->changed) {
        report_repaired(report, &verdict, stored == NULL);
    }
    return status;
}

/* --- the call --- */

/* topic{T} is not there. */
static smq_status repair_missing(smq_topic_report *report, struct work *work, smq_error *err)
{
    struct topic found;
    smq_status status = calls_definition(&found, work->core, work->topic.name, err);

    work->seen = work->topic;
    work->changed = status == SMQ_OK; /* it is there again */
    if (status != SMQ_DAMAGED) {
        return status;
    }
    work->topic = found;
    return repair_topic(report, work, NULL, NULL, err);
}

static smq_status repair_once(smq_topic_report *report, struct work *work, const char *name,
                              smq_error *err)
{
    struct topic stored;
    smq_error own;
    smq_status status;

    *report = (smq_topic_report) SMQ_TOPIC_REPORT_INIT;
    memset(&work->topic, 0, sizeof(work->topic));
    memcpy(work->topic.name, name, strlen(name) + 1);
    status = work_read(work, &own);
    if (status == SMQ_NO_TOPIC && work->state == STORE_TOPIC_MISSING) {
        return repair_missing(report, work, err);
    }
    if (status != SMQ_OK) {
        return status_copy(err, &own);
    }
    if (work->state != STORE_TOPIC_READY) {
        return status_set(err, SMQ_NO_TOPIC,
                          "topic %s is half %s; repeat that, it is completed then", name,
                          work->state == STORE_TOPIC_CREATING ? "created" : "deleted");
    }
    stored = work->seen = work->topic;
    return repair_topic(report, work, &stored, NULL, err);
}

smq_status admin_topic_repair(smq_topic_report *report, struct core *core, const char *topic,
                              smq_error *err)
{
    struct work work = {.core = core, .changed = true};
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    for (int i = 0; i < WORK_TRIES && work.changed; i++) {
        status = repair_once(report, &work, topic, err);
    }
    definitions_forget(core->definitions, topic);
    if (work.changed) {
        return work_give_up(err, &work);
    }
    return status == SMQ_OK ? work_register(&work, err) : status;
}
