/* binding.c - what a topic is bound to, and the largest token of its slots.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <string.h>

#include "admin/binding.h"
#include "admin/fail.h"
#include "admin/fanout.h"
#include "store/owner.h"
#include "store/topic.h"

struct binding_read {
    struct core *core;
    struct binding *out;
};

static void binding_topic_send(struct store_call *call, void *user)
{
    const struct binding_read *read = user;

    store_topic_get(call, read->core->redis, read->out->topic.name, 0);
}

static enum fanout_next binding_topic_done(const struct store_result *result, void *user,
                                           smq_error *err)
{
    struct binding_read *read = user;

    if (result->outcome != STORE_OK) {
        return admin_fail(err, &read->out->topic, 0, result);
    }
    store_topic_coord_read(read->out->bound, sizeof(read->out->bound), result);
    return FANOUT_DONE;
}

smq_status binding_read(struct binding *out, struct core *core, const char *topic, smq_error *err)
{
    struct binding_read read = {.core = core, .out = out};
    smq_status status;

    memset(out, 0, sizeof(*out));
    out->slot = SMQ_NONE;
    status = fanout_holder(&out->topic, core, topic, err);
    if (status != SMQ_OK) {
        return status;
    }
    return fanout_one(core, binding_topic_send, binding_topic_done, &read, err);
}

static void binding_owner_send(struct store_call *call, int32_t index, void *user)
{
    const struct binding_read *read = user;
    struct store_slot slot;

    store_slot_fill(&slot, &read->out->topic, index);
    store_owner(call, read->core->redis, &slot, 0);
}

static enum fanout_next binding_owner_done(const struct store_result *result, int32_t index,
                                           void *user, smq_error *err)
{
    struct binding_read *read = user;
    struct binding *out = read->out;
    struct store_owner owner;

    if (result->outcome != STORE_OK || !store_owner_read(&owner, result)) {
        return admin_fail(err, &out->topic, index, result);
    }
    if (token_compare(owner.token, out->token) > 0) {
        out->token = owner.token;
        out->slot = index;
    }
    if (owner.bound_at > out->bound_at) {
        out->bound_at = owner.bound_at;
    }
    out->leased += owner.leased_ms > 0 ? 1 : 0;
    if (owner.leased_ms > out->leased_ms) {
        out->leased_ms = owner.leased_ms;
    }
    return FANOUT_DONE;
}

smq_status binding_read_tokens(struct binding *binding, struct core *core, smq_error *err)
{
    struct binding_read read = {.core = core, .out = binding};

    return fanout_many(core, binding->topic.slots, binding_owner_send, binding_owner_done, &read,
                       err);
}

smq_status admin_topic_binding(smq_binding *out, struct core *core, const char *topic,
                               smq_error *err)
{
    struct binding binding;
    smq_status status = binding_read(&binding, core, topic, err);

    if (status == SMQ_OK) {
        status = binding_read_tokens(&binding, core, err);
    }
    if (status == SMQ_OK) {
        memcpy(out->coordination, binding.bound, sizeof(binding.bound));
        out->generation = binding.topic.generation;
        out->token_slot = binding.slot;
        out->token_generation = binding.token.generation;
        out->token_epoch = binding.token.epoch;
    }
    return status;
}
