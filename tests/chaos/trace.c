/* trace.c - see trace.h.
 *
 * Thread: the listener on smq:coord; answers and pushes on smq:io; claims any. */
#include "trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "log.h"

enum { TRACE_SLOTS = 64 };

/* A slot that coordination has granted, until it is lost or answered for.  Coordination ignores an
 * answer about another grant, so that is not logged. */
struct trace_grant {
    bool held;
    struct token token;
    int session;
};

static struct coord_listener trace_listener; /* of the library; set before smq:coord begins */

static struct {
    pthread_mutex_t lock;
    struct trace_grant grants[LOAD_TOPICS + 1][TRACE_SLOTS];
    int session;
    bool ended; /* the next grant is of a new session */
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct trace_grant *trace_grant(const char *topic, int32_t slot)
{
    int index = 0;

    while (strcmp(load_topics[index], topic) != 0) {
        index++;
    }
    return &trace.grants[index][slot];
}

static void trace_line(const char *what, const char *topic, int32_t slot,
                       const struct trace_grant *grant)
{
    char token[TOKEN_TEXT_LEN + 1];

    token_format(token, grant->token);
    log_line("coord", "%s %s %d %s %d", what, topic, (int) slot, token, grant->session);
}

static void trace_on_granted(void *user, const char *topic, const struct coord_grant *grants,
                             size_t count)
{
    pthread_mutex_lock(&trace.lock);
    trace.session += trace.ended ? 1 : 0;
    trace.ended = false;
    for (size_t i = 0; i < count; i++) {
        struct trace_grant *grant = trace_grant(topic, grants[i].slot);

        *grant = (struct trace_grant){true, grants[i].token, trace.session};
        trace_line("granted", topic, grants[i].slot, grant);
    }
    pthread_mutex_unlock(&trace.lock);
    trace_listener.granted(user, topic, grants, count);
}

static void trace_slots(const char *what, const char *topic, const int32_t *slots, size_t count,
                        bool held)
{
    pthread_mutex_lock(&trace.lock);
    for (size_t i = 0; i < count; i++) {
        struct trace_grant *grant = trace_grant(topic, slots[i]);

        trace_line(what, topic, slots[i], grant);
        grant->held = grant->held && held;
    }
    pthread_mutex_unlock(&trace.lock);
}

static void trace_on_revoked(void *user, const char *topic, const int32_t *slots, size_t count)
{
    trace_slots("revoked", topic, slots, count, true);
    trace_listener.revoked(user, topic, slots, count);
}

static void trace_on_lost(void *user, const char *topic, const int32_t *slots, size_t count)
{
    trace_slots("lost", topic, slots, count, false);
    trace_listener.lost(user, topic, slots, count);
}

/* The lease ends with the session, which is reported before the slots are lost. */
static void trace_on_leased(void *user, int64_t until_ms, int64_t lease_ms)
{
    if (until_ms == 0) {
        pthread_mutex_lock(&trace.lock);
        if (!trace.ended) {
            trace.ended = true;
            log_line("coord", "session_lost - -1 - %d", trace.session);
        }
        pthread_mutex_unlock(&trace.lock);
    }
    trace_listener.leased(user, until_ms, lease_ms);
}

smq_status __wrap_coord_fleet_new(struct coord **out, const struct coord_options *options,
                                  smq_error *err)
{
    struct coord_options traced = *options;

    trace_listener = options->listener;
    traced.listener.granted = trace_on_granted;
    traced.listener.revoked = trace_on_revoked;
    traced.listener.lost = trace_on_lost;
    traced.listener.leased = trace_on_leased;
    return __real_coord_fleet_new(out, &traced, err);
}

static void trace_answer(const char *what, const char *topic, int32_t slot, struct token token)
{
    pthread_mutex_lock(&trace.lock);
    struct trace_grant *grant = trace_grant(topic, slot);
    if (grant->held && token_compare(grant->token, token) == 0) {
        trace_line(what, topic, slot, grant);
        grant->held = false;
    }
    pthread_mutex_unlock(&trace.lock);
}

void __wrap_coord_answer(struct coord *coord, enum coord_answer answer, const char *topic,
                         int32_t slot, struct token token)
{
    if (answer != COORD_ACQUIRED) {
        trace_answer(answer == COORD_RELEASED ? "released" : "refused", topic, slot, token);
    }
    __real_coord_answer(coord, answer, topic, slot, token);
}

/* --- claims --- */

uint64_t trace_claim(const smq_delivery *delivery)
{
    struct entry entry;

    if (!entry_decode(&entry, delivery->entry, delivery->entry_len)) {
        abort();
    }
    return entry.claim;
}

/* An accepted push is the newest claim that the slot knows from then on. */
bool __wrap_push_take(struct owned_slot *slot, const char *data, size_t len)
{
    uint64_t last = slot->last;
    char token[TOKEN_TEXT_LEN + 1];
    struct store_slot target;
    struct store_push push;

    store_slot_fill(&target, &slot->set->topic, slot->number);
    bool is_push = store_push_read(&push, &target, data, len);
    bool taken = __real_push_take(slot, data, len);
    if (is_push) {
        token_format(token, push.token);
        log_line("push", "%s %s %d %s %" PRIu64,
                 slot->last != last ? "accepted"
                 : taken            ? "foreign"
                                    : "wake",
                 slot->set->name, (int) slot->number, token, push.claim);
    }
    return taken;
}
