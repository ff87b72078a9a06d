/* takeover.c - taking a slot over in Redis, and leaving it.
 *
 * Thread: smq:io. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "consume/slot/owned_slot.h"
#include "consume/worker/worker.h"

/* One takeover or vacate on its way. */
struct acquire_call {
    struct store_call call;
    struct owned_slot *slot;
    uint32_t era;
    struct takeovers *among; /* of a takeover */
};

static struct acquire_call *call_new(struct owned_slot *slot, store_done_fn *done)
{
    struct acquire_call *acquire = memory_new(sizeof(*acquire));

    acquire->slot = slot;
    acquire->era = slot->era;
    store_call_init(&acquire->call, done, acquire);
    owned_slot_call_begin(slot);
    return acquire;
}

/* Does the call still count? */
static bool call_counts(const struct acquire_call *acquire, enum owned_state state)
{
    return acquire->era == acquire->slot->era && acquire->slot->state == state;
}

static void call_free(struct acquire_call *acquire)
{
    store_call_fini(&acquire->call);
    free(acquire);
}

static void take(struct owned_slot *slot, const struct store_result *result)
{
    uint64_t base;
    bool more;

    if (result->outcome == STORE_FENCED) {
        owned_slot_fenced(slot, result);
        return;
    }
    if (result->outcome != STORE_OK || !store_takeover_read(&base, &more, result)) {
        owned_slot_call_failed(slot, result);
        return;
    }
    if (more) {
        takeover_begin(slot);
        return;
    }
    consume_know(slot, base, NULL);
    owned_slot_taken(slot);
}

static void on_taken(struct store_call *call, const struct store_result *result)
{
    struct acquire_call *acquire = call->user;
    struct owned_slot *slot = acquire->slot;
    smq_worker *worker = slot->worker;

    acquire->among->running--;
    if (call_counts(acquire, OWNED_ACQUIRING)) {
        take(slot, result);
    }
    call_free(acquire);
    worker_feed(worker);
    owned_slot_call_end(slot);
}

/* Those of the server that has this slot now. */
static struct takeovers *takeovers_of(smq_worker *worker, const struct store_slot *target)
{
    char server[REDIS_SERVER_MAX];
    struct takeovers *takeovers = NULL;

    redis_server_of(server, worker->core->redis, target->keys.hash_slot);
    HASH_FIND_STR(worker->takeovers, server, takeovers);
    if (takeovers == NULL) {
        takeovers = memory_new(sizeof(*takeovers));
        (void) snprintf(takeovers->server, sizeof(takeovers->server), "%s", server);
        TAILQ_INIT(&takeovers->waiting);
        HASH_ADD_STR(worker->takeovers, server, takeovers);
    }
    return takeovers;
}

void takeover_begin(struct owned_slot *slot)
{
    smq_worker *worker = slot->worker;
    struct acquire_call *acquire;
    struct takeovers *among;
    struct store_slot target;

    store_slot_fill(&target, &worker->topic, slot->number);
    among = takeovers_of(worker, &target);
    if (among->running >= WORKER_TAKEOVERS_MAX) {
        slot->waits = among;
        TAILQ_INSERT_TAIL(&among->waiting, slot, link);
        return;
    }
    among->running++;
    acquire = call_new(slot, on_taken);
    acquire->among = among;
    store_takeover(&acquire->call, worker->core->redis, &target, slot->token, &worker->topic,
                   worker->core->name, worker->core->request_timeout_ms);
}

void takeovers_feed(smq_worker *worker)
{
    struct takeovers *takeovers = NULL;
    struct takeovers *next = NULL;

    HASH_ITER(hh, worker->takeovers, takeovers, next)
    {
        struct owned_slot *slot;

        while (takeovers->running < WORKER_TAKEOVERS_MAX &&
               (slot = TAILQ_FIRST(&takeovers->waiting)) != NULL) {
            TAILQ_REMOVE(&takeovers->waiting, slot, link);
            slot->waits = NULL;
            takeover_begin(slot);
        }
    }
}

void takeovers_free(smq_worker *worker)
{
    struct takeovers *takeovers = NULL;
    struct takeovers *next = NULL;

    HASH_ITER(hh, worker->takeovers, takeovers, next)
    {
        HASH_DEL(worker->takeovers, takeovers);
        free(takeovers);
    }
}

/* Whatever came of it: the owner's name in Redis is for people only. */
static void on_vacated(struct store_call *call, const struct store_result *result)
{
    struct acquire_call *acquire = call->user;
    struct owned_slot *slot = acquire->slot;

    if (result->outcome == STORE_FENCED) {
        owned_slot_tell_fenced(slot);
    }
    if (call_counts(acquire, OWNED_VACATING)) {
        owned_slot_end(slot, OWNED_EVENT_VACATED, SMQ_OK, "given up");
    }
    call_free(acquire);
    owned_slot_call_end(slot);
}

void takeover_undo(struct owned_slot *slot)
{
    smq_worker *worker = slot->worker;
    struct acquire_call *acquire;
    struct store_slot target;

    if (worker->shared) {
        owned_slot_end(slot, OWNED_EVENT_VACATED, SMQ_OK, "given up");
        return;
    }
    acquire = call_new(slot, on_vacated);
    store_slot_fill(&target, &worker->topic, slot->number);
    store_vacate(&acquire->call, worker->core->redis, &target, slot->token,
                 worker->core->request_timeout_ms);
}
