/* create.c - create a topic, or find that it exists.
 *
 * First topic{T} in state creating, then every slot, then ready.  When a slot cannot be opened the
 * keys that this call made are removed again.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/report.h"
#include "admin/topic_change.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

/* --- topic{T} --- */

/* What the caller asked for is in work->topic, what was read in work->seen. */
static void create_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_topic_create(call, work->core->redis, &work->topic, work->seen.generation, 0);
}

static enum calls_next create_done(const struct store_result *result, int32_t index, void *user,
                                   smq_error *err)
{
    struct work *work = user;
    struct topic stored;

    (void) index;
    if (result->outcome == STORE_REFUSED) {
        work->changed = true;
        return CALLS_DONE;
    }
    if (result->outcome != STORE_OK) {
        return work_stop(err, work, result, "create");
    }
    if (store_topic_create_read(&stored, &work->state, work->topic.name, result, err) != SMQ_OK) {
        return CALLS_STOP;
    }
    stored.deletes = work->topic.deletes;
    work->changed = work->state != STORE_TOPIC_CREATING;
    work->topic = stored;
    return CALLS_DONE;
}

/* --- slots --- */

/* TAKEN and GONE: the slot knows of a creation or of deletions that topic{T} has forgotten. */
static enum calls_next open_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct work *work = user;
    bool made;

    if (result->outcome == STORE_OK && store_slot_open_read(&made, result)) {
        work->opened[work->opened_count++] = (struct work_opened){index, made};
        return CALLS_DONE;
    }
    if (work_is_foreign(err, work, result, "create")) {
        return CALLS_STOP;
    }
    work->changed = result->outcome == STORE_REFUSED || result->outcome == STORE_STALE;
    return work_stop(err, work, result, "create");
}

static void close_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    const struct work_opened *opened = &work->opened[index];
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, opened->slot);
    if (opened->made) {
        store_slot_remove(call, work->core->redis, &slot, 0);
    } else {
        store_slot_seal(call, work->core->redis, &slot, true, work->topic.deletes, 0);
    }
}

static enum calls_next close_done(const struct store_result *result, int32_t index, void *user,
                                  smq_error *err)
{
    (void) index;
    return result->outcome == STORE_OK || result->outcome == STORE_REFUSED
               ? CALLS_DONE
               : work_stop(err, user, result, "create");
}

/* What was opened is closed again, and the topic is gone.  The reason why is the caller's. */
static void undo(struct work *work)
{
    struct calls_job job = {
        .count = work->opened_count, .user = work, .send = close_send, .done = close_done};
    bool changed = work->changed;

    if (calls_run(work->core, &job, NULL) == SMQ_OK) {
        (void) work_step(work, STORE_STEP_UNDONE, NULL);
    }
    work->changed = changed;
}

/* Open the slots of a topic in state creating, and make it ready. */
static smq_status open_slots(struct work *work, smq_error *err)
{
    smq_error own;
    smq_status status;

    work->opened = memory_new((size_t) work->topic.slots * sizeof(*work->opened));
    work->opened_count = 0;
    status = work_slots(work, work_open_send, open_done, &own);
    if (status == SMQ_INVALID || work->changed) {
        undo(work);
    }
    free(work->opened);
    work->opened = NULL;
    if (status != SMQ_OK) {
        return status_copy(err, &own);
    }
    return work_step(work, STORE_STEP_READY, err);
}

/* --- the call --- */

/* What an existing topic is, and what was asked for, must agree in what is fixed for life. */
static smq_status check_fixed(const struct work *work, const struct topic *asked, smq_error *err)
{
    char difference[160];

    if (!topic_fixed_difference(difference, sizeof(difference), &work->topic, asked)) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_TOPIC_DIFFERS, "topic %s exists%s, but %s", asked->name,
                      work->state == STORE_TOPIC_CREATING ? " half created" : "", difference);
}

/* Of topics that are gone, the slots remember the generation and how often they were deleted. */
static smq_status take_slots_memory(struct work *work, smq_error *err)
{
    smq_status status = repair_survey(work, err);

    if (status == SMQ_OK) {
        damage_memory(&work->topic.generation, &work->topic.deletes, work->damage);
    }
    damage_free(work->damage);
    work->damage = NULL;
    return status;
}

/* `again`: slots may remember earlier creations and deletions of which topic{T} knows nothing. */
static smq_status create_new(smq_topic_report *report, struct work *work, const struct topic *asked,
                             bool again, smq_error *err)
{
    smq_status status = SMQ_OK;

    work->topic = *asked;
    random_hex(work->topic.nonce, sizeof(work->topic.nonce));
    work->topic.generation = work->seen.generation;
    work->topic.deletes = work->seen.deletes;
    if (again) {
        status = take_slots_memory(work, err);
    }
    if (status == SMQ_OK) {
        status = work_one(work, create_send, create_done, err);
    }
    if (status != SMQ_OK || work->changed) {
        return status;
    }
    report->created = true;
    return open_slots(work, err);
}

/* topic{T} is not there: never, or not any more, or Redis has lost it. */
static smq_status create_missing(smq_topic_report *report, struct work *work,
                                 const struct topic *asked, bool again, smq_error *err)
{
    struct topic found = *asked;
    smq_error own;
    smq_status status = calls_definition(&found, work->core, asked->name, &own);

    work->seen = work->topic;
    work->seen.version = work->seen.pauses = 0;
    work->changed = status == SMQ_OK; /* created meanwhile */
    if (status == SMQ_DAMAGED || (status == SMQ_NO_TOPIC && again)) {
        work->topic = found;
        status = repair_topic(report, work, NULL, asked, &own);
    }
    if (status == SMQ_NO_TOPIC) {
        return create_new(report, work, asked, again, err);
    }
    return status == SMQ_OK ? SMQ_OK : status_copy(err, &own);
}

static smq_status create_existing(smq_topic_report *report, struct work *work,
                                  const struct topic *asked, smq_error *err)
{
    struct topic stored = work->topic;
    smq_status status = SMQ_OK;

    if (work->state == STORE_TOPIC_DELETING) {
        return status_set(err, SMQ_TOPIC_DIFFERS,
                          "topic %s is being deleted; let that deletion end, or repeat it",
                          asked->name);
    }
    status = check_fixed(work, asked, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (work->state == STORE_TOPIC_CREATING) {
        return open_slots(work, err);
    }
    work->seen = stored;
    return repair_topic(report, work, &stored, asked, err);
}

static smq_status create_once(smq_topic_report *report, struct work *work,
                              const struct topic *asked, bool again, smq_error *err)
{
    smq_error own;
    smq_status status;

    *report = (smq_topic_report) SMQ_TOPIC_REPORT_INIT;
    work->topic = *asked;
    status = work_read(work, &own);
    if (status == SMQ_NO_TOPIC && work->state == STORE_TOPIC_MISSING) {
        return create_missing(report, work, asked, again, err);
    }
    return status == SMQ_OK ? create_existing(report, work, asked, err) : status_copy(err, &own);
}

smq_status admin_topic_create(smq_topic_report *report, struct core *core,
                              const smq_topic_options *options, smq_error *err)
{
    struct work work = {.core = core, .changed = true};
    struct topic asked;
    smq_status status = topic_from_options(&asked, options, err);

    if (status != SMQ_OK) {
        return status;
    }
    for (int i = 0; i < WORK_TRIES && work.changed; i++) {
        status = create_once(report, &work, &asked, i > 0, err);
    }
    definitions_forget(core->definitions, asked.name);
    if (work.changed) {
        return work_give_up(err, &work);
    }
    if (status == SMQ_OK) {
        status = work_register(&work, err);
    }
    if (status == SMQ_OK) {
        report_created(report, &work.topic, &asked);
    }
    return status;
}
