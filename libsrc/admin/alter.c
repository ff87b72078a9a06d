/* alter.c - altering, pausing and resuming topics that are in use: first in topic{T}, then in every
 * slot.
 *
 * If an alteration adds a group, the group is made before the topic names it, so a producer that
 * has read of the group can send to it.  A group that is dropped is sealed before the topic ceases
 * to name it, so nothing is sent to it that nobody would consume.  Of two callers who alter the
 * list of groups at the same time, one succeeds; the other takes back what it has begun.
 *
 * If a call is interrupted in between, the slots that were not reached continue as before.  The
 * next call that knows an alteration brings it to them; a pause or resume has to be repeated.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/alteration.h"
#include "admin/fail.h"
#include "base/buf.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "store/slot.h"

/* --- alter --- */

static void alter_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_topic_alter(call, change->core->redis, &change->topic, &change->stored, 0);
}

static enum fanout_next alter_done(const struct store_result *result, void *user, smq_error *err)
{
    struct topic_change *change = user;

    change->changed = result->outcome == STORE_REFUSED && result->status == SMQ_TOPIC_DIFFERS;
    if (change->changed ||
        (result->outcome == STORE_OK && store_topic_number_read(&change->topic.version, result) &&
         change->topic.version > 0)) {
        return FANOUT_DONE;
    }
    return topic_change_stop(err, change, result, "change");
}

static void alter_slot_send(struct store_call *call, int32_t index, void *user)
{
    const struct topic_change *change = user;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_alter(call, change->core->redis, &slot, &change->topic, 0);
}

/* A slot with a newer stamp was reached by a later alteration. */
static enum fanout_next alter_slot_done(const struct store_result *result, int32_t index,
                                        void *user, smq_error *err)
{
    const struct topic_change *change = user;

    if (result->outcome == STORE_OK || result->outcome == STORE_STALE) {
        return FANOUT_DONE;
    }
    return admin_fail(err, &change->topic, index, result);
}

/* Read the definition, and alter the copy of it.  An alteration that names all groups is based on
 * the list that was read first, so that list must still be stored; or the wanted one, which another
 * caller has stored then.  Any other wants the list that is stored. */
static smq_status alter_read(struct alteration *alteration, const char *topic, smq_error *err)
{
    struct topic_change *change = &alteration->change;
    smq_status status = fanout_definition(&change->stored, change->core, topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    change->topic = change->stored;
    change->changed = false;
    status = topic_alter(&change->topic, alteration->options, alteration->fields, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (alteration->from[0] == '\0') {
        memcpy(alteration->from, change->stored.groups, sizeof(alteration->from));
    }
    memcpy(alteration->to, change->topic.groups, sizeof(alteration->to));
    alteration->conflict = strcmp(alteration->from, change->stored.groups) != 0 &&
                           strcmp(alteration->to, change->stored.groups) != 0;
    return status;
}

static smq_status alter_groups(struct alteration *alteration, smq_error *err)
{
    smq_status status = alteration_check_kept(alteration, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = alteration_check_dropped(alteration, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = alteration_make_added(alteration, err);
    return status == SMQ_OK ? alteration_seal_dropped(alteration, err) : status;
}

static bool alter_see_whole(const smq_message_info *message, void *user)
{
    bool *seen = user;

    *seen = message->whole;
    return !*seen;
}

/* Versions that know format 4 alone would misread whole messages. */
static smq_status alter_check_back(const struct topic_change *change, smq_error *err)
{
    const smq_filter filter =
        SMQ_FILTER(.states = SMQ_STATE_WAITING | SMQ_STATE_CLAIMED | SMQ_STATE_RESTING);
    bool goes_back =
        change->stored.format >= TOPIC_FORMAT_WHOLE && change->topic.format < TOPIC_FORMAT_WHOLE;
    char name[TOPIC_NAME_MAX + 1];
    smq_status status = SMQ_OK;
    bool seen = false;

    for (int i = 0; goes_back && !seen && i < topic_parts(&change->stored) && status == SMQ_OK;
         i++) {
        topic_part_name(name, &change->stored, i);
        status = admin_message_each(change->core, name, &filter, alter_see_whole, &seen, err);
    }
    return status == SMQ_OK && seen
               ? status_set(err, SMQ_NOT_EMPTY,
                            "format cannot become %d while messages are stored as format %d stores "
                            "them: run slotmq topic upgrade %s --back when they are handled",
                            change->topic.format, change->stored.format, change->stored.name)
               : status;
}

/* Store the altered definition, unless it is stored already. */
static smq_status alter_once(struct alteration *alteration, const char *topic, smq_error *err)
{
    struct topic_change *change = &alteration->change;
    char difference[160];
    smq_status status = alter_read(alteration, topic, err);

    if (status != SMQ_OK || alteration->conflict ||
        !topic_difference(difference, sizeof(difference), &change->stored, &change->topic)) {
        return status;
    }
    status = alter_check_back(change, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = expire_mark(change, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = alter_groups(alteration, err);
    return status == SMQ_OK ? topic_change_one(change, alter_send, alter_done, err) : status;
}

static smq_status alter_store(struct alteration *alteration, const char *topic, smq_error *err)
{
    struct topic_change *change = &alteration->change;
    smq_status status = SMQ_OK;

    change->changed = true;
    for (int i = 0; i < TOPIC_CHANGE_TRIES && change->changed && status == SMQ_OK; i++) {
        status = alter_once(alteration, topic, err);
    }
    definitions_forget(change->core->definitions, topic);
    return status == SMQ_OK && change->changed ? topic_change_fail_busy(err, change) : status;
}

static smq_status alter_fail_conflict(smq_error *err, const struct alteration *alteration)
{
    const struct topic *stored = &alteration->change.stored;

    return status_set(err, SMQ_TOPIC_DIFFERS,
                      "another caller changed the groups of topic %s at the same time, to %.200s; "
                      "this call has changed nothing: try again, with all groups that the topic "
                      "shall have",
                      stored->name, stored->groups);
}

static smq_status alter_fail_half_done(smq_error *err, const smq_error *why)
{
    return status_set(err, why->status,
                      "%.300s; it may be half done, because a server was away: alter the groups "
                      "again",
                      why->text);
}

/* What was begun is taken back if it is known that the definition is not stored. */
static smq_status alter_give_up(const struct alteration *alteration, const smq_error *why,
                                smq_error *err)
{
    smq_class class = smq_status_class(why->status);

    if (class == SMQ_CLASS_RETRY || class == SMQ_CLASS_UNKNOWN ||
        alteration_take_back(alteration)) {
        return status_copy(err, why);
    }
    return alter_fail_half_done(err, why);
}

/* Bring the definition to the slots of a part. */
static smq_status alter_part(struct topic_change *part, smq_error *err)
{
    smq_status status = topic_change_slots(part, alter_slot_send, alter_slot_done, err);

    return status == SMQ_OK ? topic_change_relist(part, err) : status;
}

/* The way back: the bodies of a part that stand behind their headers get fields of their own. */
struct divide {
    const struct topic_change *part;
    char (*cursors)[STORE_DIVIDED_MAX]; /* of each slot */
    bool divided;                       /* there were such bodies */
};

static void alter_divide_send(struct store_call *call, int32_t index, void *user)
{
    const struct divide *divide = user;
    struct store_slot slot;

    store_slot_fill(&slot, &divide->part->topic, index);
    store_slot_divide(call, divide->part->core->redis, &slot, divide->cursors[index], 0);
}

static enum fanout_next alter_divide_done(const struct store_result *result, int32_t index,
                                          void *user, smq_error *err)
{
    struct divide *divide = user;
    uint64_t divided;

    if (result->outcome != STORE_OK ||
        !store_slot_divide_read(divide->cursors[index], &divided, result)) {
        return admin_fail(err, &divide->part->topic, index, result);
    }
    divide->divided = divide->divided || divided > 0;
    return strcmp(divide->cursors[index], "0") == 0 ? FANOUT_DONE : FANOUT_AGAIN;
}

/* All slots know that no such body is stored any more, so one walk finds all, if no replica takes
 * over; and then another one. */
static smq_status alter_divide(const struct topic_change *part, smq_error *err)
{
    int32_t slots = part->topic.slots;
    struct divide divide = {.part = part, .divided = true};
    smq_status status = SMQ_OK;

    divide.cursors = memory_new((size_t) slots * sizeof(*divide.cursors));
    while (divide.divided && status == SMQ_OK) {
        divide.divided = false;
        for (int32_t i = 0; i < slots; i++) {
            (void) snprintf(divide.cursors[i], STORE_DIVIDED_MAX, "0");
        }
        status = fanout_many(part->core, slots, alter_divide_send, alter_divide_done, &divide, err);
    }
    free(divide.cursors);
    return status;
}

/* Bring the stored definition to all slots. */
static smq_status alter_slots(const struct topic_change *change, smq_error *err)
{
    struct topic_change part = {.core = change->core};
    bool goes_back = change->stored.layout == SMQ_LAYOUT_KEYED &&
                     change->stored.format >= TOPIC_FORMAT_WHOLE &&
                     topic_field_from(&change->topic) == 0;
    smq_status status = SMQ_OK;

    for (int i = 0; i < topic_parts(&change->topic) && status == SMQ_OK; i++) {
        topic_part(&part.topic, &change->topic, i);
        status = alter_part(&part, err);
        if (status == SMQ_OK && goes_back) {
            status = alter_divide(&part, err);
        }
        definitions_forget(change->core->definitions, part.topic.name);
    }
    return status;
}

static smq_status alter_all(struct alteration *alteration, const char *topic, smq_error *err)
{
    struct topic_change *change = &alteration->change;
    smq_error own;
    smq_status status = alter_store(alteration, topic, &own);

    if (status == SMQ_OK && alteration->conflict) {
        status = alter_fail_conflict(&own, alteration);
    }
    if (status != SMQ_OK) {
        return alter_give_up(alteration, &own, err);
    }
    status = alter_slots(change, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = expire_list(change, err);
    return status == SMQ_OK ? alteration_clear_dropped(alteration, err) : status;
}

/* Write all groups of the topic but this one. */
static void alter_groups_without(struct buf *out, const struct topic *topic, const char *name)
{
    char part[TOPIC_NAME_MAX + 1];

    for (int i = 0; i < topic_parts(topic); i++) {
        topic_part_name(part, topic, i);
        if (strcmp(part, name) != 0) {
            buf_printf(out, "%s%s", out->len > 0 ? "," : "", group_in(part));
        }
    }
}

smq_status alter_drop_group(bool *again, struct core *core, const struct topic *stored,
                            const char *name, bool force, smq_error *err)
{
    struct buf left = {0};
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;
    struct alteration alteration = {
        .change = {.core = core}, .force = force, .options = &options, .fields = "groups"};
    smq_status status;

    alter_groups_without(&left, stored, name);
    options.groups = left.data;
    memcpy(alteration.from, stored->groups, sizeof(alteration.from));
    status = alter_all(&alteration, stored->name, err);
    *again = alteration.conflict;
    buf_fini(&left);
    return status;
}

smq_status admin_topic_alter(struct core *core, const smq_topic_options *options,
                             const char *fields, smq_error *err)
{
    struct alteration alteration = {.change = {.core = core}, .options = options, .fields = fields};
    smq_status status = topic_check_whole(options->name, "alter", err);

    return status == SMQ_OK ? alter_all(&alteration, options->name, err) : status;
}

/* --- pause, resume --- */

struct pause {
    struct topic_change change;
    bool paused; /* or it is a resume */
};

static void alter_pause_send(struct store_call *call, void *user)
{
    const struct pause *pause = OWNER_OF(user, struct pause, change);

    store_topic_pause(call, pause->change.core->redis, &pause->change.topic, pause->paused, 0);
}

static enum fanout_next alter_pause_done(const struct store_result *result, void *user,
                                         smq_error *err)
{
    struct topic_change *change = user;

    change->changed = result->outcome == STORE_REFUSED && result->status == SMQ_TOPIC_DIFFERS;
    if (change->changed) {
        return FANOUT_DONE;
    }
    if (result->outcome == STORE_OK && store_topic_number_read(&change->topic.pauses, result)) {
        change->topic.paused = OWNER_OF(change, struct pause, change)->paused;
        return FANOUT_DONE;
    }
    return topic_change_stop(err, change, result, "change");
}

static void alter_pause_slot_send(struct store_call *call, int32_t index, void *user)
{
    const struct topic_change *change = user;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_pause(call, change->core->redis, &slot, &change->topic, 0);
}

static enum fanout_next alter_pause_slot_done(const struct store_result *result, int32_t index,
                                              void *user, smq_error *err)
{
    struct topic_change *change = user;

    if (result->outcome == STORE_OK ||
        (result->outcome == STORE_REFUSED && result->status == SMQ_TOPIC_DIFFERS)) {
        return FANOUT_DONE; /* or a later pause or resume has reached the slot */
    }
    change->changed = result->outcome == STORE_STALE;
    return admin_fail(err, &change->topic, index, result);
}

static smq_status alter_pause_once(struct topic_change *change, const char *topic, smq_error *err)
{
    smq_status status = fanout_holder(&change->topic, change->core, topic, err);

    change->changed = false;
    if (status != SMQ_OK) {
        return status;
    }
    status = topic_change_one(change, alter_pause_send, alter_pause_done, err);
    if (status != SMQ_OK || change->changed) {
        return status;
    }
    return topic_change_slots(change, alter_pause_slot_send, alter_pause_slot_done, err);
}

/* If another pause, resume or alteration came in between, it begins again. */
smq_status admin_topic_pause(struct core *core, const char *topic, bool paused, smq_error *err)
{
    struct pause pause = {.change = {.core = core, .changed = true}, .paused = paused};
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    for (int i = 0; i < TOPIC_CHANGE_TRIES && pause.change.changed; i++) {
        status = alter_pause_once(&pause.change, topic, err);
    }
    definitions_forget(core->definitions, topic);
    return status == SMQ_OK && pause.change.changed ? topic_change_fail_busy(err, &pause.change)
                                                    : status;
}
