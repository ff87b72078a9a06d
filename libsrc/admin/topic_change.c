/* topic_change.c - see topic_change.h.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include "admin/topic_change.h"

#include "base/clock.h"
#include "base/status.h"

smq_status work_fail(smq_error *err, const struct work *work, smq_status status, const char *what,
                     const char *text)
{
    return status_set(err, status, "cannot %s topic %s: %s", what, work->topic.name, text);
}

enum calls_next work_stop(smq_error *err, const struct work *work,
                          const struct store_result *result, const char *what)
{
    bool odd = result->status == SMQ_OK;

    (void) work_fail(err, work, odd ? SMQ_INTERNAL : result->status, what,
                     odd ? "an answer cannot be read" : result->text);
    return CALLS_STOP;
}

smq_status work_give_up(smq_error *err, const struct work *work)
{
    return status_set(err, SMQ_TOPIC_DIFFERS,
                      "topic %s is changed by others all the time; try again", work->topic.name);
}

smq_status work_one(struct work *work, work_send_fn *send, work_done_fn *done, smq_error *err)
{
    return calls_run(
        work->core, &(struct calls_job){.count = 1, .user = work, .send = send, .done = done}, err);
}

smq_status work_slots(struct work *work, work_send_fn *send, work_done_fn *done, smq_error *err)
{
    return calls_run(
        work->core,
        &(struct calls_job){.count = work->topic.slots, .user = work, .send = send, .done = done},
        err);
}

/* --- topic{T} --- */

static void read_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_topic_get(call, work->core->redis, work->topic.name, 0);
}

static enum calls_next read_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct work *work = user;
    struct topic stored = work->topic;

    (void) index;
    if (result->outcome != STORE_OK) {
        (void) store_topic_get_failed(work->topic.name, result, err);
        return CALLS_STOP;
    }
    if (store_topic_get_read(&stored, &work->state, work->topic.name, result, err) == SMQ_OK) {
        work->topic = stored;
        return CALLS_DONE;
    }
    work->topic.generation = stored.generation;
    work->topic.deletes = stored.deletes;
    return CALLS_STOP;
}

smq_status work_read(struct work *work, smq_error *err)
{
    work->changed = false;
    return work_one(work, read_send, read_done, err);
}

static void step_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_topic_step(call, work->core->redis, &work->topic, work->step, 0);
}

static enum calls_next step_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct work *work = user;

    (void) index;
    if (result->outcome == STORE_OK) {
        return CALLS_DONE;
    }
    if (result->outcome == STORE_NO_TOPIC) {
        (void) status_set(err, SMQ_NO_TOPIC, "topic %s was deleted meanwhile", work->topic.name);
        return CALLS_STOP;
    }
    work->changed = result->outcome == STORE_REFUSED;
    return work_stop(err, work, result, "change the state of");
}

smq_status work_step(struct work *work, enum store_topic_step step, smq_error *err)
{
    work->step = step;
    return work_one(work, step_send, step_done, err);
}

/* --- the registry --- */

static void register_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_registry_add(call, work->core->redis, work->topic.name, clock_wall_ms(), 0);
}

static void unregister_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_registry_remove(call, work->core->redis, work->topic.name, 0);
}

static enum calls_next registry_done(const struct store_result *result, int32_t index, void *user,
                                     smq_error *err)
{
    struct work *work = user;

    (void) index;
    if (result->outcome != STORE_OK) {
        return work_stop(err, work, result, "write the registry for");
    }
    work->found = result->reply->type == REDIS_REPLY_INTEGER && result->reply->integer == 1;
    return CALLS_DONE;
}

smq_status work_register(struct work *work, smq_error *err)
{
    return work_one(work, register_send, registry_done, err);
}

smq_status work_unregister(struct work *work, smq_error *err)
{
    return work_one(work, unregister_send, registry_done, err);
}

/* --- opening slots --- */

void work_open_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_slot_open(call, work->core->redis, &slot, &work->topic, 0);
}

bool work_is_foreign(smq_error *err, const struct work *work, const struct store_result *result,
                     const char *what)
{
    char key[SLOT_KEY_MAX];

    if (!store_slot_foreign_read(key, result)) {
        return false;
    }
    (void) status_set(err, SMQ_INVALID,
                      "cannot %s topic %s: the key %s holds something else; rename the topic, or "
                      "the key",
                      what, work->topic.name, key);
    return true;
}
