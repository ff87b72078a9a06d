/* alter.c - altering, pausing and resuming topics that are in use: first in topic{T}, then in every
 * slot.
 *
 * If an alteration adds a group, the group is made before the topic names it, so a producer that
 * has read of the group can send to it.  A group that is dropped is sealed before the topic ceases
 * to name it, so nothing is sent to it that nobody would consume.
 *
 * If a call is interrupted in between, the slots that were not reached continue as before.  The
 * next call that knows an alteration brings it to them; a pause or resume has to be repeated.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <string.h>

#include "admin/admin.h"
#include "admin/fail.h"
#include "admin/topic_change.h"

/* --- alter --- */

static void alter_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_topic_alter(call, change->core->redis, &change->topic, 0);
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

/* Make the groups that the altered topic has and the stored one has not, with the stored options
 * and version: the slots of a group take a newer stamp from each send. */
static smq_status alter_add_groups(const struct topic_change *change, smq_error *err)
{
    smq_topic_report report;
    struct topic wanted = change->stored;
    struct topic part;
    smq_status status = SMQ_OK;

    memcpy(wanted.groups, change->topic.groups, sizeof(wanted.groups));
    for (int i = 0; i < topic_parts(&wanted) && status == SMQ_OK; i++) {
        topic_part(&part, &wanted, i);
        if (!topic_has_part(&change->stored, part.name)) {
            status = create_one(&report, change->core, &part, err);
        }
    }
    return status;
}

/* Take a step with each group that the stored topic has and the altered one has not. */
static smq_status alter_drop_groups(const struct topic_change *change,
                                    smq_status (*step)(struct core *, const char *, bool,
                                                       smq_error *),
                                    smq_error *err)
{
    char name[TOPIC_NAME_MAX + 1];
    smq_status status = SMQ_OK;

    for (int i = 0; i < topic_parts(&change->stored) && status == SMQ_OK; i++) {
        topic_part_name(name, &change->stored, i);
        if (!topic_has_part(&change->topic, name)) {
            status = step(change->core, name, change->force, err);
        }
    }
    return status;
}

/* Store the altered definition, unless it is stored already. */
static smq_status alter_once(struct topic_change *change, const char *topic, const char *option,
                             const char *value, smq_error *err)
{
    char difference[160];
    smq_status status = fanout_definition(&change->stored, change->core, topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    change->topic = change->stored;
    change->changed = false;
    status = topic_alter(&change->topic, option, value, err);
    if (status != SMQ_OK ||
        !topic_difference(difference, sizeof(difference), &change->stored, &change->topic)) {
        return status;
    }
    status = alter_drop_groups(change, delete_check_group, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = alter_add_groups(change, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = alter_drop_groups(change, delete_seal_group, err);
    if (status != SMQ_OK) {
        return status;
    }
    return topic_change_one(change, alter_send, alter_done, err);
}

/* Bring the stored definition to all slots. */
static smq_status alter_slots(const struct topic_change *change, smq_error *err)
{
    struct topic_change part = {.core = change->core};
    smq_status status = SMQ_OK;

    for (int i = 0; i < topic_parts(&change->topic) && status == SMQ_OK; i++) {
        topic_part(&part.topic, &change->topic, i);
        status = topic_change_slots(&part, alter_slot_send, alter_slot_done, err);
        definitions_forget(change->core->definitions, part.topic.name);
    }
    return status;
}

smq_status alter_topic(struct core *core, const char *topic, const char *option, const char *value,
                       bool force, smq_error *err)
{
    struct topic_change change = {.core = core, .force = force, .changed = true};
    smq_status status = topic_check_whole(topic, "alter", err);

    for (int i = 0; i < TOPIC_CHANGE_TRIES && change.changed && status == SMQ_OK; i++) {
        status = alter_once(&change, topic, option, value, err);
    }
    definitions_forget(core->definitions, topic);
    if (status == SMQ_OK && change.changed) {
        return topic_change_fail_busy(err, &change);
    }
    if (status != SMQ_OK) {
        return status;
    }
    status = alter_slots(&change, err);
    return status == SMQ_OK ? alter_drop_groups(&change, delete_clear_group, err) : status;
}

smq_status admin_topic_alter(struct core *core, const char *topic, const char *option,
                             const char *value, smq_error *err)
{
    return alter_topic(core, topic, option, value, false, err);
}

/* --- pause, resume --- */

static void alter_pause_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_topic_pause(call, change->core->redis, &change->topic, change->paused, 0);
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
        change->topic.paused = change->paused;
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
    struct topic_change change = {.core = core, .paused = paused, .changed = true};
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    for (int i = 0; i < TOPIC_CHANGE_TRIES && change.changed; i++) {
        status = alter_pause_once(&change, topic, err);
    }
    definitions_forget(core->definitions, topic);
    if (status == SMQ_OK && change.changed) {
        return topic_change_fail_busy(err, &change);
    }
    return status;
}
