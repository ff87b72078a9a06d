/* delete.c - deleting a topic.
 *
 * First topic{T} gets state deleting, then every slot is sealed, then every slot is cleared, then
 * its keys are removed, then topic{T} is.  Tombstones refuse calls that come late, for a while.  A
 * deletion without `force` that finds messages is undone in the opposite order.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>
#include <string.h>

#include "admin/topic_change.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "base/status.h"
#include "store/slot.h"

struct deletion {
    struct topic_change change;
    bool force;                   /* also if it holds messages */
    char id[TOPIC_NONCE_LEN + 1]; /* of this call */
    uint64_t messages;            /* messages found in the slots */
};

/* --- slots: seal, unseal, clear them --- */

static void delete_seal_send(struct store_call *call, int32_t index, void *user)
{
    const struct deletion *deletion = OWNER_OF(user, struct deletion, change);
    const struct topic_change *change = &deletion->change;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_seal(call, change->core->redis, &slot, deletion->force, change->topic.deletes, 0);
}

static enum fanout_next delete_seal_done(const struct store_result *result, int32_t index,
                                         void *user, smq_error *err)
{
    struct deletion *deletion = OWNER_OF(user, struct deletion, change);
    uint64_t messages;

    (void) index;
    if (result->outcome == STORE_OK) {
        return FANOUT_DONE;
    }
    if (result->status == SMQ_NOT_EMPTY && store_slot_seal_read(&messages, result)) {
        deletion->messages += messages;
        return FANOUT_DONE;
    }
    return topic_change_stop(err, &deletion->change, result, "delete");
}

static void delete_unseal_send(struct store_call *call, int32_t index, void *user)
{
    const struct topic_change *change = user;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_unseal(call, change->core->redis, &slot, change->topic.deletes, 0);
}

/* REFUSED: this deletion has not sealed the slot: it is damaged, or another deletion has sealed
 * it. */
static enum fanout_next delete_unseal_done(const struct store_result *result, int32_t index,
                                           void *user, smq_error *err)
{
    (void) index;
    return result->outcome == STORE_OK || result->outcome == STORE_REFUSED
               ? FANOUT_DONE
               : topic_change_stop(err, user, result, "undo the deletion of");
}

static void delete_clear_send(struct store_call *call, int32_t index, void *user)
{
    const struct topic_change *change = user;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_clear(call, change->core->redis, &slot, change->topic.deletes, 0);
}

static enum fanout_next delete_clear_done(const struct store_result *result, int32_t index,
                                          void *user, smq_error *err)
{
    bool more;

    (void) index;
    if (result->outcome != STORE_OK || !store_slot_clear_read(&more, result)) {
        return topic_change_stop(err, user, result, "delete");
    }
    return more ? FANOUT_AGAIN : FANOUT_DONE;
}

static void delete_forget_send(struct store_call *call, int32_t index, void *user)
{
    const struct topic_change *change = user;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_forget(call, change->core->redis, &slot, change->topic.deletes, 0);
}

static enum fanout_next delete_forget_done(const struct store_result *result, int32_t index,
                                           void *user, smq_error *err)
{
    (void) index;
    return result->outcome == STORE_OK ? FANOUT_DONE
                                       : topic_change_stop(err, user, result, "delete");
}

/* --- before anything is changed --- */

static enum fanout_next delete_count_done(const struct store_result *result, int32_t index,
                                          void *user, smq_error *err)
{
    struct topic_change *change = user;
    struct deletion *deletion = OWNER_OF(change, struct deletion, change);
    struct slot_notes notes;

    (void) index;
    if (result->outcome == STORE_OK && store_slot_notes_read(&notes, result)) {
        deletion->messages += notes.messages;
        return FANOUT_DONE;
    }
    return topic_change_is_foreign(err, change, result, "delete")
               ? FANOUT_STOP
               : topic_change_stop(err, change, result, "inspect");
}

static smq_status delete_refuse_full(smq_error *err, const struct deletion *deletion)
{
    return status_set(err, SMQ_NOT_EMPTY,
                      "topic %s still holds %" PRIu64 " messages; consume them, or force its "
                      "deletion",
                      deletion->change.topic.name, deletion->messages);
}

static smq_status delete_check_empty(struct deletion *deletion, smq_error *err)
{
    smq_status status;

    if (deletion->force) {
        return SMQ_OK;
    }
    status = topic_change_slots(&deletion->change, topic_change_look_send, delete_count_done, err);
    return status == SMQ_OK && deletion->messages > 0 ? delete_refuse_full(err, deletion) : status;
}

/* --- topic{T} --- */

static void delete_send(struct store_call *call, void *user)
{
    const struct deletion *deletion = OWNER_OF(user, struct deletion, change);
    const struct topic_change *change = &deletion->change;

    store_topic_delete(call, change->core->redis, &change->topic, deletion->id, 0);
}

static enum fanout_next delete_done(const struct store_result *result, void *user, smq_error *err)
{
    struct topic_change *change = user;

    if (result->outcome == STORE_OK && store_topic_number_read(&change->topic.deletes, result)) {
        return FANOUT_DONE;
    }
    change->changed = result->outcome == STORE_REFUSED;
    return change->changed ? FANOUT_DONE : topic_change_stop(err, change, result, "delete");
}

/* --- a topic without groups, or a group --- */

/* Seal all slots; if that fails unseal them again. */
static smq_status delete_seal_all(struct deletion *deletion, smq_error *err)
{
    struct topic_change *change = &deletion->change;
    smq_status status;

    deletion->messages = 0;
    status = topic_change_slots(change, delete_seal_send, delete_seal_done, err);
    if (status != SMQ_OK || deletion->messages == 0) {
        return status;
    }
    status = topic_change_slots(change, delete_unseal_send, delete_unseal_done, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = topic_change_step(change, STORE_STEP_KEEP, err);
    return status == SMQ_OK ? delete_refuse_full(err, deletion) : status;
}

/* Let no call of the topic into its slots any more.  NOT_EMPTY: all is as before. */
static smq_status delete_seal(struct deletion *deletion, smq_error *err)
{
    smq_status status = delete_check_empty(deletion, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = topic_change_one(&deletion->change, delete_send, delete_done, err);
    return status != SMQ_OK || deletion->change.changed ? status : delete_seal_all(deletion, err);
}

/* The topic leaves the registry while topic{T} still exists, so an interrupted deletion never
 * leaves an entry of the registry without topic{T}. */
static smq_status delete_clear(struct topic_change *change, smq_error *err)
{
    smq_status status = topic_change_slots(change, delete_clear_send, delete_clear_done, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = topic_change_slots(change, delete_forget_send, delete_forget_done, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = topic_change_unregister(change, err);
    return status == SMQ_OK ? topic_change_step(change, STORE_STEP_REMOVED, err) : status;
}

/* --- groups --- */

/* Read topic.G{T}.  The state is MISSING if there is no such group. */
static smq_status delete_read_group(struct deletion *deletion, const char *name, smq_error *err)
{
    smq_error own;
    smq_status status = topic_change_read_named(&deletion->change, name, &own);

    deletion->messages = 0;
    if (status == SMQ_NO_TOPIC && deletion->change.state == STORE_TOPIC_MISSING) {
        return SMQ_OK;
    }
    return status == SMQ_OK ? SMQ_OK : status_copy(err, &own);
}

smq_status delete_check_group(struct core *core, const char *name, bool force, smq_error *err)
{
    struct deletion deletion = {.change = {.core = core}, .force = force};
    smq_status status = delete_read_group(&deletion, name, err);

    return status != SMQ_OK || deletion.change.state == STORE_TOPIC_MISSING
               ? status
               : delete_check_empty(&deletion, err);
}

smq_status delete_seal_group(uint32_t *deletion, struct core *core, const char *name, bool force,
                             smq_error *err)
{
    struct deletion own = {.change = {.core = core, .changed = true}, .force = force};
    const struct topic_change *change = &own.change;
    smq_status status = SMQ_OK;

    random_hex(own.id, sizeof(own.id));
    for (int i = 0; i < TOPIC_CHANGE_TRIES && change->changed && status == SMQ_OK; i++) {
        status = delete_read_group(&own, name, err);
        if (status == SMQ_OK && change->state != STORE_TOPIC_MISSING) {
            status = delete_seal(&own, err);
        }
    }
    definitions_forget(core->definitions, name);
    if (status != SMQ_OK) {
        return status;
    }
    if (change->changed) {
        return topic_change_fail_busy(err, change);
    }
    *deletion = change->topic.deletes;
    return SMQ_OK;
}

/* If another caller has begun a later deletion of the group in the meantime, that one is completed.
 */
smq_status delete_clear_group(struct core *core, const char *name, smq_error *err)
{
    struct deletion deletion = {.change = {.core = core}};
    struct topic_change *change = &deletion.change;
    uint32_t begun = 0;
    smq_error own;
    smq_status status = delete_read_group(&deletion, name, &own);

    while (status == SMQ_OK && change->state == STORE_TOPIC_DELETING &&
           change->topic.deletes != begun) {
        begun = change->topic.deletes;
        status = delete_clear(change, &own);
        if (status != SMQ_OK && delete_read_group(&deletion, name, NULL) == SMQ_OK &&
            (change->state != STORE_TOPIC_DELETING || change->topic.deletes != begun)) {
            status = SMQ_OK;
        }
    }
    definitions_forget(core->definitions, name);
    return status == SMQ_OK ? SMQ_OK : status_copy(err, &own);
}

smq_status delete_unseal_group(struct core *core, const char *name, uint32_t deletion,
                               smq_error *err)
{
    struct deletion own = {.change = {.core = core}};
    struct topic_change *change = &own.change;
    smq_status status = delete_read_group(&own, name, err);

    if (status != SMQ_OK || change->state != STORE_TOPIC_DELETING ||
        change->topic.deletes != deletion) {
        return status;
    }
    status = topic_change_slots(change, delete_unseal_send, delete_unseal_done, err);
    return status == SMQ_OK ? topic_change_step(change, STORE_STEP_KEEP, err) : status;
}

/* Seal the slots of all groups; if one holds messages none of them stays sealed. */
static smq_status delete_seal_groups(struct deletion *deletion, smq_error *err)
{
    struct topic_change *change = &deletion->change;
    char name[TOPIC_NAME_MAX + 1];
    uint32_t deletions[GROUP_MOST] = {0};
    smq_error own;
    smq_status status = SMQ_OK;
    int sealed = 0;

    for (; sealed < topic_parts(&change->topic); sealed++) {
        topic_part_name(name, &change->topic, sealed);
        status = delete_seal_group(&deletions[sealed], change->core, name, deletion->force, &own);
        if (status != SMQ_OK) {
            break;
        }
    }
    if (status != SMQ_NOT_EMPTY) {
        return status == SMQ_OK ? SMQ_OK : status_copy(err, &own);
    }
    while (--sealed >= 0) {
        topic_part_name(name, &change->topic, sealed);
        status = delete_unseal_group(change->core, name, deletions[sealed], err);
        if (status != SMQ_OK) {
            return status;
        }
    }
    status = topic_change_step(change, STORE_STEP_KEEP, err);
    return status == SMQ_OK ? status_copy(err, &own) : status;
}

/* A topic with groups has no slots of its own. */
static smq_status delete_whole(struct deletion *deletion, smq_error *err)
{
    struct topic_change *change = &deletion->change;
    char name[TOPIC_NAME_MAX + 1];
    smq_status status = SMQ_OK;

    for (int i = 0; i < topic_parts(&change->topic) && status == SMQ_OK; i++) {
        topic_part_name(name, &change->topic, i);
        status = delete_check_group(change->core, name, deletion->force, err);
    }
    if (status != SMQ_OK) {
        return status;
    }
    status = topic_change_one(change, delete_send, delete_done, err);
    if (status != SMQ_OK || change->changed) {
        return status;
    }
    status = delete_seal_groups(deletion, err);
    for (int i = 0; i < topic_parts(&change->topic) && status == SMQ_OK; i++) {
        topic_part_name(name, &change->topic, i);
        status = delete_clear_group(change->core, name, err);
    }
    return status == SMQ_OK ? topic_change_step(change, STORE_STEP_REMOVED, err) : status;
}

/* --- the call --- */

static smq_status delete_stored(struct deletion *deletion, smq_error *err)
{
    struct topic_change *change = &deletion->change;
    smq_status status;

    if (change->topic.groups[0] != '\0') {
        return delete_whole(deletion, err);
    }
    status = delete_seal(deletion, err);
    return status != SMQ_OK || change->changed ? status : delete_clear(change, err);
}

/* topic{T} is missing.  If slots of it exist nothing is deleted.  Otherwise its name is removed
 * from the registry, and the call still returns that there is no such topic. */
static smq_status delete_missing(struct topic_change *change, smq_error *err)
{
    struct topic found;
    smq_error own;
    smq_status status = fanout_definition(&found, change->core, change->topic.name, &own);

    change->changed = status == SMQ_OK; /* another caller has created it */
    if (status == SMQ_NO_TOPIC && topic_change_unregister(change, &own) == SMQ_OK &&
        change->found) {
        return status_set(err, SMQ_NO_TOPIC,
                          "no topic %s; its name has been removed from the list of topics",
                          change->topic.name);
    }
    return status == SMQ_OK ? SMQ_OK : status_copy(err, &own);
}

static smq_status delete_once(struct deletion *deletion, const char *name, smq_error *err)
{
    struct topic_change *change = &deletion->change;
    smq_error own;
    smq_status status = topic_change_read_named(change, name, &own);

    deletion->messages = 0;
    if (status == SMQ_NO_TOPIC && change->state == STORE_TOPIC_MISSING) {
        return delete_missing(change, err);
    }
    return status == SMQ_OK ? delete_stored(deletion, err) : status_copy(err, &own);
}

/* A deletion of another caller is not joined: it may be one by force. */
smq_status delete_disused(struct topic_change *change, smq_error *err)
{
    struct deletion deletion = {.change = *change, .force = change->topic.expires_with_messages};
    smq_status status;

    random_hex(deletion.id, sizeof(deletion.id));
    deletion.id[0] = STORE_DISUSED;
    deletion.change.changed = false;
    status = delete_stored(&deletion, err);
    *change = deletion.change;
    definitions_forget(change->core->definitions, change->topic.name);
    return status;
}

smq_status delete_topic(struct core *core, const char *topic, bool force, smq_error *err)
{
    struct deletion deletion = {.change = {.core = core, .changed = true}, .force = force};
    const struct topic_change *change = &deletion.change;
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    random_hex(deletion.id, sizeof(deletion.id));
    for (int i = 0; i < TOPIC_CHANGE_TRIES && change->changed; i++) {
        status = delete_once(&deletion, topic, err);
    }
    definitions_forget(core->definitions, topic);
    return change->changed ? topic_change_fail_busy(err, change) : status;
}
