/* create.c - creating a topic, or finding that it exists.
 *
 * First topic{T} is written in state creating, then every slot is opened, then the state becomes
 * ready.  If a slot cannot be opened for a permanent reason, the keys that this call made are
 * removed again.  After an outage they are kept, because other callers may complete the same
 * creation.
 *
 * A topic with groups has no slots: instead of opening them its groups are created, each like a
 * topic with the nonce and the version of the topic.
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
#include "store/slot.h"

/* --- topic{T} --- */

/* change->topic is the definition that the caller requested, change->stored the one that was
 * read. */
static void create_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_topic_create(call, change->core->redis, &change->topic, change->stored.generation, 0);
}

static enum fanout_next create_done(const struct store_result *result, void *user, smq_error *err)
{
    struct topic_change *change = user;
    struct topic stored;

    if (result->outcome == STORE_REFUSED) {
        change->changed = true;
        return FANOUT_DONE;
    }
    if (result->outcome != STORE_OK) {
        return topic_change_stop(err, change, result, "create");
    }
    if (store_topic_create_read(&stored, &change->state, change->topic.name, result, err) !=
        SMQ_OK) {
        return FANOUT_STOP;
    }
    stored.deletes = change->topic.deletes;
    change->changed = change->state != STORE_TOPIC_CREATING;
    change->topic = stored;
    return FANOUT_DONE;
}

/* --- slots --- */

/* The slots of a topic in state creating, and which of them this call has opened. */
struct creation {
    struct topic_change *change;
    struct creation_opened {
        int32_t slot;
        bool made; /* the slot had no keys before */
    } * opened;
    int32_t opened_count;
    bool lost; /* other slots may have been opened, too */
};

static void create_add_opened(struct creation *creation, int32_t slot, bool made)
{
    creation->opened[creation->opened_count++] = (struct creation_opened){slot, made};
}

/* Notes what a failed call may have left in a slot.  A slot whose script was denied while it ran
 * has nothing to undo if the topic never existed. */
static void create_note_failure(struct creation *creation, int32_t slot,
                                const struct store_result *result)
{
    const struct topic *topic = &creation->change->topic;

    if (result->outcome == STORE_PARTLY && result->status == SMQ_DENIED) {
        create_add_opened(creation, slot, topic->generation == 1 && topic->deletes == 0);
    } else if (result->outcome == STORE_OK || result->outcome == STORE_PARTLY ||
               result->outcome == STORE_UNKNOWN) {
        creation->lost = true;
    }
}

static void create_open_send(struct store_call *call, int32_t index, void *user)
{
    topic_change_open_send(call, index, ((const struct creation *) user)->change);
}

/* TAKEN and GONE: the slot knows a creation or deletions that topic{T} has lost. */
static enum fanout_next create_open_done(const struct store_result *result, int32_t index,
                                         void *user, smq_error *err)
{
    struct creation *creation = user;
    struct topic_change *change = creation->change;
    bool made;

    if (result->outcome == STORE_OK && store_slot_open_read(&made, result)) {
        create_add_opened(creation, index, made);
        return FANOUT_DONE;
    }
    if (topic_change_is_foreign(err, change, result, "create")) {
        return FANOUT_STOP;
    }
    create_note_failure(creation, index, result);
    change->changed =
        change->changed || result->outcome == STORE_REFUSED || result->outcome == STORE_STALE;
    return topic_change_stop(err, change, result, "create");
}

static void create_close_send(struct store_call *call, int32_t index, void *user)
{
    const struct creation *creation = user;
    const struct topic_change *change = creation->change;
    const struct creation_opened *opened = &creation->opened[index];
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, opened->slot);
    if (opened->made) {
        store_slot_remove(call, change->core->redis, &slot, 0);
    } else {
        store_slot_seal(call, change->core->redis, &slot, true, change->topic.deletes, 0);
    }
}

static enum fanout_next create_close_done(const struct store_result *result, int32_t index,
                                          void *user, smq_error *err)
{
    const struct creation *creation = user;

    (void) index;
    return result->outcome == STORE_OK || result->outcome == STORE_REFUSED
               ? FANOUT_DONE
               : topic_change_stop(err, creation->change, result, "create");
}

/* Close the opened slots again, and remove the topic; the caller reports the reason.  Returns false
 * if the topic may still exist. */
static bool create_undo(struct creation *creation)
{
    struct topic_change *change = creation->change;
    bool changed = change->changed;
    bool undone = fanout_many(change->core, creation->opened_count, create_close_send,
                              create_close_done, creation, NULL) == SMQ_OK &&
                  topic_change_step(change, STORE_STEP_UNDONE, NULL) == SMQ_OK;

    change->changed = changed;
    return undone;
}

static smq_status create_half_done(smq_error *err, const smq_error *why)
{
    return status_set(err, why->status,
                      "%.180s; it may be half created: create it again, or delete it", why->text);
}

/* Open the slots of a topic in state creating, and make it ready. */
static smq_status create_open_slots(struct topic_change *change, smq_error *err)
{
    struct creation creation = {.change = change};
    smq_error own;
    smq_status status;
    bool undone = false;

    creation.opened = memory_new((size_t) change->topic.slots * sizeof(*creation.opened));
    status = fanout_many(change->core, change->topic.slots, create_open_send, create_open_done,
                         &creation, &own);
    if (status == SMQ_INVALID || (status == SMQ_DENIED && !creation.lost) || change->changed) {
        undone = create_undo(&creation);
    }
    free(creation.opened);
    if (status == SMQ_OK) {
        return topic_change_step(change, STORE_STEP_READY, err);
    }
    return undone ? status_copy(err, &own) : create_half_done(err, &own);
}

/* --- groups --- */

/* Remove the first `count` groups of a topic that cannot be created.  Returns false if it may still
 * exist. */
static bool create_undo_groups(struct topic_change *change, int count)
{
    char name[TOPIC_NAME_MAX + 1];
    uint32_t deletion;
    bool undone = true;

    for (int i = 0; i < count; i++) {
        topic_part_name(name, &change->topic, i);
        undone = delete_seal_group(&deletion, change->core, name, true, NULL) == SMQ_OK &&
                 delete_clear_group(change->core, name, NULL) == SMQ_OK && undone;
    }
    return undone && topic_change_step(change, STORE_STEP_UNDONE, NULL) == SMQ_OK;
}

/* Create the groups of a topic, or repair those that exist. */
static smq_status create_groups(smq_topic_report *report, struct topic_change *change,
                                smq_error *err)
{
    smq_topic_report part_report;
    struct topic part;
    smq_error own;
    smq_status status = SMQ_OK;
    bool undone = false;
    int count = 0;

    for (; count < topic_parts(&change->topic) && status == SMQ_OK; count++) {
        topic_part(&part, &change->topic, count);
        status = create_one(&part_report, change->core, &part, &own);
        report_join(report, &part_report, part.name);
    }
    if (status == SMQ_OK) {
        return topic_change_step(change, STORE_STEP_READY, err);
    }
    if (change->state == STORE_TOPIC_READY) {
        return status_copy(err, &own);
    }
    if (status == SMQ_INVALID || status == SMQ_DENIED) {
        undone = create_undo_groups(change, count - 1);
    }
    return undone ? status_copy(err, &own) : create_half_done(err, &own);
}

static smq_status create_open(smq_topic_report *report, struct topic_change *change, smq_error *err)
{
    return change->topic.groups[0] != '\0' ? create_groups(report, change, err)
                                           : create_open_slots(change, err);
}

/* The group was made for another creation of its topic. */
static smq_status create_check_nonce(const struct topic_change *change, const struct topic *asked,
                                     smq_error *err)
{
    if (asked->nonce[0] == '\0' || strcmp(asked->nonce, change->topic.nonce) == 0) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_TOPIC_DIFFERS,
                      "%s exists, and belongs to an earlier creation of its topic; delete it first "
                      "with slotmq topic delete --force %s",
                      asked->name, asked->name);
}

/* --- the call --- */

/* The options that cannot be changed must be the same in the existing topic and in the request. */
static smq_status create_check_fixed(const struct topic_change *change, const struct topic *asked,
                                     smq_error *err)
{
    char difference[160];

    if (!topic_fixed_difference(difference, sizeof(difference), &change->topic, asked)) {
        return SMQ_OK;
    }
    return status_set(err, SMQ_TOPIC_DIFFERS, "topic %s exists%s, but %s", asked->name,
                      change->state == STORE_TOPIC_CREATING ? " half created" : "", difference);
}

/* The slots of a deleted topic remember its generation and how often it was deleted. */
static smq_status create_read_slots_memory(struct topic_change *change, smq_error *err)
{
    struct damage *damage;
    smq_status status = repair_survey(&damage, change, err);

    if (status == SMQ_OK) {
        damage_memory(&change->topic.generation, &change->topic.deletes, damage);
    }
    damage_free(damage);
    return status;
}

static void create_tombstone_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_tombstone_get(call, change->core->redis, change->stored.name, 0);
}

/* What cannot be read cannot be read by the script that creates the topic either. */
static enum fanout_next create_tombstone_done(const struct store_result *result, void *user,
                                              smq_error *err)
{
    struct topic_change *change = user;
    uint32_t generation, deletes;

    (void) err;
    store_tombstone_read(&generation, &deletes, result);
    if (generation > change->stored.generation) {
        change->stored.generation = generation;
    }
    if (deletes > change->stored.deletes) {
        change->stored.deletes = deletes;
    }
    return FANOUT_DONE;
}

/* `again`: slots may remember creations and deletions that topic{T} has lost. */
static smq_status create_new(smq_topic_report *report, struct topic_change *change,
                             const struct topic *asked, bool again, smq_error *err)
{
    smq_status status;

    memcpy(change->stored.name, asked->name, sizeof(change->stored.name));
    (void) topic_change_one(change, create_tombstone_send, create_tombstone_done, NULL);
    change->topic = *asked;
    if (change->topic.nonce[0] == '\0') {
        random_hex(change->topic.nonce, sizeof(change->topic.nonce));
    }
    change->topic.generation = change->stored.generation;
    change->topic.deletes = change->stored.deletes;
    status = again ? create_read_slots_memory(change, err) : SMQ_OK;
    if (status != SMQ_OK) {
        return status;
    }
    status = topic_change_one(change, create_send, create_done, err);
    if (status != SMQ_OK || change->changed) {
        return status;
    }
    report->created = true;
    change->state = STORE_TOPIC_CREATING;
    return create_open(report, change, err);
}

/* topic{T} is missing: the topic never existed, or was deleted, or Redis has lost it. */
static smq_status create_missing(smq_topic_report *report, struct topic_change *change,
                                 const struct topic *asked, bool again, smq_error *err)
{
    struct topic found = *asked;
    smq_error own;
    smq_status status = fanout_definition(&found, change->core, asked->name, &own);

    change->stored = change->topic;
    change->stored.version = change->stored.pauses = 0;
    change->changed = status == SMQ_OK; /* another caller has created it */
    if (status == SMQ_DAMAGED || (status == SMQ_NO_TOPIC && again)) {
        change->topic = found;
        status = repair_topic(report, change, NULL, asked, &own);
    }
    if (status == SMQ_NO_TOPIC && asked->groups[0] != '\0') {
        bool exists = false;

        status = repair_from_groups(&exists, report, change, asked, err);
        if (status != SMQ_OK || exists || change->changed) {
            return status;
        }
        status = SMQ_NO_TOPIC;
    }
    if (status == SMQ_NO_TOPIC) {
        return create_new(report, change, asked, again, err);
    }
    return status == SMQ_OK ? SMQ_OK : status_copy(err, &own);
}

/* The topic is being deleted because it was not used: complete that, and begin again.  NOT_EMPTY:
 * the deletion was undone. */
static smq_status create_end_disused(struct topic_change *change, smq_error *err)
{
    smq_error own;
    smq_status status = delete_disused(change, &own);

    change->changed = true;
    return status == SMQ_OK || status == SMQ_NOT_EMPTY ? SMQ_OK : status_copy(err, &own);
}

static smq_status create_existing(smq_topic_report *report, struct topic_change *change,
                                  const struct topic *asked, smq_error *err)
{
    struct topic stored = change->topic;
    smq_status status = SMQ_OK;

    if (stored.disused) {
        return create_end_disused(change, err);
    }
    if (change->state == STORE_TOPIC_DELETING) {
        return status_set(err, SMQ_TOPIC_DIFFERS,
                          "topic %s is being deleted; let that deletion end, or repeat it",
                          asked->name);
    }
    status = create_check_nonce(change, asked, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = create_check_fixed(change, asked, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (change->state == STORE_TOPIC_CREATING) {
        return create_open(report, change, err);
    }
    if (stored.groups[0] != '\0') {
        status = create_groups(report, change, err);
        return status == SMQ_OK ? repair_level(change->core, stored.name, err) : status;
    }
    change->stored = stored;
    return repair_topic(report, change, &stored, asked, err);
}

static smq_status create_once(smq_topic_report *report, struct topic_change *change,
                              const struct topic *asked, bool again, smq_error *err)
{
    smq_error own;
    smq_status status;

    *report = (smq_topic_report) SMQ_TOPIC_REPORT_INIT;
    change->topic = *asked;
    status = topic_change_read(change, &own);
    if (status == SMQ_NO_TOPIC && change->state == STORE_TOPIC_MISSING) {
        return create_missing(report, change, asked, again, err);
    }
    return status == SMQ_OK ? create_existing(report, change, asked, err) : status_copy(err, &own);
}

/* Groups expire with their topic. */
static smq_status create_begin_use(const struct topic_change *change, smq_error *err)
{
    smq_status status;

    if (group_in(change->topic.name) != NULL) {
        return SMQ_OK;
    }
    status = expire_mark(change, err);
    return status == SMQ_OK ? expire_list(change, err) : status;
}

smq_status create_one(smq_topic_report *report, struct core *core, const struct topic *asked,
                      smq_error *err)
{
    struct topic_change change = {.core = core, .changed = true};
    smq_status status = SMQ_OK;

    for (int i = 0; i < TOPIC_CHANGE_TRIES && change.changed; i++) {
        status = create_once(report, &change, asked, i > 0, err);
    }
    definitions_forget(core->definitions, asked->name);
    if (change.changed) {
        return topic_change_fail_busy(err, &change);
    }
    if (status != SMQ_OK) {
        return status;
    }
    status = create_begin_use(&change, err);
    if (status != SMQ_OK) {
        return status;
    }
    /* the list of topics names groups, not the topic that has them: see smq_topic_each() */
    if (asked->groups[0] == '\0') {
        bool existed = !report->created && change.state != STORE_TOPIC_CREATING;

        status =
            existed ? topic_change_relist(&change, err) : topic_change_list_first(&change, err);
        if (status == SMQ_OK && existed && !change.found) {
            report_relisted(report);
        }
        definitions_forget(core->definitions, asked->name);
    }
    if (status == SMQ_OK) {
        report_created(report, &change.topic, asked);
    }
    return status;
}

smq_status admin_topic_create(smq_topic_report *report, struct core *core,
                              const smq_topic_options *options, smq_error *err)
{
    struct topic asked;
    smq_status status = topic_from_options(&asked, options, err);

    return status == SMQ_OK ? create_one(report, core, &asked, err) : status;
}
