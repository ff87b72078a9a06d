/* slot.c - one slot that this process consumes: its life.
 *
 * Thread: smq:io. */
#include "consume/slot/slot.h"

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

static void set_timer(struct strand *strand)
{
    int64_t at = strand->due_at;
    int64_t left;

    if (at == 0 || (strand->drain_at != 0 && strand->drain_at < at)) {
        at = strand->drain_at;
    }
    if (at == 0) {
        uv_timer_stop(&strand->timer);
        return;
    }
    left = at - clock_now_ms();
    uv_update_time(strand->timer.loop);
    uv_timer_start(&strand->timer, on_timer, left > 0 ? (uint64_t) left : 0, 0);
}

static void due(struct strand *strand)
{
    strand->due_at = 0;
    set_timer(strand);
    if (strand->state == STRAND_ACQUIRING) {
        strand_takeover(strand);
    } else if (strand->consuming != NULL) {
        consume_repeat(strand);
    } else {
        strand->look = true;
        strand_pump(strand);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct strand *strand = timer->data;
    smq_worker *worker = strand->worker;
    int64_t now = clock_now_ms();

    if (strand->drain_at != 0 && now >= strand->drain_at) {
        strand_abandon(strand);
        worker_feed(worker);
    } else if (strand->due_at != 0 && now >= strand->due_at) {
        due(strand);
    } else {
        set_timer(strand);
    }
}

void strand_arm(struct strand *strand, int64_t ms)
{
    strand->due_at = clock_now_ms() + ms;
    set_timer(strand);
}

int64_t strand_pause(struct strand *strand)
{
    int doublings = strand->failures < PAUSE_DOUBLINGS ? strand->failures : PAUSE_DOUBLINGS;
    int64_t most = (int64_t) PAUSE_FIRST_MS << doublings;

    strand->failures++;
    return most / 2 + (int64_t) (random_u64() % (uint64_t) (most / 2 + 1));
}

/* --- life --- */

static struct strand *strand_new(smq_worker *worker, int32_t slot)
{
    struct strand *strand = memory_new(sizeof(*strand));

    strand->worker = worker;
    strand->slot = slot;
    TAILQ_INIT(&strand->hand);
    STAILQ_INIT(&strand->answers);
    run_lane_init(&strand->lane);
    uv_timer_init(loop_uv(worker->hub->io), &strand->timer);
    strand->timer.data = strand;
    worker->handles_open++;
    worker->strands[slot] = strand;
    worker->strand_count++;
    return strand;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct strand *strand = handle->data;
    smq_worker *worker = strand->worker;

    buf_fini(&strand->part.entry);
    free(strand->channel);
    free(strand);
    worker_handle_closed(worker);
}

static void leaving_remove(struct strand *strand)
{
    if (strand->leaving) {
        LIST_REMOVE(strand, leaving_link);
        strand->leaving = false;
    }
}

/* Have it looked at whenever a handler returns. */
static void leaving_add(struct strand *strand)
{
    smq_worker *worker = strand->worker;

    if (!strand->leaving) {
        LIST_INSERT_HEAD(&worker->leaving, strand, leaving_link);
        strand->leaving = true;
    }
    run_queue_watch(worker->queue, true);
}

void strand_check(struct strand *strand)
{
    smq_worker *worker = strand->worker;

    if (strand->state != STRAND_IDLE || strand->granted || strand->calls > 0 || strand->touched) {
        return;
    }
    if (!run_queue_is_quiet(worker->queue, &strand->lane)) {
        leaving_add(strand);
        if (!run_queue_is_quiet(worker->queue, &strand->lane)) {
            return;
        }
    }
    leaving_remove(strand);
    worker->strands[strand->slot] = NULL;
    worker->strand_count--;
    uv_close((uv_handle_t *) &strand->timer, on_timer_closed);
    worker_check_end(worker);
}

void strand_call_begin(struct strand *strand)
{
    strand->calls++;
}

void strand_call_end(struct strand *strand)
{
    strand->calls--;
    strand_check(strand);
}

static bool is_owned(const struct strand *strand, enum strand_state state)
{
    return !strand->worker->shared && (state == STRAND_ACTIVE || state == STRAND_STOPPING);
}

static void count_step(const struct strand *strand, enum strand_state to)
{
    struct metrics *metrics = &strand->worker->hub->metrics;
    bool owned = is_owned(strand, strand->state);

    if (is_owned(strand, to) != owned) {
        metric_add(owned ? &metrics->slots_lost : &metrics->slots_gained, 1);
    }
    if ((strand->state == STRAND_ACTIVE) != (to == STRAND_ACTIVE)) {
        worker_owns(strand->worker, to == STRAND_ACTIVE ? 1 : -1);
    }
}

void strand_enter(struct strand *strand, enum strand_event event)
{
    enum strand_state state = strand->state;
    bool possible = strand_next(&state, strand->state, event);

    assert(possible);
    (void) possible;
    count_step(strand, state);
    strand->state = state;
    if (state == STRAND_IDLE) {
        strand->era++;
        strand->renewing = strand->doubted = false;
    }
}

/* --- waking --- */

static void on_notice(enum redis_notice notice, void *user)
{
    struct strand *strand = user;

    if (notice == REDIS_NOTICE_REFUSED) {
        worker_fail(strand->worker, SMQ_DENIED,
                    "its Redis user may not subscribe to the channels that wake it; let an "
                    "administrator run ACL SETUSER with +ssubscribe +sunsubscribe &wake*");
        return;
    }
    strand->recheck = true;
    if (strand->consuming != NULL) {
        strand->woken = true;
        return;
    }
    strand->look = true;
    strand_pump(strand);
}

static void subscribe(struct strand *strand)
{
    struct slot_keys keys;

    slot_keys_fill(&keys, strand->worker->name, strand->slot);
    if (strand->channel == NULL) {
        strand->channel = memory_string(keys.wake);
    }
    strand->subscription = (struct redis_subscription){.channel = strand->channel,
                                                       .hash_slot = keys.hash_slot,
                                                       .notice = on_notice,
                                                       .user = strand};
    strand->subscribed = true;
    redis_subscribe(strand->worker->hub->redis, &strand->subscription);
}

static void unsubscribe(struct strand *strand)
{
    if (strand->subscribed) {
        strand->subscribed = false;
        redis_unsubscribe(strand->worker->hub->redis, &strand->subscription);
    }
}

/* --- coming and going --- */

void strand_grant(smq_worker *worker, int32_t slot, struct token token)
{
    struct strand *strand = worker->strands[slot];
    bool known = strand != NULL && strand->state != STRAND_IDLE;

    if (known && token_compare(strand->token, token) == 0) {
        if (strand->state == STRAND_ACTIVE) {
            fleet_acquired(worker->hub->fleet, worker->name, slot, token);
        }
        return;
    }
    if (known) {
        strand->granted = true; /* so it stays */
        strand_drop(strand, SMQ_FENCED, "granted anew");
    }
    strand = strand != NULL ? strand : strand_new(worker, slot);
    strand->token = token;
    strand->granted = !worker->shared;
    strand->revoked = false;
    if (worker->state != WORKER_RUNNING) {
        return; /* coordination was told that we leave, and will take it back */
    }
    leaving_remove(strand);
    strand->failures = 0;
    strand_enter(strand, STRAND_GRANTED);
    if (worker->shared) {
        strand_taken(strand);
    } else {
        strand_takeover(strand);
    }
}

void strand_taken(struct strand *strand)
{
    smq_worker *worker = strand->worker;

    strand_enter(strand, STRAND_TAKEN);
    strand->look = true;
    strand->plenty = false;
    strand->failures = 0;
    strand_accepted(strand);
    subscribe(strand);
    if (!worker->shared) {
        strand_event(strand, SMQ_EVENT_SLOT_GAINED, SMQ_OK, "slot %" PRId32 " of topic %s is ours",
                     strand->slot, worker->name);
        fleet_acquired(worker->hub->fleet, worker->name, strand->slot, strand->token);
    }
    strand_pump(strand);
}

static void lists_remove(struct strand *strand)
{
    smq_worker *worker = strand->worker;

    if (strand->starved) {
        TAILQ_REMOVE(&worker->starved, strand, link);
    }
    if (strand->waits != NULL) {
        TAILQ_REMOVE(&strand->waits->waiting, strand, link);
    }
    strand->starved = false;
    strand->waits = NULL;
}

/* Tell coordination that it has its slot back, if it waits for that. */
static void release(struct strand *strand)
{
    smq_worker *worker = strand->worker;

    if (strand->revoked) {
        strand->granted = strand->revoked = false;
        fleet_released(worker->hub->fleet, worker->name, strand->slot, strand->token);
    }
}

void strand_end(struct strand *strand, enum strand_event event, smq_status standing,
                const char *why)
{
    smq_worker *worker = strand->worker;
    bool owned = strand->state != STRAND_ACQUIRING && !worker->shared;

    strand_enter(strand, event);
    hand_drop(strand, standing);
    consume_forget(strand);
    worker_forget_pause(strand);
    unsubscribe(strand);
    lists_remove(strand);
    strand->due_at = strand->drain_at = 0;
    set_timer(strand);
    strand->look = strand->woken = strand->recheck = strand->plenty = false;
    if (owned) {
        strand_event(strand, SMQ_EVENT_SLOT_LOST, standing,
                     "slot %" PRId32 " of topic %s is no longer ours: %s", strand->slot,
                     worker->name, why);
    }
    release(strand);
    strand_check(strand);
}

void strand_drop(struct strand *strand, smq_status standing, const char *why)
{
    if (strand->state == STRAND_IDLE) {
        release(strand);
        strand_check(strand);
        return;
    }
    strand_end(strand, STRAND_DROPPED, standing, why);
}

/* Nothing is committed any more.  Only the owner's name is taken back, for people: if the slot has
 * a newer owner that call is refused, and said. */
void strand_lost(struct strand *strand, const char *why)
{
    if (strand->state == STRAND_ACTIVE || strand->state == STRAND_STOPPING) {
        strand_vacate(strand);
    }
    strand->granted = strand->revoked = false;
    strand_drop(strand, SMQ_FENCED, why);
}

void strand_forsake(struct strand *strand)
{
    smq_worker *worker = strand->worker;

    if (strand->granted) {
        strand->granted = strand->revoked = false;
        fleet_released(worker->hub->fleet, worker->name, strand->slot, strand->token);
    }
    strand_check(strand);
}

void strand_abandon(struct strand *strand)
{
    if (strand->state != STRAND_STOPPING && strand->state != STRAND_VACATING) {
        strand_drop(strand, SMQ_LEASE_LOST, "the worker ends");
        return;
    }
    if (strand->state == STRAND_STOPPING) {
        strand->worker->abandoned = true;
    }
    strand_end(strand, STRAND_ABANDONED, SMQ_LEASE_LOST, "its messages took too long to end");
}

static void begin_stopping(struct strand *strand)
{
    if (strand->damaged) { /* nothing of it can be settled */
        strand_drop(strand, SMQ_LEASE_LOST, "Redis has lost a part of it");
        return;
    }
    strand_enter(strand, STRAND_REVOKED);
    unsubscribe(strand);
    lists_remove(strand);
    strand->drain_at = clock_now_ms() + strand->worker->drain_timeout_ms;
    set_timer(strand);
    leaving_add(strand);
    hand_release(strand);
    strand_pump(strand);
}

void strand_stop(struct strand *strand)
{
    switch (strand->state) {
    case STRAND_IDLE:
        release(strand);
        strand_check(strand);
        return;
    case STRAND_ACQUIRING:
        if (strand->waits != NULL) {
            strand_end(strand, STRAND_DROPPED, SMQ_OK, "");
            return;
        }
        strand_enter(strand, STRAND_REVOKED);
        strand_vacate(strand);
        return;
    case STRAND_ACTIVE:
        begin_stopping(strand);
        return;
    case STRAND_STOPPING:
    case STRAND_VACATING:
        return;
    }
}

void strand_let_go(struct strand *strand)
{
    if (strand->state == STRAND_STOPPING) {
        hand_let_go(strand);
        strand_pump(strand);
    }
}

void strand_revoke(struct strand *strand)
{
    strand->revoked = true;
    strand_stop(strand);
}

void strand_pump(struct strand *strand)
{
    bool stopping = strand->state == STRAND_STOPPING;

    if ((strand->state != STRAND_ACTIVE && !stopping) || strand->consuming != NULL ||
        consume_begin(strand)) {
        return;
    }
    if (stopping && strand->in_hand == 0 &&
        run_queue_is_quiet(strand->worker->queue, &strand->lane)) {
        leaving_remove(strand);
        strand_enter(strand, STRAND_SETTLED);
        strand_vacate(strand);
    }
}

/* --- what calls come to --- */

void strand_call_failed(struct strand *strand, const struct store_result *result)
{
    smq_worker *worker = strand->worker;
    uint32_t era = strand->era;

    if (result->outcome == STORE_STALE || result->outcome == STORE_NO_TOPIC) {
        strand_refused(strand, result);
        if (strand->damaged && strand->state == STRAND_STOPPING) {
            strand_drop(strand, SMQ_LEASE_LOST, "Redis has lost a part of it");
            return;
        }
    } else if (result->status == SMQ_DENIED) {
        worker_fail(worker, SMQ_DENIED, result->text);
    } else if (result->outcome == STORE_PARTLY) {
        events_log(worker->hub->events, SMQ_LEVEL_WARN, "slot %" PRId32 " of topic %s: %s",
                   strand->slot, worker->name, result->text);
    }
    if (strand->era == era && strand->state != STRAND_IDLE) {
        strand_arm(strand, strand_pause(strand));
    }
}

/* Redis knows an older token than ours: a failover has lost the takeover, and maybe claims. */
static void rewind_token(struct strand *strand)
{
    events_log(strand->worker->hub->events, SMQ_LEVEL_WARN,
               "slot %" PRId32 " of topic %s: Redis has lost our token; taking the slot over again",
               strand->slot, strand->worker->name);
    if (strand->state != STRAND_ACTIVE) {
        strand_drop(strand, SMQ_LEASE_LOST, "Redis has lost our token");
        return;
    }
    hand_drop(strand, SMQ_LEASE_LOST);
    consume_forget(strand);
    unsubscribe(strand);
    lists_remove(strand);
    strand->era++;
    strand->renewing = strand->doubted = false;
    strand->due_at = 0;
    set_timer(strand);
    strand_enter(strand, STRAND_REWOUND);
    strand_takeover(strand);
}

void strand_tell_fenced(const struct strand *strand)
{
    metric_add(&strand->worker->hub->metrics.fenced, 1);
    strand_event(strand, SMQ_EVENT_FENCED, SMQ_FENCED,
                 "slot %" PRId32 " of topic %s has a newer owner", strand->slot,
                 strand->worker->name);
}

void strand_fenced(struct strand *strand, const struct store_result *result)
{
    smq_worker *worker = strand->worker;
    struct token stored;
    bool known = store_fenced_token(&stored, result);

    if (strand->state != STRAND_ACQUIRING && known && token_compare(stored, strand->token) < 0) {
        rewind_token(strand);
        return;
    }
    if (is_owned(strand, strand->state)) {
        fleet_doubt(worker->hub->fleet);
    }
    strand_tell_fenced(strand);
    if (known && stored.generation > strand->token.generation) {
        worker_check_binding(worker);
    }
    if (strand->granted && !strand->revoked) {
        strand->granted = false;
        fleet_refused(worker->hub->fleet, worker->name, strand->slot, strand->token);
    }
    strand_drop(strand, SMQ_FENCED, "it has a newer owner");
}
