/* takeover.c - see takeover.h.
 *
 * Thread: smq:io. */
#include "consume/slot/takeover.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

/* One takeover or vacate in progress. */
struct takeover_call {
    struct store_call call;
    struct owned_slot *slot;
    uint32_t era;
    struct takeovers *among; /* of a takeover: those of the same server */
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

static void takeover_on_taken(struct store_call *call, const struct store_result *result)
{
    struct takeover_call *takeover = call->user;
    struct owned_slot *slot = takeover->slot;
    uint64_t base = 0;
    bool more = false;
    bool done = result->outcome == STORE_OK && store_takeover_read(&base, &more, result);

    takeover->among->running--;
    if (takeover_counts(takeover, OWNED_ACQUIRING)) {
        if (done && more) {
            takeover_begin(slot);
        } else {
            if (done) {
                owned_slot_know(slot, base, NULL);
            }
            slot->set->ended(slot, SLOT_CALL_TAKEOVER, done, result);
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
        slot->waits = among;
        TAILQ_INSERT_TAIL(&among->waiting, slot, link);
        return;
    }
    among->running++;
    takeover = takeover_call_new(slot, takeover_on_taken);
    takeover->among = among;
    store_takeover(
        &takeover->call, set->core->redis, &target,
        &(struct store_taker){.token = slot->token, .name = set->core->name, .coord = set->bound},
        &set->topic, set->core->request_timeout_ms);
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
            TAILQ_REMOVE(&takeovers->waiting, slot, link);
            slot->waits = NULL;
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
