/* alter.c - altering, pausing and resuming topics that are in use: first in topic{T}, then in every
 * slot.
 *
 * If a call is interrupted in between, the slots that were not reached continue as before.  The
 * next call that knows an alteration brings it to them; a pause or resume has to be repeated.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
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

/* Store the altered definition, unless it is stored already. */
static smq_status alter_once(struct topic_change *change, const char *topic, const char *option,
                             const char *value, smq_error *err)
{
    char difference[160];
    struct topic stored;
    smq_status status = fanout_definition(&stored, change->core, topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    change->topic = stored;
    change->changed = false;
    status = topic_alter(&change->topic, option, value, err);
    if (status != SMQ_OK ||
        !topic_difference(difference, sizeof(difference), &stored, &change->topic)) {
        return status;
    }
    return topic_change_one(change, alter_send, alter_done, err);
}

smq_status admin_topic_alter(struct core *core, const char *topic, const char *option,
                             const char *value, smq_error *err)
{
    struct topic_change change = {.core = core, .changed = true};
    smq_status status = topic_check_name(topic, err);

    for (int i = 0; i < TOPIC_CHANGE_TRIES && change.changed && status == SMQ_OK; i++) {
        status = alter_once(&change, topic, option, value, err);
    }
    if (status == SMQ_OK && change.changed) {
        return topic_change_fail_busy(err, &change);
    }
    if (status == SMQ_OK) {
        status = topic_change_slots(&change, alter_slot_send, alter_slot_done, err);
    }
    definitions_forget(core->definitions, topic);
    return status;
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
    smq_status status = fanout_definition(&change->topic, change->core, topic, err);

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
