/* takeover.c - taking a slot over in Redis, and leaving it.
 *
 * Thread: smq:io. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "consume/slot/slot.h"
#include "consume/worker/worker.h"

/* One takeover or vacate on its way. */
struct acquire_call {
    struct store_call call;
    struct strand *strand;
    uint32_t era;
    struct takeovers *among; /* of a takeover */
};

static struct acquire_call *call_new(struct strand *strand, store_done_fn *done)
{
    struct acquire_call *acquire = memory_new(sizeof(*acquire));

    acquire->strand = strand;
    acquire->era = strand->era;
    store_call_init(&acquire->call, done, acquire);
    strand_call_begin(strand);
    return acquire;
}

/* Does the call still count? */
static bool call_counts(const struct acquire_call *acquire, enum strand_state state)
{
    return acquire->era == acquire->strand->era && acquire->strand->state == state;
}

static void call_free(struct acquire_call *acquire)
{
    store_call_fini(&acquire->call);
    free(acquire);
}

static void take(struct strand *strand, const struct store_result *result)
{
    uint64_t base;
    bool more;

    if (result->outcome == STORE_FENCED) {
        strand_fenced(strand, result);
        return;
    }
    if (result->outcome != STORE_OK || !store_takeover_read(&base, &more, result)) {
        strand_call_failed(strand, result);
        return;
    }
    if (more) {
        strand_takeover(strand);
        return;
    }
    consume_know(strand, base, NULL);
    strand_taken(strand);
}

static void on_taken(struct store_call *call, const struct store_result *result)
{
    struct acquire_call *acquire = call->user;
    struct strand *strand = acquire->strand;
    smq_worker *worker = strand->worker;

    acquire->among->running--;
    if (call_counts(acquire, STRAND_ACQUIRING)) {
        take(strand, result);
    }
    call_free(acquire);
    worker_feed(worker);
    strand_call_end(strand);
}

/* Those of the server that has this slot now. */
static struct takeovers *takeovers_of(smq_worker *worker, const struct store_slot *slot)
{
    char server[REDIS_SERVER_MAX];
    struct takeovers *takeovers = NULL;

    redis_server_of(server, worker->hub->redis, slot->keys.hash_slot);
    HASH_FIND_STR(worker->takeovers, server, takeovers);
    if (takeovers == NULL) {
        takeovers = memory_new(sizeof(*takeovers));
        (void) snprintf(takeovers->server, sizeof(takeovers->server), "%s", server);
        TAILQ_INIT(&takeovers->waiting);
        HASH_ADD_STR(worker->takeovers, server, takeovers);
    }
    return takeovers;
}

void strand_takeover(struct strand *strand)
{
    smq_worker *worker = strand->worker;
    struct acquire_call *acquire;
    struct takeovers *among;
    struct store_slot slot;

    store_slot_fill(&slot, &worker->topic, strand->slot);
    among = takeovers_of(worker, &slot);
    if (among->running >= WORKER_TAKEOVERS_MAX) {
        strand->waits = among;
        TAILQ_INSERT_TAIL(&among->waiting, strand, link);
        return;
    }
    among->running++;
    acquire = call_new(strand, on_taken);
    acquire->among = among;
    store_takeover(&acquire->call, worker->hub->redis, &slot, strand->token, &worker->topic,
                   worker->hub->name, worker->hub->request_timeout_ms);
}

void takeovers_feed(smq_worker *worker)
{
    struct takeovers *takeovers = NULL;
    struct takeovers *next = NULL;

    HASH_ITER(hh, worker->takeovers, takeovers, next)
    {
        struct strand *strand;

        while (takeovers->running < WORKER_TAKEOVERS_MAX &&
               (strand = TAILQ_FIRST(&takeovers->waiting)) != NULL) {
            TAILQ_REMOVE(&takeovers->waiting, strand, link);
            strand->waits = NULL;
            strand_takeover(strand);
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
    struct strand *strand = acquire->strand;

    if (result->outcome == STORE_FENCED) {
        strand_tell_fenced(strand);
    }
    if (call_counts(acquire, STRAND_VACATING)) {
        strand_end(strand, STRAND_VACATED, SMQ_OK, "given up");
    }
    call_free(acquire);
    strand_call_end(strand);
}

void strand_vacate(struct strand *strand)
{
    smq_worker *worker = strand->worker;
    struct acquire_call *acquire;
    struct store_slot slot;

    if (worker->shared) {
        strand_end(strand, STRAND_VACATED, SMQ_OK, "given up");
        return;
    }
    acquire = call_new(strand, on_vacated);
    store_slot_fill(&slot, &worker->topic, strand->slot);
    store_vacate(&acquire->call, worker->hub->redis, &slot, strand->token,
                 worker->hub->request_timeout_ms);
}
