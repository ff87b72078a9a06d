/* takeover.c - see takeover.h.
 *
 * Thread: smq:io. */
#include "consume/slot/takeover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "consume/slot/damage.h"
#include "store/owner.h"
#include "store/tree.h"

/* One takeover, its repeat for replicas, or a vacate in progress. */
struct takeover_call {
    struct store_call call;
    struct owned_slot *slot;
    uint32_t era;
    struct takeovers *among; /* unless it is a vacate: the takeovers of the same server */
    /* of a repeat */
    struct redis_await await;
    uint64_t base;
};

static struct takeover_call *takeover_call_new(struct owned_slot *slot, store_done_fn *done)
{
    struct takeover_call *takeover = memory_new(sizeof(*takeover));

    takeover->slot = slot;
    takeover->era = slot->era;
    store_call_init(&takeover->call, done, takeover);
    owned_slot_call_begin(slot);
    return takeover;
}

/* Is the slot still in this state, and in the era of the call? */
static bool takeover_counts(const struct takeover_call *takeover, enum owned_state state)
{
    return takeover->era == takeover->slot->era && takeover->slot->state == state;
}

/* The end of an entry from the loop. */
static void takeover_call_end(struct takeover_call *takeover)
{
    struct owned_slot *slot = takeover->slot;
    struct slot_set *set = slot->set;

    store_call_fini(&takeover->call);
    free(takeover);
    owned_slot_call_end(slot);
    slot_set_turn(set);
}

static void takeover_send(struct takeover_call *takeover, int64_t timeout_ms)
{
    struct owned_slot *slot = takeover->slot;
    struct slot_set *set = slot->set;
    struct store_slot target;

    store_slot_fill(&target, &set->topic, slot->number);
    damage_on_asked(slot);
    store_takeover(
        &takeover->call, set->core->redis, &target,
        &(struct store_taker){.token = slot->token, .name = set->core->name, .coord = set->bound},
        &set->topic, timeout_ms);
}

/* --- replicas --- */

/* The takeover has ended well, with or without its replicas. */
static void takeover_taken(const struct takeover_call *takeover, uint64_t base)
{
    static const struct store_result stored = {.outcome = STORE_OK, .word = "", .text = ""};
    struct owned_slot *slot = takeover->slot;

    owned_slot_know(slot, base, NULL);
    slot->kept = 0;
    slot->set->ended(slot, SLOT_CALL_TAKEOVER, true, &stored);
}

/* The replicas did not acknowledge.  While there is time the takeover is repeated; then the slot is
 * consumed without them, unless the client closes. */
static void takeover_not_acknowledged(struct takeover_call *takeover,
                                      const struct store_result *result)
{
    struct owned_slot *slot = takeover->slot;
    struct slot_set *set = slot->set;

    if (result->status == SMQ_CLOSED ||
        (result->status != SMQ_DENIED && clock_now_ms() < slot->replicas_until)) {
        set->ended(slot, SLOT_CALL_TAKEOVER, false, result);
        return;
    }
    metric_add(&set->core->metrics.slots_unreplicated, 1);
    if (!takeover->among->short_of_replicas) {
        takeover->among->short_of_replicas = true;
        events_log(set->core->events, SMQ_LEVEL_WARN,
                   "slot %" PRId32 " of topic %s: fewer replicas than takeover_replicas, %" PRId32
                   ", have acknowledged its new owner: %s; its handlers begin nevertheless, and so "
                   "do those of other slots of this server, which is not said again: start the "
                   "replicas that are missing, or lower takeover_replicas",
                   slot->number, set->name, set->topic.takeover_replicas, result->text);
    }
    takeover_taken(takeover, takeover->base);
}

static void takeover_on_acknowledged(const struct redis_result *redis, void *user)
{
    struct takeover_call *takeover = user;
    struct store_result result = {
        .outcome = STORE_UNKNOWN, .status = redis->status, .word = "", .text = redis->text};

    if (takeover_counts(takeover, OWNED_ACQUIRING)) {
        if (redis->outcome == REDIS_DONE) {
            takeover->among->short_of_replicas = false;
            takeover_taken(takeover, takeover->base);
        } else {
            takeover_not_acknowledged(takeover, &result);
        }
    }
    takeover_call_end(takeover);
}

static void takeover_on_repeated(struct store_call *call, const struct store_result *result)
{
    struct takeover_call *takeover = call->user;
    bool more = false;

    if (!takeover_counts(takeover, OWNED_ACQUIRING)) {
        takeover_call_end(takeover);
        return;
    }
    if (result->outcome == STORE_OK && store_takeover_read(&takeover->base, &more, result)) {
        store_await(&takeover->await, call);
        return;
    }
    if (result->outcome == STORE_NOT_DONE || result->outcome == STORE_UNKNOWN) {
        takeover_not_acknowledged(takeover, result);
    } else {
        takeover->slot->set->ended(takeover->slot, SLOT_CALL_TAKEOVER, false, result);
    }
    takeover_call_end(takeover);
}

/* A call on the connection for replicas, and how long it may take. */
static struct takeover_call *takeover_for_replicas(
    const struct takeover_call *taken, uint64_t base, store_done_fn *written,
    void (*known)(const struct redis_result *redis, void *user), int64_t *left_ms)
{
    struct owned_slot *slot = taken->slot;
    struct slot_set *set = slot->set;
    struct takeover_call *takeover = takeover_call_new(slot, written);
    const int64_t now_ms = clock_now_ms();

    if (slot->replicas_until == 0) {
        slot->replicas_until = now_ms + set->core->request_timeout_ms;
    }
    *left_ms = slot->replicas_until > now_ms ? slot->replicas_until - now_ms : 1;
    takeover->among = taken->among;
    takeover->base = base;
    takeover->await.done = known;
    takeover->await.user = takeover;
    store_replicas(&takeover->call, set->topic.takeover_replicas, slot->replicas_until);
    return takeover;
}

/* The token is stored.  WAIT covers the writes of its own connection, so the takeover is repeated
 * on the connection for replicas, where one WAIT covers all slots of a server. */
static void takeover_repeat_for_replicas(const struct takeover_call *taken, uint64_t base)
{
    int64_t left_ms = 0;
    struct takeover_call *takeover = takeover_for_replicas(taken, base, takeover_on_repeated,
                                                           takeover_on_acknowledged, &left_ms);

    takeover_send(takeover, left_ms);
}

static void takeover_on_tree_known(const struct redis_result *redis, void *user)
{
    struct takeover_call *takeover = user;
    const struct store_result result = {
        .outcome = STORE_UNKNOWN, .status = redis->status, .word = "", .text = redis->text};

    if (takeover_counts(takeover, OWNED_ACQUIRING)) {
        if (redis->outcome == REDIS_DONE) {
            takeover_repeat_for_replicas(takeover, takeover->base);
        } else {
            takeover_not_acknowledged(takeover, &result);
        }
    }
    takeover_call_end(takeover);
}

static void takeover_on_tree_written(struct store_call *call, const struct store_result *result)
{
    struct takeover_call *takeover = call->user;

    if (takeover_counts(takeover, OWNED_ACQUIRING) && result->outcome == STORE_OK) {
        store_await(&takeover->await, call);
        return;
    }
    if (takeover_counts(takeover, OWNED_ACQUIRING)) {
        takeover_not_acknowledged(takeover, result);
    }
    takeover_call_end(takeover);
}

/* The grant of a fleet in Redis may be lost with the master of its tree, as the takeover with that
 * of the slot: replicas know the grant first.  WAIT covers all that was written there before. */
static void takeover_await_tree(const struct takeover_call *taken, uint64_t base)
{
    struct core *core = taken->slot->set->core;
    int64_t left_ms = 0;
    struct takeover_call *takeover = takeover_for_replicas(taken, base, takeover_on_tree_written,
                                                           takeover_on_tree_known, &left_ms);
    struct store_tree tree;

    store_tree_fill(&tree, core->root);
    store_tree_touch(&takeover->call, core->redis, &tree, left_ms);
}

/* --- taking over --- */

static void takeover_on_taken(struct store_call *call, const struct store_result *result)
{
    struct takeover_call *takeover = call->user;
    struct owned_slot *slot = takeover->slot;
    uint64_t base = 0;
    bool more = false;
    bool done = result->outcome == STORE_OK && store_takeover_read(&base, &more, result);

    takeover->among->running--;
    if (takeover_counts(takeover, OWNED_ACQUIRING)) {
        if (!done) {
            slot->set->ended(slot, SLOT_CALL_TAKEOVER, false, result);
        } else if (more) {
            takeover_begin(slot);
        } else if (slot->set->topic.takeover_replicas > 0 && slot->set->core->root != NULL) {
            takeover_await_tree(takeover, base);
        } else if (slot->set->topic.takeover_replicas > 0) {
            takeover_repeat_for_replicas(takeover, base);
        } else {
            takeover_taken(takeover, base);
        }
    }
    takeover_call_end(takeover);
}

/* The takeovers of the server that holds this slot now. */
static struct takeovers *takeover_among(struct slot_set *set, const struct store_slot *target)
{
    char server[REDIS_SERVER_MAX];
    struct takeovers *takeovers = NULL;

    redis_server_of(server, set->core->redis, target->keys.hash_slot);
    HASH_FIND_STR(set->takeovers, server, takeovers);
    if (takeovers == NULL) {
        takeovers = memory_new(sizeof(*takeovers));
        (void) snprintf(takeovers->server, sizeof(takeovers->server), "%s", server);
        TAILQ_INIT(&takeovers->waiting);
        HASH_ADD_STR(set->takeovers, server, takeovers);
    }
    return takeovers;
}

void takeover_begin(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;
    struct takeover_call *takeover;
    struct takeovers *among;
    struct store_slot target;

    store_slot_fill(&target, &set->topic, slot->number);
    among = takeover_among(set, &target);
    if (among->running >= TAKEOVERS_MAX) {
        owned_slot_queue(slot, &among->waiting);
        return;
    }
    among->running++;
    takeover = takeover_call_new(slot, takeover_on_taken);
    takeover->among = among;
    takeover_send(takeover, set->core->request_timeout_ms);
}

void takeover_begin_waiting(struct slot_set *set)
{
    struct takeovers *takeovers = NULL;
    struct takeovers *next = NULL;

    HASH_ITER(hh, set->takeovers, takeovers, next)
    {
        struct owned_slot *slot;

        while (takeovers->running < TAKEOVERS_MAX &&
               (slot = TAILQ_FIRST(&takeovers->waiting)) != NULL) {
            owned_slot_unqueue(slot);
            takeover_begin(slot);
        }
    }
}

static void takeover_on_vacated(struct store_call *call, const struct store_result *result)
{
    struct takeover_call *takeover = call->user;
    struct owned_slot *slot = takeover->slot;

    if (result->outcome == STORE_FENCED) {
        owned_slot_report_fenced(slot);
    }
    if (takeover_counts(takeover, OWNED_VACATING)) {
        slot->set->ended(slot, SLOT_CALL_VACATE, result->outcome == STORE_OK, result);
    }
    takeover_call_end(takeover);
}

void takeover_undo(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;
    struct takeover_call *takeover = takeover_call_new(slot, takeover_on_vacated);
    struct store_slot target;

    store_slot_fill(&target, &set->topic, slot->number);
    store_vacate(&takeover->call, set->core->redis, &target, slot->token,
                 set->core->request_timeout_ms);
}
