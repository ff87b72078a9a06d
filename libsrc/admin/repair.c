/* repair.c - repairing a topic of which Redis has lost a part: keys of slots, topic{T}, or the last
 * writes to either.
 *
 * All slots are read, then model/damage.h decides.  First topic{T} is corrected, then every slot is
 * brought up to date with it.  If the call is interrupted in between, the next one completes it.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/report.h"
#include "admin/topic_change.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "store/slot.h"

/* --- what the slots know --- */

struct survey {
    struct topic_change change; /* a copy */
    struct damage *damage;
};

static enum fanout_next repair_survey_done(const struct store_result *result, int32_t index,
                                           void *user, smq_error *err)
{
    struct topic_change *change = user;
    struct slot_notes notes;

    if (result->outcome == STORE_OK && store_slot_notes_read(&notes, result)) {
        damage_note(OWNER_OF(change, struct survey, change)->damage, index, &notes);
        return FANOUT_DONE;
    }
    return topic_change_is_foreign(err, change, result, "repair")
               ? FANOUT_STOP
               : topic_change_stop(err, change, result, "repair");
}

smq_status repair_survey(struct damage **out, const struct topic_change *change, smq_error *err)
{
    struct survey survey = {.change = *change, .damage = damage_new(change->topic.slots)};

    *out = survey.damage;
    return topic_change_slots(&survey.change, topic_change_look_send, repair_survey_done, err);
}

/* --- restoring --- */

/* change->topic replaces change->stored. */
struct restoring {
    struct topic_change *change;
    const char *coord; /* the binding; "": unknown, or topic{T} has it */
};

static void repair_restore_send(struct store_call *call, void *user)
{
    const struct restoring *restoring = user;
    const struct topic_change *change = restoring->change;

    store_topic_repair(call, change->core->redis, &change->topic, &change->stored, restoring->coord,
                       0);
}

static enum fanout_next repair_restore_done(const struct store_result *result, void *user,
                                            smq_error *err)
{
    struct topic_change *change = ((const struct restoring *) user)->change;

    change->changed = result->outcome == STORE_REFUSED;
    return result->outcome == STORE_OK || change->changed
               ? FANOUT_DONE
               : topic_change_stop(err, change, result, "repair");
}

/* Write change->topic to topic{T}.  Sets `changed`. */
static smq_status repair_write(struct topic_change *change, const char *coord, smq_error *err)
{
    struct restoring restoring = {.change = change, .coord = coord};

    return fanout_one(change->core, repair_restore_send, repair_restore_done, &restoring, err);
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
        status = repair_write(change, verdict->coord, err);
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

/* Is topic{T} still what was read before its slots were?  An alteration, a pause or a deletion
 * writes topic{T} first, so otherwise the slots seem to know of changes that it has lost.  Sets
 * `changed`. */
static smq_status repair_read_again(struct topic_change *change, const struct topic *stored,
                                    smq_error *err)
{
    const struct topic *before = stored != NULL ? stored : &change->stored;
    struct topic_change again = {.core = change->core};
    smq_error own;
    smq_status status = topic_change_read_named(&again, change->topic.name, &own);
    enum store_topic_state state = stored != NULL ? STORE_TOPIC_READY : STORE_TOPIC_MISSING;

    if (status != SMQ_OK && (status != SMQ_NO_TOPIC || again.state != STORE_TOPIC_MISSING)) {
        return status_copy(err, &own);
    }
    change->changed = again.state != state || again.topic.version != before->version ||
                      again.topic.pauses != before->pauses ||
                      again.topic.deletes != before->deletes ||
                      again.topic.generation != before->generation;
    return SMQ_OK;
}

smq_status repair_topic(smq_topic_report *report, struct topic_change *change,
                        const struct topic *stored, const struct topic *asked, smq_error *err)
{
    struct damage_verdict verdict = {0};
    struct damage *damage;
    smq_status status = repair_survey(&damage, change, err);

    if (status == SMQ_OK) {
        status = damage_decide(&verdict, damage, change->topic.name, stored, err);
    }
    damage_free(damage);
    if (status != SMQ_OK) {
        return status;
    }
    status = repair_check_asked(&verdict, asked, err);
    if (status != SMQ_OK || verdict.whole) {
        return status;
    }
    status = repair_read_again(change, stored, err);
    if (status != SMQ_OK || change->changed) {
        return status;
    }
    status = repair_restore(change, &verdict, err);
    if (status == SMQ_OK && !change->changed) {
        report_repaired(report, &verdict, stored == NULL);
    }
    return status;
}

/* --- topics with groups --- */

/* Give `to` the options and the version of `from`, and let it stay the topic that it is. */
static void repair_follow(struct topic *to, const struct topic *from)
{
    struct topic old = *to;

    *to = *from;
    memcpy(to->name, old.name, sizeof(to->name));
    memcpy(to->groups, old.groups, sizeof(to->groups));
    to->generation = old.generation;
    to->deletes = old.deletes;
    to->pauses = old.pauses;
    to->paused = old.paused;
}

/* Bring a definition with an older version to that of `latest`, and to all slots.  *changed:
 * another caller has changed it since. */
static smq_status repair_raise(bool *changed, struct core *core, const struct topic *latest,
                               const struct topic *stored, smq_error *err)
{
    struct topic_change change = {.core = core, .topic = *stored, .stored = *stored};
    smq_status status;

    if (stored->version >= latest->version) {
        return SMQ_OK;
    }
    repair_follow(&change.topic, latest);
    status = repair_write(&change, "", err);
    definitions_forget(core->definitions, stored->name);
    *changed = *changed || change.changed;
    if (status != SMQ_OK || change.changed) {
        return status;
    }
    return change.topic.groups[0] == '\0'
               ? topic_change_slots(&change, topic_change_open_send, repair_reopen_done, err)
               : SMQ_OK;
}

/* Read the definition of a part. */
static smq_status repair_read_part(struct topic *out, struct core *core, const struct topic *whole,
                                   int index, smq_error *err)
{
    char name[TOPIC_NAME_MAX + 1];

    topic_part_name(name, whole, index);
    return fanout_definition(out, core, name, err);
}

static smq_status repair_level_once(bool *changed, struct core *core, const char *name,
                                    smq_error *err)
{
    struct topic whole, latest, part;
    smq_status status = fanout_definition(&whole, core, name, err);

    *changed = false;
    if (status != SMQ_OK) {
        return status;
    }
    latest = whole;
    for (int i = 0; i < topic_parts(&whole); i++) {
        status = repair_read_part(&part, core, &whole, i, err);
        if (status != SMQ_OK) {
            return status;
        }
        latest = part.version > latest.version ? part : latest;
    }
    for (int i = 0; i < topic_parts(&whole); i++) {
        status = repair_read_part(&part, core, &whole, i, err);
        if (status != SMQ_OK) {
            return status;
        }
        status = repair_raise(changed, core, &latest, &part, err);
        if (status != SMQ_OK) {
            return status;
        }
    }
    return repair_raise(changed, core, &latest, &whole, err);
}

smq_status repair_level(struct core *core, const char *name, smq_error *err)
{
    struct topic_change change = {.core = core, .changed = true};
    smq_status status = SMQ_OK;

    for (int i = 0; i < TOPIC_CHANGE_TRIES && change.changed && status == SMQ_OK; i++) {
        status = repair_level_once(&change.changed, core, name, err);
    }
    (void) snprintf(change.topic.name, sizeof(change.topic.name), "%s", name);
    return status == SMQ_OK && change.changed ? topic_change_fail_busy(err, &change) : status;
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
    status = topic_change_read_named(change, name, &own);
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

/* Repair a topic without groups, or a group. */
static smq_status repair_one(smq_topic_report *report, struct core *core, const char *name,
                             smq_error *err)
{
    struct topic_change change = {.core = core, .changed = true};
    smq_status status = SMQ_OK;

    for (int i = 0; i < TOPIC_CHANGE_TRIES && change.changed; i++) {
        status = repair_once(report, &change, name, err);
    }
    definitions_forget(core->definitions, name);
    if (change.changed) {
        return topic_change_fail_busy(err, &change);
    }
    if (status != SMQ_OK) {
        return status;
    }
    status = topic_change_relist(&change, err);
    if (status == SMQ_OK && !change.found) {
        report_relisted(report);
    }
    return status;
}

/* Read the definition of a group, which is repaired first if it is damaged. */
static smq_status repair_read_repaired(struct topic *out, smq_topic_report *report,
                                       struct core *core, const struct topic *whole, int index,
                                       smq_error *err)
{
    char name[TOPIC_NAME_MAX + 1];
    smq_topic_report one;
    smq_status status = repair_read_part(out, core, whole, index, err);

    if (status != SMQ_DAMAGED) {
        return status;
    }
    topic_part_name(name, whole, index);
    status = repair_one(&one, core, name, err);
    report_join(report, &one, name);
    return status == SMQ_OK ? fanout_definition(out, core, name, err) : status;
}

smq_status repair_from_groups(bool *found, smq_topic_report *report, struct topic_change *change,
                              const struct topic *asked, smq_error *err)
{
    struct topic part, latest = {.version = 0};
    const struct topic *lost = &change->stored;
    smq_status status = SMQ_OK;

    for (int i = 0; i < topic_parts(asked); i++) {
        smq_error own;

        status = repair_read_repaired(&part, report, change->core, asked, i, &own);
        if (status == SMQ_OK && part.version > latest.version) {
            latest = part;
        } else if (status != SMQ_OK && status != SMQ_NO_TOPIC) {
            return status_copy(err, &own);
        }
    }
    *found = latest.version > 0;
    if (!*found) {
        return SMQ_OK;
    }
    change->topic = *asked;
    change->topic.generation = lost->generation > 0 ? lost->generation : 1;
    change->topic.deletes = lost->deletes;
    change->topic.pauses = 0;
    repair_follow(&change->topic, &latest);
    status = repair_write(change, "", err);
    if (status != SMQ_OK || change->changed) {
        return status;
    }
    report->repaired = report->restored = true;
    return repair_level(change->core, asked->name, err);
}

static smq_status repair_groups(smq_topic_report *report, struct core *core,
                                const struct topic *topic, smq_error *err)
{
    smq_topic_report part_report;
    smq_status status = SMQ_OK;

    for (int i = 0; i < topic_parts(topic) && status == SMQ_OK; i++) {
        char name[TOPIC_NAME_MAX + 1];

        topic_part_name(name, topic, i);
        status = repair_one(&part_report, core, name, err);
        report_join(report, &part_report, name);
    }
    return status == SMQ_OK ? repair_level(core, topic->name, err) : status;
}

/* --- all topics --- */

struct repair_name {
    char text[TOPIC_NAME_MAX + 1];
    int32_t left; /* of a deleted topic: slots of which keys are left, or 0 */
    bool deleted;
};

struct repair_names {
    struct repair_name *list;
    size_t count;
};

static bool repair_visit(const smq_topic_info *topic, void *user)
{
    struct repair_names *names = user;

    names->list = memory_grow(names->list, names->count + 1, sizeof(*names->list));
    names->list[names->count] =
        (struct repair_name){.left = topic->options->slots, .deleted = topic->deleted};
    (void) snprintf(names->list[names->count++].text, sizeof(names->list->text), "%s", topic->name);
    return true;
}

static void repair_forget_slot_send(struct store_call *call, int32_t index, void *user)
{
    const struct topic_change *change = user;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_forget(call, change->core->redis, &slot, 0, 0);
}

/* What holds messages, or is a key of another program, stays. */
static enum fanout_next repair_forget_slot_done(const struct store_result *result, int32_t index,
                                                void *user, smq_error *err)
{
    (void) index;
    return result->outcome == STORE_OK || result->outcome == STORE_REFUSED ||
                   result->status == SMQ_INVALID
               ? FANOUT_DONE
               : topic_change_stop(err, user, result, "remove the keys of");
}

static void repair_forget_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_topic_forget(call, change->core->redis, change->topic.name, 0);
}

static enum fanout_next repair_forget_done(const struct store_result *result, void *user,
                                           smq_error *err)
{
    return result->outcome == STORE_OK ? FANOUT_DONE
                                       : topic_change_stop(err, user, result, "remove the keys of");
}

/* Remove what an earlier version has left of a deleted topic. */
static smq_status repair_forget(smq_topic_report *report, struct core *core,
                                const struct repair_name *name, smq_error *err)
{
    struct topic_change change = {.core = core};
    smq_status status;

    (void) snprintf(change.topic.name, sizeof(change.topic.name), "%s", name->text);
    change.topic.slots = name->left;
    change.topic.layout = SMQ_LAYOUT_KEYED; /* which has the most keys */
    status = topic_change_slots(&change, repair_forget_slot_send, repair_forget_slot_done, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = topic_change_one(&change, repair_forget_send, repair_forget_done, err);
    if (status == SMQ_OK) {
        report_forgotten(report);
    }
    return status;
}

static bool repair_is_known(const char *topic, void *user)
{
    const struct repair_names *names = user;

    for (size_t i = 0; i < names->count; i++) {
        if (!names->list[i].deleted && strcmp(names->list[i].text, topic) == 0) {
            return true;
        }
    }
    return false;
}

/* Topics that are stored in Redis are whole, whatever comes of this. */
static void repair_forget_nodes(smq_topic_report *report, struct core *core,
                                struct repair_names *names)
{
    size_t removed;
    smq_error own;
    const smq_status status = admin_fleet_forget(&removed, core, repair_is_known, names, &own);

    report_nodes(report, removed, status == SMQ_OK ? NULL : own.text);
}

static void repair_is_whole_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_registry_is_whole(call, change->core->redis, 0);
}

static enum fanout_next repair_is_whole_done(const struct store_result *result, void *user,
                                             smq_error *err)
{
    (void) user;
    if (result->outcome == STORE_OK) {
        return FANOUT_DONE;
    }
    (void) status_set(err, result->status, "cannot write the registry of topics: %s", result->text);
    return FANOUT_STOP;
}

/* The registry is whole when every topic that has keys was looked for, and those that are found are
 * in it. */
static smq_status repair_all(smq_topic_report *report, struct core *core, smq_error *err)
{
    struct topic_change change = {.core = core};
    struct repair_names names = {.count = 0};
    smq_error own, first;
    smq_status status = admin_topic_each(core, true, repair_visit, &names, &first);

    *report = (smq_topic_report) SMQ_TOPIC_REPORT_INIT;
    for (size_t i = 0; i < names.count; i++) {
        smq_topic_report one = SMQ_TOPIC_REPORT_INIT;
        const struct repair_name *name = &names.list[i];
        smq_status repaired = name->deleted ? repair_forget(&one, core, name, &own)
                                            : admin_topic_repair(&one, core, name->text, &own);

        report_join(report, &one, name->text);
        if (repaired != SMQ_OK && repaired != SMQ_NO_TOPIC && status == SMQ_OK) {
            status = status_copy(&first, &own);
        }
    }
    if (status == SMQ_OK) {
        repair_forget_nodes(report, core, &names);
    }
    free(names.list);
    return status == SMQ_OK
               ? topic_change_one(&change, repair_is_whole_send, repair_is_whole_done, err)
               : status_copy(err, &first);
}

/* A group is repaired with its topic, because both have one version. */
smq_status admin_topic_repair(smq_topic_report *report, struct core *core, const char *topic,
                              smq_error *err)
{
    if (topic != NULL && strcmp(topic, "*") == 0) {
        return repair_all(report, core, err);
    }
    char whole[TOPIC_NAME_MAX + 1];
    struct topic stored;
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    (void) snprintf(whole, sizeof(whole), "%.*s", (int) group_topic_len(topic), topic);
    *report = (smq_topic_report) SMQ_TOPIC_REPORT_INIT;
    status = fanout_definition(&stored, core, whole, NULL);
    if (status == SMQ_OK && stored.groups[0] != '\0') {
        return repair_groups(report, core, &stored, err);
    }
    return repair_one(report, core, topic, err);
}
