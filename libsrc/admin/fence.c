/* fence.c - raising the fence of a fleet above all tokens that Redis knows.
 *
 * First the largest generation in all slots of the topics that are bound to the root is searched,
 * then the root is written, then topics that are bound to the root under another identity are bound
 * to its present identity.  Their slots store the new binding, too, because a lost topic{T} is
 * restored from them.  If the call is interrupted at any point, repeating it completes it.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "admin/binding.h"
#include "admin/fanout.h"
#include "admin/fleet.h"
#include "base/memory.h"
#include "base/status.h"
#include "store/owner.h"
#include "store/slot.h"

struct fencing {
    struct core *core;
    char prefix[COORD_BINDING_MAX]; /* "zookeeper:/root ", or all of "redis:/root" */
    struct binding *topics;         /* the topics that are bound to the root */
    size_t count, size;
    struct binding *current;
    uint32_t above; /* the largest generation found so far */
    struct coord_fence raised;
    smq_error err; /* the error that ended the visit */
};

/* --- which topics --- */

/* Is it bound to this root, in ZooKeeper under any identity? */
static bool fence_is_ours(const struct fencing *fencing, const char *bound)
{
    return fencing->core->root != NULL
               ? strcmp(bound, fencing->prefix) == 0
               : strncmp(bound, fencing->prefix, strlen(fencing->prefix)) == 0;
}

static bool fence_on_topic(const smq_topic_info *topic, void *user)
{
    struct fencing *fencing = user;
    smq_status status;

    if (topic->unreadable != NULL) { /* it may have the largest token */
        (void) status_set(&fencing->err, topic->unreadable_status, "%s", topic->unreadable);
        return false;
    }
    if (topic->options->shared || topic->damaged) {
        return true;
    }
    if (fencing->count == fencing->size) {
        fencing->size = fencing->size != 0 ? 2 * fencing->size : 16;
        fencing->topics = memory_grow(fencing->topics, fencing->size, sizeof(*fencing->topics));
    }
    fencing->current = &fencing->topics[fencing->count];
    status = binding_read(fencing->current, fencing->core, topic->name, &fencing->err);
    if (status == SMQ_OK && fence_is_ours(fencing, fencing->current->bound)) {
        fencing->count++;
    } else if (status == SMQ_NO_TOPIC) { /* it was deleted during the call */
        fencing->err.status = SMQ_OK;
    }
    return fencing->err.status == SMQ_OK;
}

/* --- their tokens --- */

static void fence_rise_above(struct fencing *fencing, uint32_t generation)
{
    fencing->above = generation > fencing->above ? generation : fencing->above;
}

static smq_status fence_look(struct fencing *fencing, smq_error *err)
{
    smq_status status = admin_topic_each(fencing->core, false, fence_on_topic, fencing, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (fencing->err.status != SMQ_OK) {
        return status_copy(err, &fencing->err);
    }
    for (size_t i = 0; i < fencing->count && status == SMQ_OK; i++) {
        status = binding_read_tokens(&fencing->topics[i], fencing->core, err);
        fence_rise_above(fencing, fencing->topics[i].token.generation);
        fence_rise_above(fencing, fencing->topics[i].bound_at);
    }
    return status;
}

/* --- the root, then the bindings --- */

static void fence_slot_send(struct store_call *call, int32_t index, void *user)
{
    const struct fencing *fencing = user;
    struct store_slot slot;

    store_slot_fill(&slot, &fencing->current->topic, index);
    store_slot_bind(call, fencing->core->redis, &slot, fencing->raised.generation,
                    fencing->raised.binding, 0);
}

/* A slot that refuses is damaged, or its topic was bound to another coordination during the
 * call. */
static enum fanout_next fence_slot_done(const struct store_result *result, int32_t index,
                                        void *user, smq_error *err)
{
    const struct fencing *fencing = user;

    if (result->outcome == STORE_OK || result->outcome == STORE_REFUSED) {
        return FANOUT_DONE;
    }
    (void) status_set(err, result->status,
                      "the fence was raised, but slot %" PRId32
                      " of topic %s could not store the new binding: %s",
                      index, fencing->current->topic.name, result->text);
    return FANOUT_STOP;
}

static void fence_follow_send(struct store_call *call, void *user)
{
    const struct fencing *fencing = user;
    const struct binding *current = fencing->current;

    store_follow(call, fencing->core->redis, current->topic.name, current->topic.nonce,
                 current->bound, fencing->raised.binding, 0);
}

static enum fanout_next fence_follow_done(const struct store_result *result, void *user,
                                          smq_error *err)
{
    const struct fencing *fencing = user;

    if (result->outcome == STORE_OK || result->status == SMQ_NO_TOPIC) {
        return FANOUT_DONE;
    }
    (void) status_set(err, result->status,
                      "the fence was raised, but topic %s could not be bound to the root: %s",
                      fencing->current->topic.name, result->text);
    return FANOUT_STOP;
}

static smq_status fence_follow(struct fencing *fencing, uint64_t *rebound, smq_error *err)
{
    smq_status status = SMQ_OK;

    for (size_t i = 0; i < fencing->count && status == SMQ_OK; i++) {
        fencing->current = &fencing->topics[i];
        if (strcmp(fencing->current->bound, fencing->raised.binding) != 0) {
            status = fanout_one(fencing->core, fence_follow_send, fence_follow_done, fencing, err);
            if (status != SMQ_OK) {
                break;
            }
            ++*rebound;
        }
        status = fanout_many(fencing->core, fencing->current->topic.slots, fence_slot_send,
                             fence_slot_done, fencing, err);
    }
    return status;
}

static smq_status fence_raise_root(struct fencing *fencing, smq_error *err)
{
    struct fleet_use use;
    smq_status status;

    fleet_use(&use, fencing->core);
    status = coord_raise_fence(&fencing->raised, &use.options, fencing->above,
                               fencing->count > 0 ? fencing->topics[0].bound : "", err);
    fleet_used(&use);
    return status;
}

smq_status admin_raise_fence(smq_fence *out, struct core *core, smq_error *err)
{
    struct fencing fencing = {.core = core, .err = {.status = SMQ_OK}};
    char root[COORD_BINDING_MAX - sizeof("zookeeper: ")];
    smq_status status = SMQ_OK;

    if (core->root != NULL) {
        snprintf(fencing.prefix, sizeof(fencing.prefix), "redis:%s", core->root);
    } else {
        status = coord_check_servers(root, sizeof(root), core->zookeeper, err);
        snprintf(fencing.prefix, sizeof(fencing.prefix), "zookeeper:%s ", root);
    }
    if (status != SMQ_OK) {
        return status;
    }
    status = fence_look(&fencing, err);
    if (status != SMQ_OK) {
        goto out;
    }
    status = fence_raise_root(&fencing, err);
    if (status != SMQ_OK) {
        goto out;
    }
    status = fence_follow(&fencing, &out->rebound, err);
out:
    out->generation = fencing.raised.generation;
    out->topics = fencing.count;
    free(fencing.topics);
    return status;
}
