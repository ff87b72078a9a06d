/* owned_slot.c - one slot that this process consumes: its life.
 *
 * Thread: smq:io. */
#include "consume/slot/owned_slot.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "consume/worker/worker.h"
#include "core/coord_link.h"

enum { PAUSE_FIRST_MS = 50, PAUSE_DOUBLINGS = 5 };

/* --- time --- */

static void on_timer(uv_timer_t *timer);

static void set_timer(struct owned_slot *slot)
{
    int64_t at = slot->due_at;
    int64_t left;

    if (at == 0 || (slot->drain_at != 0 && slot->drain_at < at)) {
        at = slot->drain_at;
    }
    if (at == 0) {
        uv_timer_stop(&slot->timer);
        return;
    }
    left = at - clock_now_ms();
    uv_update_time(slot->timer.loop);
    uv_timer_start(&slot->timer, on_timer, left > 0 ? (uint64_t) left : 0, 0);
}

static void due(struct owned_slot *slot)
{
    slot->due_at = 0;
    set_timer(slot);
    if (slot->state == OWNED_ACQUIRING) {
        takeover_begin(slot);
    } else if (slot->consuming != NULL) {
        consume_repeat(slot);
    } else {
        slot->look = true;
        owned_slot_pump(slot);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct owned_slot *slot = timer->data;
    smq_worker *worker = slot->worker;
    int64_t now = clock_now_ms();

    if (slot->drain_at != 0 && now >= slot->drain_at) {
        owned_slot_abandon(slot);
        worker_feed(worker);
    } else if (slot->due_at != 0 && now >= slot->due_at) {
        due(slot);
    } else {
        set_timer(slot);
    }
}

void owned_slot_arm(struct owned_slot *slot, int64_t ms)
{
    slot->due_at = clock_now_ms() + ms;
    set_timer(slot);
}

int64_t owned_slot_next_backoff_ms(struct owned_slot *slot)
{
    int doublings = slot->failures < PAUSE_DOUBLINGS ? slot->failures : PAUSE_DOUBLINGS;
    int64_t most = (int64_t) PAUSE_FIRST_MS << doublings;

    slot->failures++;
    return most / 2 + (int64_t) (random_u64() % (uint64_t) (most / 2 + 1));
}

/* --- life --- */

static struct owned_slot *owned_slot_new(smq_worker *worker, int32_t number)
{
    struct owned_slot *slot = memory_new(sizeof(*slot));

    slot->worker = worker;
    slot->number = number;
    TAILQ_INIT(&slot->in_flight);
    STAILQ_INIT(&slot->answers);
    run_lane_init(&slot->lane);
    uv_timer_init(loop_uv(worker->core->io), &slot->timer);
    slot->timer.data = slot;
    worker->handles_open++;
    worker->slots[number] = slot;
    worker->owned_slot_count++;
    return slot;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct owned_slot *slot = handle->data;
    smq_worker *worker = slot->worker;

    buf_fini(&slot->part.entry);
    free(slot->channel);
    free(slot);
    worker_handle_closed(worker);
}

static void leaving_remove(struct owned_slot *slot)
{
    if (slot->leaving) {
        LIST_REMOVE(slot, leaving_link);
        slot->leaving = false;
    }
}

/* Have it looked at whenever a handler returns. */
static void leaving_add(struct owned_slot *slot)
{
    smq_worker *worker = slot->worker;

    if (!slot->leaving) {
        LIST_INSERT_HEAD(&worker->leaving, slot, leaving_link);
        slot->leaving = true;
    }
    run_queue_watch(worker->queue, true);
}

void owned_slot_check(struct owned_slot *slot)
{
    smq_worker *worker = slot->worker;

    if (slot->state != OWNED_IDLE || slot->granted || slot->calls > 0 || slot->touched) {
        return;
    }
    if (!run_queue_is_quiet(worker->queue, &slot->lane)) {
        leaving_add(slot);
        if (!run_queue_is_quiet(worker->queue, &slot->lane)) {
            return;
        }
    }
    leaving_remove(slot);
    worker->slots[slot->number] = NULL;
    worker->owned_slot_count--;
    uv_close((uv_handle_t *) &slot->timer, on_timer_closed);
    worker_check_end(worker);
}

void owned_slot_call_begin(struct owned_slot *slot)
{
    slot->calls++;
}

void owned_slot_call_end(struct owned_slot *slot)
{
    slot->calls--;
    owned_slot_check(slot);
}

static bool is_owned(const struct owned_slot *slot, enum owned_state state)
{
    return !slot->worker->shared && (state == OWNED_ACTIVE || state == OWNED_STOPPING);
}

static void count_step(const struct owned_slot *slot, enum owned_state to)
{
    struct metrics *metrics = &slot->worker->core->metrics;
    bool owned = is_owned(slot, slot->state);

    if (is_owned(slot, to) != owned) {
        metric_add(owned ? &metrics->slots_lost : &metrics->slots_gained, 1);
    }
    if ((slot->state == OWNED_ACTIVE) != (to == OWNED_ACTIVE)) {
        worker_owns(slot->worker, to == OWNED_ACTIVE ? 1 : -1);
    }
}

void owned_slot_enter(struct owned_slot *slot, enum owned_event event)
{
    enum owned_state state = slot->state;
    bool possible = owned_state_next(&state, slot->state, event);

    assert(possible);
    (void) possible;
    count_step(slot, state);
    slot->state = state;
    if (state == OWNED_IDLE) {
        slot->era++;
        slot->renewing = slot->doubted = false;
    }
}

/* --- waking --- */

static void on_notice(enum redis_notice notice, void *user)
{
    struct owned_slot *slot = user;

    if (notice == REDIS_NOTICE_REFUSED) {
        worker_fail(slot->worker, SMQ_DENIED,
                    "its Redis user may not subscribe to the channels that wake it; let an "
                    "administrator run ACL SETUSER with +ssubscribe +sunsubscribe &wake*");
        return;
    }
    slot->recheck = true;
    if (slot->consuming != NULL) {
        slot->woken = true;
        return;
    }
    slot->look = true;
    owned_slot_pump(slot);
}

static void subscribe(struct owned_slot *slot)
{
    struct slot_keys keys;

    slot_keys_fill(&keys, slot->worker->name, slot->number);
    if (slot->channel == NULL) {
        slot->channel = memory_string(keys.wake);
    }
    slot->subscription = (struct redis_subscription){
        .channel = slot->channel, .hash_slot = keys.hash_slot, .notice = on_notice, .user = slot};
    slot->subscribed = true;
    redis_subscribe(slot->worker->core->redis, &slot->subscription);
}

static void unsubscribe(struct owned_slot *slot)
{
    if (slot->subscribed) {
        slot->subscribed = false;
        redis_unsubscribe(slot->worker->core->redis, &slot->subscription);
    }
}

/* --- coming and going --- */

void owned_slot_grant(smq_worker *worker, int32_t number, struct token token)
{
    struct owned_slot *slot = worker->slots[number];
    bool known = slot != NULL && slot->state != OWNED_IDLE;

    if (known && token_compare(slot->token, token) == 0) {
        if (slot->state == OWNED_ACTIVE) {
            coord_link_acquired(worker->core->link, worker->name, number, token);
        }
        return;
    }
    if (known) {
        slot->granted = true; /* so it stays */
        owned_slot_drop(slot, SMQ_FENCED, "granted anew");
    }
    slot = slot != NULL ? slot : owned_slot_new(worker, number);
    slot->token = token;
    slot->granted = !worker->shared;
    slot->revoked = false;
    if (worker->state != WORKER_RUNNING) {
        return; /* coordination was told that we leave, and will take it back */
    }
    leaving_remove(slot);
    slot->failures = 0;
    owned_slot_enter(slot, OWNED_EVENT_GRANTED);
    if (worker->shared) {
        owned_slot_taken(slot);
    } else {
        takeover_begin(slot);
    }
}

void owned_slot_taken(struct owned_slot *slot)
{
    smq_worker *worker = slot->worker;

    owned_slot_enter(slot, OWNED_EVENT_TAKEN);
    slot->look = true;
    slot->plenty = false;
    slot->failures = 0;
    damage_on_accepted(slot);
    subscribe(slot);
    if (!worker->shared) {
        owned_slot_event(slot, SMQ_EVENT_SLOT_GAINED, SMQ_OK,
                         "slot %" PRId32 " of topic %s is ours", slot->number, worker->name);
        coord_link_acquired(worker->core->link, worker->name, slot->number, slot->token);
    }
    owned_slot_pump(slot);
}

static void lists_remove(struct owned_slot *slot)
{
    smq_worker *worker = slot->worker;

    if (slot->starved) {
        TAILQ_REMOVE(&worker->starved, slot, link);
    }
    if (slot->waits != NULL) {
        TAILQ_REMOVE(&slot->waits->waiting, slot, link);
    }
    slot->starved = false;
    slot->waits = NULL;
}

/* Tell coordination that it has its slot back, if it waits for that. */
static void release(struct owned_slot *slot)
{
    smq_worker *worker = slot->worker;

    if (slot->revoked) {
        slot->granted = slot->revoked = false;
        coord_link_released(worker->core->link, worker->name, slot->number, slot->token);
    }
}

void owned_slot_end(struct owned_slot *slot, enum owned_event event, smq_status standing,
                    const char *why)
{
    smq_worker *worker = slot->worker;
    bool owned = slot->state != OWNED_ACQUIRING && !worker->shared;

    owned_slot_enter(slot, event);
    in_flight_drop(slot, standing);
    consume_forget(slot);
    worker_forget_pause(slot);
    unsubscribe(slot);
    lists_remove(slot);
    slot->due_at = slot->drain_at = 0;
    set_timer(slot);
    slot->look = slot->woken = slot->recheck = slot->plenty = false;
    if (owned) {
        owned_slot_event(slot, SMQ_EVENT_SLOT_LOST, standing,
                         "slot %" PRId32 " of topic %s is no longer ours: %s", slot->number,
                         worker->name, why);
    }
    release(slot);
    owned_slot_check(slot);
}

void owned_slot_drop(struct owned_slot *slot, smq_status standing, const char *why)
{
    if (slot->state == OWNED_IDLE) {
        release(slot);
        owned_slot_check(slot);
        return;
    }
    owned_slot_end(slot, OWNED_EVENT_DROPPED, standing, why);
}

/* Nothing is committed any more.  Only the owner's name is taken back, for people: if the slot has
 * a newer owner that call is refused, and said. */
void owned_slot_lost(struct owned_slot *slot, const char *why)
{
    if (slot->state == OWNED_ACTIVE || slot->state == OWNED_STOPPING) {
        takeover_undo(slot);
    }
    slot->granted = slot->revoked = false;
    owned_slot_drop(slot, SMQ_FENCED, why);
}

void owned_slot_detach(struct owned_slot *slot)
{
    smq_worker *worker = slot->worker;

    if (slot->granted) {
        slot->granted = slot->revoked = false;
        coord_link_released(worker->core->link, worker->name, slot->number, slot->token);
    }
    owned_slot_check(slot);
}

void owned_slot_abandon(struct owned_slot *slot)
{
    if (slot->state != OWNED_STOPPING && slot->state != OWNED_VACATING) {
        owned_slot_drop(slot, SMQ_LEASE_LOST, "the worker ends");
        return;
    }
    if (slot->state == OWNED_STOPPING) {
        slot->worker->abandoned = true;
    }
    owned_slot_end(slot, OWNED_EVENT_ABANDONED, SMQ_LEASE_LOST,
                   "its messages took too long to end");
}

static void begin_stopping(struct owned_slot *slot)
{
    if (slot->damaged) { /* nothing of it can be settled */
        owned_slot_drop(slot, SMQ_LEASE_LOST, "Redis has lost a part of it");
        return;
    }
    owned_slot_enter(slot, OWNED_EVENT_REVOKED);
    unsubscribe(slot);
    lists_remove(slot);
    slot->drain_at = clock_now_ms() + slot->worker->drain_timeout_ms;
    set_timer(slot);
    leaving_add(slot);
    in_flight_release(slot);
    owned_slot_pump(slot);
}

void owned_slot_stop(struct owned_slot *slot)
{
    switch (slot->state) {
    case OWNED_IDLE:
        release(slot);
        owned_slot_check(slot);
        return;
    case OWNED_ACQUIRING:
        if (slot->waits != NULL) {
            owned_slot_end(slot, OWNED_EVENT_DROPPED, SMQ_OK, "");
            return;
        }
        owned_slot_enter(slot, OWNED_EVENT_REVOKED);
        takeover_undo(slot);
        return;
    case OWNED_ACTIVE:
        begin_stopping(slot);
        return;
    case OWNED_STOPPING:
    case OWNED_VACATING:
        return;
    }
}

void owned_slot_abandon_unanswered(struct owned_slot *slot)
{
    if (slot->state == OWNED_STOPPING) {
        in_flight_abandon_unanswered(slot);
        owned_slot_pump(slot);
    }
}

void owned_slot_revoke(struct owned_slot *slot)
{
    slot->revoked = true;
    owned_slot_stop(slot);
}

void owned_slot_pump(struct owned_slot *slot)
{
    bool stopping = slot->state == OWNED_STOPPING;

    if ((slot->state != OWNED_ACTIVE && !stopping) || slot->consuming != NULL ||
        consume_begin(slot)) {
        return;
    }
    if (stopping && slot->in_flight_count == 0 &&
        run_queue_is_quiet(slot->worker->queue, &slot->lane)) {
        leaving_remove(slot);
        owned_slot_enter(slot, OWNED_EVENT_SETTLED);
        takeover_undo(slot);
    }
}

/* --- what calls come to --- */

void owned_slot_call_failed(struct owned_slot *slot, const struct store_result *result)
{
    smq_worker *worker = slot->worker;
    uint32_t era = slot->era;

    if (result->outcome == STORE_STALE || result->outcome == STORE_NO_TOPIC) {
        damage_on_refused(slot, result);
        if (slot->damaged && slot->state == OWNED_STOPPING) {
            owned_slot_drop(slot, SMQ_LEASE_LOST, "Redis has lost a part of it");
            return;
        }
    } else if (result->status == SMQ_DENIED) {
        worker_fail(worker, SMQ_DENIED, result->text);
    } else if (result->outcome == STORE_PARTLY) {
        events_log(worker->core->events, SMQ_LEVEL_WARN, "slot %" PRId32 " of topic %s: %s",
                   slot->number, worker->name, result->text);
    }
    if (slot->era == era && slot->state != OWNED_IDLE) {
        owned_slot_arm(slot, owned_slot_next_backoff_ms(slot));
    }
}

/* Redis knows an older token than ours: a failover has lost the takeover, and maybe claims. */
static void rewind_token(struct owned_slot *slot)
{
    events_log(slot->worker->core->events, SMQ_LEVEL_WARN,
               "slot %" PRId32 " of topic %s: Redis has lost our token; taking the slot over again",
               slot->number, slot->worker->name);
    if (slot->state != OWNED_ACTIVE) {
        owned_slot_drop(slot, SMQ_LEASE_LOST, "Redis has lost our token");
        return;
    }
    in_flight_drop(slot, SMQ_LEASE_LOST);
    consume_forget(slot);
    unsubscribe(slot);
    lists_remove(slot);
    slot->era++;
    slot->renewing = slot->doubted = false;
    slot->due_at = 0;
    set_timer(slot);
    owned_slot_enter(slot, OWNED_EVENT_REWOUND);
    takeover_begin(slot);
}

void owned_slot_tell_fenced(const struct owned_slot *slot)
{
    metric_add(&slot->worker->core->metrics.fenced, 1);
    owned_slot_event(slot, SMQ_EVENT_FENCED, SMQ_FENCED,
                     "slot %" PRId32 " of topic %s has a newer owner", slot->number,
                     slot->worker->name);
}

void owned_slot_fenced(struct owned_slot *slot, const struct store_result *result)
{
    smq_worker *worker = slot->worker;
    struct token stored;
    bool known = store_fenced_token(&stored, result);

    if (slot->state != OWNED_ACQUIRING && known && token_compare(stored, slot->token) < 0) {
        rewind_token(slot);
        return;
    }
    if (is_owned(slot, slot->state)) {
        coord_link_doubt(worker->core->link);
    }
    owned_slot_tell_fenced(slot);
    if (known && stored.generation > slot->token.generation) {
        worker_check_binding(worker);
    }
    if (slot->granted && !slot->revoked) {
        slot->granted = false;
        coord_link_refused(worker->core->link, worker->name, slot->number, slot->token);
    }
    owned_slot_drop(slot, SMQ_FENCED, "it has a newer owner");
}
