/* rebind.c - binding a topic to another coordination.
 *
 * Unless forced, this requires that no owner lives, as far as Redis can tell: no connection is
 * subscribed to a wake channel, no claim is leased, no process of version 0.2 holds the lease of
 * the topic.  The generation is raised, so an owner that was overlooked is fenced as soon as its
 * slots have new owners.  The slots store the new binding, too, because a lost topic{T} is restored
 * from them.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>

#include "admin/binding.h"
#include "admin/fail.h"
#include "base/status.h"
#include "core/coord_link.h"
#include "store/owner.h"
#include "store/slot.h"
#include "store/topic.h"

struct rebind {
    struct core *core;
    struct binding found;
    bool force;
    int32_t subscribed; /* slots with a subscriber */
    char kind[COORD_BINDING_MAX];
    uint32_t generation; /* the new generation */
};

/* --- owners --- */

/* The largest generation in any slot's token or binding. */
static uint32_t rebind_largest(const struct rebind *rebind)
{
    const struct binding *found = &rebind->found;

    return found->token.generation > found->bound_at ? found->token.generation : found->bound_at;
}

static void rebind_listeners_send(struct store_call *call, int32_t index, void *user)
{
    const struct rebind *rebind = user;
    struct store_slot slot;

    store_slot_fill(&slot, &rebind->found.topic, index);
    store_listeners(call, rebind->core->redis, &slot, 0);
}

static enum fanout_next rebind_listeners_done(const struct store_result *result, int32_t index,
                                              void *user, smq_error *err)
{
    struct rebind *rebind = user;
    uint64_t count;

    if (result->outcome != STORE_OK || !store_listeners_read(&count, result)) {
        return admin_fail(err, &rebind->found.topic, index, result);
    }
    rebind->subscribed += count > 0 ? 1 : 0;
    return FANOUT_DONE;
}

/* Look for owners, and refuse if there are some. */
static smq_status rebind_check_owners(struct rebind *rebind, smq_error *err)
{
    const struct binding *found = &rebind->found;
    const char *name = found->topic.name;
    smq_status status = binding_read_tokens(&rebind->found, rebind->core, err);

    if (status != SMQ_OK || rebind->force) {
        return status;
    }
    status = fanout_many(rebind->core, rebind->found.topic.slots, rebind_listeners_send,
                         rebind_listeners_done, rebind, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (rebind->subscribed > 0) {
        return status_set(err, SMQ_IN_WORK,
                          "topic %s is being consumed: consumers are subscribed to %" PRId32
                          " of its %" PRId32 " slots; stop them first",
                          name, rebind->subscribed, rebind->found.topic.slots);
    }
    if (found->leased > 0) {
        return status_set(err, SMQ_IN_WORK,
                          "topic %s is being consumed: messages are claimed in %" PRId32
                          " of its %" PRId32 " slots, for %" PRId64
                          " ms more; stop the consumers, or wait, or force it if they are dead",
                          name, found->leased, rebind->found.topic.slots, found->leased_ms);
    }
    return SMQ_OK;
}

/* --- topic{T} --- */

static void rebind_send(struct store_call *call, void *user)
{
    const struct rebind *rebind = user;

    store_rebind(call, rebind->core->redis, rebind->found.topic.name,
                 &(struct store_rebind){.nonce = rebind->found.topic.nonce,
                                        .coord = rebind->kind,
                                        .above = rebind_largest(rebind),
                                        .force = rebind->force},
                 0);
}

static enum fanout_next rebind_done(const struct store_result *result, void *user, smq_error *err)
{
    struct rebind *rebind = user;
    const char *name = rebind->found.topic.name;
    struct store_lease_holder holder;

    if (result->outcome == STORE_OK && store_topic_number_read(&rebind->generation, result)) {
        return FANOUT_DONE;
    }
    if (result->status == SMQ_IN_WORK && store_lease_holder_read(&holder, result)) {
        (void) status_set(err, SMQ_IN_WORK,
                          "topic %s is being consumed: process %s has the lease of the topic for "
                          "%" PRId64 " ms more; stop it, or wait, or force it if it is dead",
                          name, holder.owner, holder.remaining_ms);
        return FANOUT_STOP;
    }
    (void) status_set(err, result->status, "cannot rebind topic %s: %s", name, result->text);
    return FANOUT_STOP;
}

/* --- the slots --- */

static void rebind_slot_send(struct store_call *call, int32_t index, void *user)
{
    const struct rebind *rebind = user;
    struct store_slot slot;

    store_slot_fill(&slot, &rebind->found.topic, index);
    store_slot_bind(call, rebind->core->redis, &slot, rebind->generation, rebind->kind, 0);
}

/* A slot that refuses is damaged, or knows a later binding; its next owner stores the binding in
 * it. */
static enum fanout_next rebind_slot_done(const struct store_result *result, int32_t index,
                                         void *user, smq_error *err)
{
    const struct rebind *rebind = user;

    if (result->outcome == STORE_OK || result->outcome == STORE_REFUSED) {
        return FANOUT_DONE;
    }
    (void) status_set(err, result->status,
                      "topic %s is bound to \"%.80s\" now, but its slot %" PRId32
                      " could not store that, and a repair would need it: %.80s; rebind it again",
                      rebind->found.topic.name, rebind->kind, index, result->text);
    return FANOUT_STOP;
}

/* The fleet is reached first, so that a mistyped address does not lock out other consumers. */
static smq_status rebind_check(struct rebind *rebind, const char *topic, smq_error *err)
{
    smq_status status = fanout_holder(&rebind->found.topic, rebind->core, topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (rebind->found.topic.shared) {
        return status_set(err, SMQ_INVALID,
                          "topic %s is shared, so it has no owners and is bound to no fleet",
                          rebind->found.topic.name);
    }
    status = coord_link_open(rebind->core->link, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = rebind_check_owners(rebind, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (rebind_largest(rebind) == UINT32_MAX || rebind->found.topic.generation == UINT32_MAX) {
        return status_set(err, SMQ_INTERNAL,
                          "the generation of topic %s cannot be raised any more; delete the topic "
                          "and create it under another name",
                          rebind->found.topic.name);
    }
    return SMQ_OK;
}

static smq_status rebind_write(struct rebind *rebind, smq_error *err)
{
    smq_status status;

    coord_link_binding(rebind->kind, rebind->core->link);
    status = fanout_one(rebind->core, rebind_send, rebind_done, rebind, err);
    return status == SMQ_OK ? fanout_many(rebind->core, rebind->found.topic.slots, rebind_slot_send,
                                          rebind_slot_done, rebind, err)
                            : status;
}

smq_status admin_topic_rebind(struct core *core, const char *topic, bool force, smq_error *err)
{
    struct rebind rebind = {.core = core, .force = force};
    smq_status status = rebind_check(&rebind, topic, err);

    if (status == SMQ_OK) {
        status = rebind_write(&rebind, err);
    }
    definitions_forget(core->definitions, topic);
    return status;
}
