/* topic_change.c - see topic_change.h.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include "admin/topic_change.h"

#include "admin/admin.h"
#include "base/clock.h"
#include "base/status.h"
#include "model/group.h"
#include "store/slot.h"

enum fanout_next topic_change_stop(smq_error *err, const struct topic_change *change,
                                   const struct store_result *result, const char *what)
{
    bool odd = result->status == SMQ_OK;

    (void) status_set(err, odd ? SMQ_INTERNAL : result->status, "cannot %s topic %s: %s", what,
                      change->topic.name, odd ? "a reply cannot be read" : result->text);
    return FANOUT_STOP;
}

smq_status topic_change_fail_busy(smq_error *err, const struct topic_change *change)
{
    return status_set(err, SMQ_TOPIC_DIFFERS, "other callers keep changing topic %s; try again",
                      change->topic.name);
}

smq_status topic_change_one(struct topic_change *change, fanout_one_send_fn *send,
                            fanout_one_done_fn *done, smq_error *err)
{
    return fanout_one(change->core, send, done, change, err);
}

smq_status topic_change_slots(struct topic_change *change, fanout_send_fn *send,
                              fanout_done_fn *done, smq_error *err)
{
    return fanout_many(change->core, change->topic.slots, send, done, change, err);
}

/* --- topic{T} --- */

static void topic_change_read_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_topic_get(call, change->core->redis, change->topic.name, 0);
}

static enum fanout_next topic_change_read_done(const struct store_result *result, void *user,
                                               smq_error *err)
{
    struct topic_change *change = user;
    struct topic stored = change->topic;

    if (result->outcome != STORE_OK) {
        (void) store_topic_get_failed(change->topic.name, result, err);
        return FANOUT_STOP;
    }
    if (store_topic_get_read(&stored, &change->state, change->topic.name, result, err) == SMQ_OK) {
        change->topic = stored;
        return FANOUT_DONE;
    }
    change->topic.generation = stored.generation;
    change->topic.deletes = stored.deletes;
    return FANOUT_STOP;
}

smq_status topic_change_read(struct topic_change *change, smq_error *err)
{
    change->changed = false;
    return topic_change_one(change, topic_change_read_send, topic_change_read_done, err);
}

smq_status topic_change_read_named(struct topic_change *change, const char *name, smq_error *err)
{
    memset(&change->topic, 0, sizeof(change->topic));
    memcpy(change->topic.name, name, strlen(name) + 1);
    return topic_change_read(change, err);
}

struct topic_step {
    struct topic_change *change;
    enum store_topic_step step;
};

static void topic_change_step_send(struct store_call *call, void *user)
{
    const struct topic_step *step = user;
    const struct topic_change *change = step->change;

    store_topic_step(call, change->core->redis, &change->topic, step->step, 0);
}

static enum fanout_next topic_change_step_done(const struct store_result *result, void *user,
                                               smq_error *err)
{
    struct topic_change *change = ((const struct topic_step *) user)->change;

    if (result->outcome == STORE_OK) {
        return FANOUT_DONE;
    }
    if (result->outcome == STORE_NO_TOPIC) {
        (void) status_set(err, SMQ_NO_TOPIC, "topic %s was deleted during the call",
                          change->topic.name);
        return FANOUT_STOP;
    }
    change->changed = result->outcome == STORE_REFUSED;
    return topic_change_stop(err, change, result, "change the state of");
}

smq_status topic_change_step(struct topic_change *change, enum store_topic_step step,
                             smq_error *err)
{
    struct topic_step next = {.change = change, .step = step};

    return fanout_one(change->core, topic_change_step_send, topic_change_step_done, &next, err);
}

/* --- the registry --- */

static void topic_change_register_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_registry_add(call, change->core->redis, change->topic.name, clock_wall_ms(), 0);
}

static void topic_change_unregister_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_registry_remove(call, change->core->redis, change->topic.name, 0);
}

static enum fanout_next topic_change_registry_done(const struct store_result *result, void *user,
                                                   smq_error *err)
{
    struct topic_change *change = user;

    if (result->outcome != STORE_OK) {
        return topic_change_stop(err, change, result, "write the registry for");
    }
    change->found = result->reply->type == REDIS_REPLY_INTEGER && result->reply->integer == 1;
    return FANOUT_DONE;
}

smq_status topic_change_register(struct topic_change *change, smq_error *err)
{
    smq_status status =
        topic_change_one(change, topic_change_register_send, topic_change_registry_done, err);

    change->found = !change->found; /* the reply says whether it was added */
    return status;
}

static void topic_change_lost_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_registry_restore(call, change->core->redis, NULL, clock_wall_ms(), 0);
}

static enum fanout_next topic_change_lost_done(const struct store_result *result, void *user,
                                               smq_error *err)
{
    return result->outcome == STORE_OK
               ? FANOUT_DONE
               : topic_change_stop(err, user, result, "write the registry for");
}

smq_status topic_change_relist(struct topic_change *change, smq_error *err)
{
    smq_status status = topic_change_register(change, err);

    return status == SMQ_OK && !change->found
               ? topic_change_one(change, topic_change_lost_send, topic_change_lost_done, err)
               : status;
}

smq_status topic_change_unregister(struct topic_change *change, smq_error *err)
{
    return topic_change_one(change, topic_change_unregister_send, topic_change_registry_done, err);
}

/* Is the topic the first one that is listed? */
struct topic_listing {
    const struct topic_change *change;
    int64_t listed; /* how many names the registry had */
    bool others;    /* other topics exist */
};

static void topic_change_count_send(struct store_call *call, void *user)
{
    const struct topic_listing *listing = user;

    store_registry_count(call, listing->change->core->redis, 0);
}

static enum fanout_next topic_change_count_done(const struct store_result *result, void *user,
                                                smq_error *err)
{
    struct topic_listing *listing = user;

    return store_integer_read(&listing->listed, result)
               ? FANOUT_DONE
               : topic_change_stop(err, listing->change, result, "read the registry for");
}

/* Is it another topic than the one that is being created, and its groups? */
static bool topic_change_visit_other(const smq_topic_info *topic, void *user)
{
    struct topic_listing *listing = user;
    const char *created = listing->change->topic.name;
    size_t len = group_topic_len(created);

    listing->others =
        group_topic_len(topic->name) != len || strncmp(topic->name, created, len) != 0;
    return !listing->others;
}

smq_status topic_change_list_first(struct topic_change *change, smq_error *err)
{
    struct topic_listing listing = {.change = change};
    smq_status status =
        fanout_one(change->core, topic_change_count_send, topic_change_count_done, &listing, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (listing.listed == 0) {
        (void) admin_topic_each(change->core, false, topic_change_visit_other, &listing, NULL);
    }
    status = topic_change_register(change, err);
    return status == SMQ_OK && listing.others
               ? topic_change_one(change, topic_change_lost_send, topic_change_lost_done, err)
               : status;
}

/* --- slots --- */

void topic_change_look_send(struct store_call *call, int32_t index, void *user)
{
    const struct topic_change *change = user;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_read(call, change->core->redis, &slot, 0);
}

void topic_change_open_send(struct store_call *call, int32_t index, void *user)
{
    const struct topic_change *change = user;
    struct store_slot slot;

    store_slot_fill(&slot, &change->topic, index);
    store_slot_open(call, change->core->redis, &slot, &change->topic, 0);
}

bool topic_change_is_foreign(smq_error *err, const struct topic_change *change,
                             const struct store_result *result, const char *what)
{
    char key[SLOT_KEY_MAX];

    if (!store_slot_foreign_read(key, result)) {
        return false;
    }
    (void) status_set(err, SMQ_INVALID,
                      "cannot %s topic %s: the key %s holds something else; rename the topic, or "
                      "the key",
                      what, change->topic.name, key);
    return true;
}
