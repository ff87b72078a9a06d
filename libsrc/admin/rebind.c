/* rebind.c - binding a topic to another coordination.
 *
 * Unless forced, this requires that no owner lives, as far as Redis can tell: no connection is
 * subscribed to a wake channel, no claim is leased, no process holds the lease of a standalone
 * topic.  The generation is raised, so an owner that was overlooked is fenced as soon as its slots
 * have new owners.  The slots store the new binding, too, because a lost topic{T} is restored
 * from them.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>

#include "admin/admin.h"
#include "admin/fail.h"
#include "base/status.h"
#include "core/coord_link.h"

/* Signs of living owners of a topic. */
struct owners {
    int32_t subscribed, leased; /* slots with a subscriber; slots with a leased claim */
    int64_t leased_ms;          /* time until the last of these leases ends */
    uint32_t generation;        /* the largest in any slot's token or binding */
};

struct rebind {
    struct core *core;
    struct topic topic;
    bool force;
    struct owners owners;
    char kind[COORD_BINDING_MAX];
    uint32_t generation; /* the new generation */
};

/* --- owners --- */

static void rebind_owner_send(struct store_call *call, int32_t index, void *user)
{
    const struct rebind *rebind = user;
    struct store_slot slot;

    store_slot_fill(&slot, &rebind->topic, index);
    store_owner(call, rebind->core->redis, &slot, 0);
}

static enum fanout_next rebind_owner_done(const struct store_result *result, int32_t index,
                                          void *user, smq_error *err)
{
    struct rebind *rebind = user;
    struct owners *owners = &rebind->owners;
    struct store_owner owner;

    if (result->outcome != STORE_OK || !store_owner_read(&owner, result)) {
        return admin_fail(err, &rebind->topic, index, result);
    }
    if (owner.token.generation > owners->generation) {
        owners->generation = owner.token.generation;
    }
    if (owner.bound_at > owners->generation) {
        owners->generation = owner.bound_at;
    }
    if (owner.leased_ms > 0) {
        owners->leased++;
        owners->leased_ms =
            owner.leased_ms > owners->leased_ms ? owner.leased_ms : owners->leased_ms;
    }
    return FANOUT_DONE;
}

static void rebind_listeners_send(struct store_call *call, int32_t index, void *user)
{
    const struct rebind *rebind = user;
    struct store_slot slot;

    store_slot_fill(&slot, &rebind->topic, index);
    store_listeners(call, rebind->core->redis, &slot, 0);
}

static enum fanout_next rebind_listeners_done(const struct store_result *result, int32_t index,
                                              void *user, smq_error *err)
{
    struct rebind *rebind = user;
    uint64_t count;

    if (result->outcome != STORE_OK || !store_listeners_read(&count, result)) {
        return admin_fail(err, &rebind->topic, index, result);
    }
    rebind->owners.subscribed += count > 0 ? 1 : 0;
    return FANOUT_DONE;
}

/* Look for owners, and refuse if there are some. */
static smq_status rebind_check_owners(struct rebind *rebind, smq_error *err)
{
    const struct owners *owners = &rebind->owners;
    const char *name = rebind->topic.name;
    smq_status status = fanout_many(rebind->core, rebind->topic.slots, rebind_owner_send,
                                    rebind_owner_done, rebind, err);

    if (status != SMQ_OK || rebind->force) {
        return status;
    }
    status = fanout_many(rebind->core, rebind->topic.slots, rebind_listeners_send,
                         rebind_listeners_done, rebind, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (owners->subscribed > 0) {
        return status_set(err, SMQ_IN_WORK,
                          "topic %s is being consumed: consumers are subscribed to %" PRId32
                          " of its %" PRId32 " slots; stop them first",
                          name, owners->subscribed, rebind->topic.slots);
    }
    if (owners->leased > 0) {
        return status_set(err, SMQ_IN_WORK,
                          "topic %s is being consumed: messages are claimed in %" PRId32
                          " of its %" PRId32 " slots, for %" PRId64
                          " ms more; stop the consumers, or wait, or force it if they are dead",
                          name, owners->leased, rebind->topic.slots, owners->leased_ms);
    }
    return SMQ_OK;
}

/* --- topic{T} --- */

static void rebind_send(struct store_call *call, void *user)
{
    const struct rebind *rebind = user;

    store_rebind(call, rebind->core->redis, rebind->topic.name,
                 &(struct store_rebind){.nonce = rebind->topic.nonce,
                                        .coord = rebind->kind,
                                        .above = rebind->owners.generation,
                                        .force = rebind->force},
                 0);
}

static enum fanout_next rebind_done(const struct store_result *result, void *user, smq_error *err)
{
    struct rebind *rebind = user;
    const char *name = rebind->topic.name;
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

    store_slot_fill(&slot, &rebind->topic, index);
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
                      rebind->topic.name, rebind->kind, index, result->text);
    return FANOUT_STOP;
}

/* The fleet is reached first, so that a mistyped address does not lock out other consumers. */
static smq_status rebind_check(struct rebind *rebind, const char *topic, smq_error *err)
{
    smq_status status = fanout_topic(&rebind->topic, rebind->core, topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (rebind->topic.shared) {
        return status_set(err, SMQ_INVALID,
                          "topic %s is shared, so it has no owners and is bound to no fleet",
                          rebind->topic.name);
    }
    status = coord_link_open(rebind->core->link, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = rebind_check_owners(rebind, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (rebind->owners.generation == UINT32_MAX || rebind->topic.generation == UINT32_MAX) {
        return status_set(err, SMQ_INTERNAL,
                          "the generation of topic %s cannot be raised any more; delete the topic "
                          "and create it under another name",
                          rebind->topic.name);
    }
    return SMQ_OK;
}

static smq_status rebind_write(struct rebind *rebind, smq_error *err)
{
    smq_status status;

    coord_link_binding(rebind->kind, rebind->core->link);
    status = fanout_one(rebind->core, rebind_send, rebind_done, rebind, err);
    return status == SMQ_OK ? fanout_many(rebind->core, rebind->topic.slots, rebind_slot_send,
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
