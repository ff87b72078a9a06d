/* alter.c - altering, pausing and resuming topics that are in use: first in topic{T}, then in every
 * slot.
 *
 * If a call is interrupted in between, the slots that were not reached continue as before.  The
 * next call that knows an alteration brings it to them; a pause or resume has to be repeated.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include "admin/admin.h"
#include "admin/fail.h"
#include "base/status.h"

/* Other callers may alter the topic between the read and the write. */
enum { ALTER_TRIES = 10 };

struct alteration {
    struct core *core;
    struct topic topic;
    bool paused;
    bool changed; /* another call altered the topic in the meantime */
    int tries;
};

static enum fanout_next alter_fail(smq_error *err, const struct alteration *change,
                                   const struct store_result *result)
{
    (void) status_set(err, result->status != SMQ_OK ? result->status : SMQ_INTERNAL,
                      "cannot change topic %s: %s", change->topic.name,
                      result->status != SMQ_OK ? result->text : "a reply cannot be read");
    return FANOUT_STOP;
}

/* --- alter --- */

static void alter_send(struct store_call *call, void *user)
{
    const struct alteration *change = user;

    store_topic_alter(call, change->core->redis, &change->topic, 0);
}

static enum fanout_next alter_done(const struct store_result *result, void *user, smq_error *err)
{
    struct alteration *change = user;

    change->changed = result->outcome == STORE_REFUSED && result->status == SMQ_TOPIC_DIFFERS;
    if (change->changed ||
        (result->outcome == STORE_OK && store_topic_number_read(&change->topic.version, result) &&
         change->topic.version > 0)) {
        return FANOUT_DONE;
    }
    return alter_fail(err, change, result);
}

static void alter_slot_send(struct store_call *call, int32_t index, void *user)
{
    const struct alteration *change = user;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_alter(call, change->core->redis, &slot, &change->topic, 0);
}

/* A slot with a newer stamp was reached by a later alteration. */
static enum fanout_next alter_slot_done(const struct store_result *result, int32_t index,
                                        void *user, smq_error *err)
{
    const struct alteration *change = user;

    if (result->outcome == STORE_OK || result->outcome == STORE_STALE) {
        return FANOUT_DONE;
    }
    return admin_fail(err, &change->topic, index, result);
}

/* Store the altered definition, unless it is stored already. */
static smq_status alter_once(struct alteration *change, const char *topic, const char *option,
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
    return fanout_one(change->core, alter_send, alter_done, change, err);
}

smq_status admin_topic_alter(struct core *core, const char *topic, const char *option,
                             const char *value, smq_error *err)
{
    struct alteration change = {.core = core, .changed = true};
    smq_status status = topic_check_name(topic, err);

    for (int i = 0; i < ALTER_TRIES && change.changed && status == SMQ_OK; i++) {
        status = alter_once(&change, topic, option, value, err);
    }
    if (status == SMQ_OK && change.changed) {
        return status_set(err, SMQ_TOPIC_DIFFERS, "other callers keep altering topic %s; try again",
                          topic);
    }
    if (status == SMQ_OK) {
        status =
            fanout_many(core, change.topic.slots, alter_slot_send, alter_slot_done, &change, err);
    }
    definitions_forget(core->definitions, topic);
    return status;
}

/* --- pause, resume --- */

static void alter_pause_send(struct store_call *call, void *user)
{
    const struct alteration *change = user;

    store_topic_pause(call, change->core->redis, &change->topic, change->paused, 0);
}

static enum fanout_next alter_pause_done(const struct store_result *result, void *user,
                                         smq_error *err)
{
    struct alteration *change = user;

    change->changed = result->outcome == STORE_REFUSED && result->status == SMQ_TOPIC_DIFFERS;
    if (change->changed) {
        return FANOUT_DONE;
    }
    if (result->outcome == STORE_OK && store_topic_number_read(&change->topic.pauses, result)) {
        change->topic.paused = change->paused;
        return FANOUT_DONE;
    }
    return alter_fail(err, change, result);
}

static void alter_pause_slot_send(struct store_call *call, int32_t index, void *user)
{
    const struct alteration *change = user;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_pause(call, change->core->redis, &slot, &change->topic, 0);
}

static enum fanout_next alter_pause_slot_done(const struct store_result *result, int32_t index,
                                              void *user, smq_error *err)
{
    struct alteration *change = user;

    if (result->outcome == STORE_OK ||
        (result->outcome == STORE_REFUSED && result->status == SMQ_TOPIC_DIFFERS)) {
        return FANOUT_DONE; /* or a later pause or resume has reached the slot */
    }
    change->changed = result->outcome == STORE_STALE;
    return admin_fail(err, &change->topic, index, result);
}

static smq_status alter_pause_once(struct alteration *change, const char *topic, smq_error *err)
{
    smq_status status = fanout_definition(&change->topic, change->core, topic, err);

    change->changed = false;
    if (status != SMQ_OK) {
        return status;
    }
    status = fanout_one(change->core, alter_pause_send, alter_pause_done, change, err);
    if (status != SMQ_OK || change->changed) {
        return status;
    }
    return fanout_many(change->core, change->topic.slots, alter_pause_slot_send,
                       alter_pause_slot_done, change, err);
}

/* If another pause, resume or alteration came in between, it begins again. */
smq_status admin_topic_pause(struct core *core, const char *topic, bool paused, smq_error *err)
{
    struct alteration change = {.core = core, .paused = paused};
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    do {
        status = alter_pause_once(&change, topic, err);
    } while (change.changed && ++change.tries < ALTER_TRIES);
    definitions_forget(core->definitions, topic);
    if (status == SMQ_OK && change.changed) {
        return status_set(err, SMQ_TOPIC_DIFFERS, "other callers keep changing topic %s; try again",
                          topic);
    }
    return status;
}
