/* delete.c - delete a topic.
 *
 * First topic{T} in state deleting, then every slot is sealed, then cleared, then topic{T} is
 * removed. A deletion that finds messages and may not throw them away is taken back in the other
 * order.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/topic_change.h"
#include "base/random.h"
#include "base/status.h"

/* --- slots: seal, unseal, clear them --- */

static void seal_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_slot_seal(call, work->core->redis, &slot, work->force, work->topic.deletes, 0);
}

static enum calls_next seal_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct work *work = user;
    uint64_t messages;

    (void) index;
    if (result->outcome == STORE_OK) {
        return CALLS_DONE;
    }
    if (result->status == SMQ_NOT_EMPTY && store_slot_seal_read(&messages, result)) {
        work->messages += messages;
        return CALLS_DONE;
    }
    return work_stop(err, work, result, "delete");
}

static void unseal_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_slot_unseal(call, work->core->redis, &slot, work->topic.deletes, 0);
}

/* REFUSED: this deletion has not sealed it; it is damaged, or another deletion has. */
static enum calls_next unseal_done(const struct store_result *result, int32_t index, void *user,
                                   smq_error *err)
{
    (void) index;
    return result->outcome == STORE_OK || result->outcome == STORE_REFUSED
               ? CALLS_DONE
               : work_stop(err, user, result, "take back the deletion of");
}

static void clear_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_slot_clear(call, work->core->redis, &slot, work->topic.deletes, 0);
}

static enum calls_next clear_done(const struct store_result *result, int32_t index, void *user,
                                  smq_error *err)
{
    bool more;

    (void) index;
    if (result->outcome != STORE_OK || !store_slot_clear_read(&more, result)) {
        return work_stop(err, user, result, "delete");
    }
    return more ? CALLS_AGAIN : CALLS_DONE;
}

/* --- before anything is changed --- */

static void count_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_slot_read(call, work->core->redis, &slot, 0);
}

static enum calls_next count_done(const struct store_result *result, int32_t index, void *user,
                                  smq_error *err)
{
    struct work *work = user;
    struct slot_notes notes;

    (void) index;
    if (result->outcome == STORE_OK && store_slot_notes_read(&notes, result)) {
        work->messages += notes.messages;
        return CALLS_DONE;
    }
    return work_is_foreign(err, work, result, "delete") ? CALLS_STOP
                                                        : work_stop(err, work, result, "look at");
}

static smq_status not_empty(smq_error *err, const struct work *work)
{
    return status_set(err, SMQ_NOT_EMPTY,
                      "topic %s still holds %" PRIu64 " messages; consume them, or force its "
                      "deletion",
                      work->topic.name, work->messages);
}

static smq_status check_empty(struct work *work, smq_error *err)
{
    smq_status status = work->force ? SMQ_OK : work_slots(work, count_send, count_done, err);

    return status == SMQ_OK && work->messages > 0 ? not_empty(err, work) : status;
}

/* --- topic{T} --- */

static void delete_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_topic_delete(call, work->core->redis, &work->topic, work->id, 0);
}

static enum calls_next delete_done(const struct store_result *result, int32_t index, void *user,
                                   smq_error *err)
{
    struct work *work = user;

    (void) index;
    if (result->outcome == STORE_OK && store_topic_number_read(&work->topic.deletes, result)) {
        return CALLS_DONE;
    }
    work->changed = result->outcome == STORE_REFUSED;
    return work->changed ? CALLS_DONE : work_stop(err, work, result, "delete");
}

/* --- the call --- */

/* Withdraw the definition from all slots, or from none. */
static smq_status seal_all(struct work *work, smq_error *err)
{
    smq_status status;

    work->messages = 0;
    status = work_slots(work, seal_send, seal_done, err);
    if (status != SMQ_OK || work->messages == 0) {
        return status;
    }
    status = work_slots(work, unseal_send, unseal_done, err);
    if (status == SMQ_OK) {
        status = work_step(work, STORE_STEP_KEEP, err);
    }
    return status == SMQ_OK ? not_empty(err, work) : status;
}

/* It leaves the registry while topic{T} is there: so an entry without it is never what a cut
 * deletion has left. */
static smq_status delete_stored(struct work *work, smq_error *err)
{
    smq_status status = check_empty(work, err);

    if (status == SMQ_OK) {
        status = work_one(work, delete_send, delete_done, err);
    }
    if (status != SMQ_OK || work->changed) {
        return status;
    }
    status = seal_all(work, err);
    if (status == SMQ_OK) {
        status = work_slots(work, clear_send, clear_done, err);
    }
    if (status == SMQ_OK) {
        status = work_unregister(work, err);
    }
    return status == SMQ_OK ? work_step(work, STORE_STEP_REMOVED, err) : status;
}

/* topic{T} is not there.  Its slots may be: then nothing is deleted.  Else its name leaves the
 * registry, and the answer stays that there is no such topic. */
static smq_status delete_missing(struct work *work, smq_error *err)
{
    struct topic found;
    smq_error own;
    smq_status status = calls_definition(&found, work->core, work->topic.name, &own);

    work->changed = status == SMQ_OK; /* created meanwhile */
    if (status == SMQ_NO_TOPIC && work_unregister(work, &own) == SMQ_OK && work->found) {
        return status_set(err, SMQ_NO_TOPIC,
                          "no topic %s; its name has been removed from the list of topics",
                          work->topic.name);
    }
    return status == SMQ_OK ? SMQ_OK : status_copy(err, &own);
}

static smq_status delete_once(struct work *work, const char *name, smq_error *err)
{
    smq_error own;
    smq_status status;

    memset(&work->topic, 0, sizeof(work->topic));
    memcpy(work->topic.name, name, strlen(name) + 1);
    work->messages = 0;
    status = work_read(work, &own);
    if (status == SMQ_NO_TOPIC && work->state == STORE_TOPIC_MISSING) {
        return delete_missing(work, err);
    }
    return status == SMQ_OK ? delete_stored(work, err) : status_copy(err, &own);
}

smq_status admin_topic_delete(struct core *core, const char *topic, bool force, smq_error *err)
{
    struct work work = {.core = core, .force = force, .changed = true};
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    random_hex(work.id, sizeof(work.id));
    for (int i = 0; i < WORK_TRIES && work.changed; i++) {
        status = delete_once(&work, topic, err);
    }
    definitions_forget(core->definitions, topic);
    return work.changed ? work_give_up(err, &work) : status;
}
