/* slot_life.c - see slot_life.h.
 *
 * Thread: smq:io. */
#include "consume/slot/slot_life.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "consume/slot/consume_call.h"
#include "consume/slot/damage.h"
#include "consume/slot/in_flight.h"
#include "consume/slot/push.h"
#include "consume/slot/shared.h"
#include "consume/slot/sleep.h"
#include "consume/slot/takeover.h"
#include "consume/slot/ticking.h"
#include "core/coord_link.h"
#include "store/owner.h"

/* --- waking --- */

static void slot_life_wake(struct owned_slot *slot)
{
    if (slot->notice == OWNED_UNNOTICED) {
        slot->notice = OWNED_NOTICED;
    }
    call_wait_told(&slot->wait, clock_now_us());
    if (!consume_wake(slot)) {
        slot->look_us = 0;
        slot_set_changed(slot);
    }
}

/* Redis denies the subscription, with this error. */
static void slot_life_deny(struct owned_slot *slot, const char *why)
{
    const struct slot_host *host = &slot->set->host;
    char text[SMQ_TEXT_SIZE];

    (void) snprintf(text, sizeof(text),
                    "the Redis user may not subscribe to the channels that wake consumers; let an "
                    "administrator run ACL SETUSER with +ssubscribe +sunsubscribe &wake* (%s: %s)",
                    slot->channel, why);
    host->denied(host->user, slot->set->proved || slot->set->subscribed, text);
}

static void slot_life_on_notice(enum redis_notice notice, const char *data, size_t len, void *user)
{
    struct owned_slot *slot = user;
    struct slot_set *set = slot->set;

    set->subscribed = set->subscribed || notice == REDIS_NOTICE_SUBSCRIBED;
    sleep_noticed(slot);
    if (notice == REDIS_NOTICE_REFUSED) {
        slot_life_deny(slot, data);
    } else if (len == 0 || !push_take(slot, data, len)) {
        slot_life_wake(slot);
    }
    slot_set_turn(set);
}

/* Of a shared topic: on the channel that all processes share.  The subscription of the channel of
 * its own makes the slot look. */
static void slot_life_on_common_notice(enum redis_notice notice, const char *data, size_t len,
                                       void *user)
{
    if (notice != REDIS_NOTICE_SUBSCRIBED) {
        slot_life_on_notice(notice, data, len, user);
    }
}

/* Of a shared topic: on the channel of this process. */
static void slot_life_on_own_notice(enum redis_notice notice, const char *data, size_t len,
                                    void *user)
{
    struct owned_slot *slot = user;

    if (notice == REDIS_NOTICE_MESSAGE && shared_take(slot, data, len)) {
        slot_set_turn(slot->set);
        return;
    }
    if (notice == REDIS_NOTICE_MESSAGE) {
        slot->notice = OWNED_OWES_CALL;
    }
    slot_life_on_notice(notice, data, len, user);
}

static void slot_life_subscribe(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;
    char own[STORE_CALLER_CHANNEL_MAX];
    struct slot_keys keys;

    slot_keys_fill(&keys, set->name, slot->number);
    if (slot->channel == NULL) {
        store_caller_channel(own, &keys, set->caller);
        slot->channel = memory_string(keys.wake);
        slot->shared.channel = set->shared ? memory_string(own) : NULL;
    }
    slot->subscription = (struct redis_subscription){
        .channel = slot->channel,
        .hash_slot = keys.hash_slot,
        .notice = set->shared ? slot_life_on_common_notice : slot_life_on_notice,
        .user = slot};
    redis_subscribe(set->core->redis, &slot->subscription);
    if (set->shared) {
        slot->shared.subscription = (struct redis_subscription){.channel = slot->shared.channel,
                                                                .hash_slot = keys.hash_slot,
                                                                .notice = slot_life_on_own_notice,
                                                                .user = slot};
        redis_subscribe(set->core->redis, &slot->shared.subscription);
    }
}

static void slot_life_unsubscribe(struct owned_slot *slot)
{
    redis_unsubscribe(slot->set->core->redis, &slot->subscription);
    if (slot->set->shared) {
        redis_unsubscribe(slot->set->core->redis, &slot->shared.subscription);
    }
}

/* --- the end --- */

/* Report to coordination that the slot is released, if it waits for that. */
static void slot_life_release(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;

    if (slot->grant == OWNED_GRANT_REVOKED) {
        slot->grant = OWNED_GRANT_NONE;
        coord_link_answer(set->core->link, COORD_RELEASED, set->name, slot->number, slot->token);
    }
}

/* Drop everything that the slot was about to do. */
static void slot_life_clear(struct owned_slot *slot, smq_status validity)
{
    in_flight_drop(slot, validity);
    consume_forget(slot);
    owned_slot_end_waiting(slot);
    owned_slot_unqueue(slot);
}

/* Enter IDLE by `event`. */
static void slot_life_end(struct owned_slot *slot, enum owned_event event, smq_status validity,
                          const char *why)
{
    bool owned = slot->state != OWNED_ACQUIRING && !slot->set->shared;

    if (slot->state == OWNED_ACTIVE) {
        slot_life_unsubscribe(slot);
    }
    owned_slot_enter(slot, event);
    slot_life_clear(slot, validity);
    slot_set_forget_pause(slot);
    slot->due_us = slot->drain_us = 0;
    owned_slot_set_alarm(slot);
    slot->store = NEXT_CALL_EMPTY;
    slot->notice = OWNED_UNNOTICED;
    if (owned) {
        owned_slot_event(slot, SMQ_EVENT_SLOT_LOST, validity,
                         "slot %" PRId32 " of topic %s is no longer owned: %s", slot->number,
                         slot->set->name, why);
    }
    slot_life_release(slot);
    slot_set_changed(slot);
}

void slot_life_drop(struct owned_slot *slot, smq_status validity, const char *why)
{
    if (slot->state == OWNED_IDLE) {
        slot_life_release(slot);
        slot_set_changed(slot);
        return;
    }
    slot_life_end(slot, OWNED_EVENT_DROPPED, validity, why);
}

/* Redis has no owner's name for a shared slot, so there is nothing to remove.  When no node answers
 * the name stays, because nothing waits for it but people. */
static void slot_life_vacate(struct owned_slot *slot)
{
    if (slot->set->shared || !redis_is_reached(slot->set->core->redis)) {
        slot_life_end(slot, OWNED_EVENT_VACATED, SMQ_OK, "given up");
    } else {
        takeover_undo(slot);
    }
}

/* No more answers are stored.  Only the owner's name, which is there for people, is removed; if the
 * slot has a newer owner Redis refuses that call, and this is reported. */
void slot_life_lost(struct owned_slot *slot)
{
    if (slot->state == OWNED_ACTIVE || slot->state == OWNED_STOPPING) {
        takeover_undo(slot);
    }
    slot->grant = OWNED_GRANT_NONE;
    slot_life_drop(slot, SMQ_FENCED, "this process is no longer a member");
}

void slot_life_detach(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;

    if (slot->grant != OWNED_GRANT_NONE) {
        slot->grant = OWNED_GRANT_NONE;
        coord_link_answer(set->core->link, COORD_RELEASED, set->name, slot->number, slot->token);
    }
    slot_set_changed(slot);
}

void slot_life_abandon(struct owned_slot *slot)
{
    if (slot->state != OWNED_STOPPING && slot->state != OWNED_VACATING) {
        slot_life_drop(slot, SMQ_LEASE_LOST, "the consumer ends");
        return;
    }
    if (slot->state == OWNED_STOPPING) {
        slot->set->abandoned = true;
    }
    slot_life_end(slot, OWNED_EVENT_ABANDONED, SMQ_LEASE_LOST, "its messages took too long to end");
}

/* --- giving up --- */

static void slot_life_begin_stopping(struct owned_slot *slot)
{
    if (slot->health == OWNED_DAMAGED) { /* none of its answers can be stored */
        slot_life_drop(slot, SMQ_LEASE_LOST, "Redis has lost a part of it");
        return;
    }
    owned_slot_enter(slot, OWNED_EVENT_REVOKED);
    slot_life_unsubscribe(slot);
    owned_slot_end_waiting(slot);
    owned_slot_unqueue(slot);
    slot->drain_us = clock_now_us() + slot->set->drain_timeout_ms * 1000;
    owned_slot_set_alarm(slot);
    owned_slot_watch_handlers(slot);
    in_flight_release(slot);
    slot_set_changed(slot);
}

void slot_life_stop(struct owned_slot *slot)
{
    switch (slot->state) {
    case OWNED_IDLE:
        slot_life_release(slot);
        slot_set_changed(slot);
        return;
    case OWNED_ACQUIRING:
        if (slot->queue != NULL) {
            slot_life_end(slot, OWNED_EVENT_DROPPED, SMQ_OK, "");
            return;
        }
        owned_slot_enter(slot, OWNED_EVENT_REVOKED);
        slot_life_vacate(slot);
        return;
    case OWNED_ACTIVE:
        slot_life_begin_stopping(slot);
        return;
    case OWNED_STOPPING:
    case OWNED_VACATING:
        return;
    }
}

void slot_life_revoke(struct owned_slot *slot)
{
    slot->grant = OWNED_GRANT_REVOKED;
    slot_life_stop(slot);
}

void slot_life_abandon_unanswered(struct owned_slot *slot)
{
    if (slot->state == OWNED_STOPPING) {
        in_flight_abandon_unanswered(slot);
        slot_set_changed(slot);
    }
}

/* Must the slot be released with answers that are not stored?  It must if another member waits for
 * it, no handler works on its messages any more, and no Redis node answers, so that waiting until
 * drain_us would change nothing. */
static bool slot_life_is_cut_off(const struct owned_slot *slot)
{
    return slot->state == OWNED_STOPPING && slot->grant == OWNED_GRANT_REVOKED &&
           !redis_is_reached(slot->set->core->redis) &&
           scheduler_is_quiet(slot->set->scheduler, &slot->run_queue);
}

/* --- the turn --- */

void slot_life_decide(struct owned_slot *slot)
{
    bool stopping = slot->state == OWNED_STOPPING;

    ticking_decide(slot);
    if (slot->state == OWNED_IDLE) {
        owned_slot_free_if_unused(slot);
        return;
    }
    if (slot_life_is_cut_off(slot)) {
        slot->set->abandoned = slot->set->abandoned || slot->in_flight_count > 0;
        slot_life_end(slot, OWNED_EVENT_ABANDONED, SMQ_LEASE_LOST, "no Redis node answers");
        return;
    }
    if ((slot->state != OWNED_ACTIVE && !stopping) || slot->consuming != NULL ||
        consume_begin(slot)) {
        return;
    }
    if (stopping && slot->in_flight_count == 0 &&
        scheduler_is_quiet(slot->set->scheduler, &slot->run_queue)) {
        owned_slot_unwatch_handlers(slot);
        owned_slot_enter(slot, OWNED_EVENT_SETTLED);
        slot_life_vacate(slot);
    }
}

/* --- time --- */

static void slot_life_due(struct owned_slot *slot)
{
    slot->due_us = 0;
    owned_slot_set_alarm(slot);
    if (slot->state == OWNED_ACQUIRING) {
        takeover_begin(slot);
    } else if (slot->consuming != NULL) {
        consume_repeat(slot);
    } else if (!shared_probe(slot)) {
        sleep_over(slot);
        shared_look(slot);
    }
}

static void slot_life_on_alarm(struct alarm *alarm)
{
    struct owned_slot *slot = OWNER_OF(alarm, struct owned_slot, alarm);
    struct slot_set *set = slot->set;
    int64_t now_us = clock_now_us();

    if (slot->drain_us != 0 && now_us >= slot->drain_us) {
        slot_life_abandon(slot);
    } else if (slot->due_us != 0 && now_us >= slot->due_us) {
        slot_life_due(slot);
    } else {
        slot_set_changed(slot);
    }
    slot_set_turn(set);
}

/* --- taking over --- */

/* Redis has stored the token: this process owns the slot. */
static void slot_life_taken_over(struct owned_slot *slot)
{
    struct slot_set *set = slot->set;

    owned_slot_enter(slot, OWNED_EVENT_TAKEN);
    slot->store = NEXT_CALL_PERHAPS;
    slot->failures = 0;
    owned_slot_forget_pushes(slot);
    ordinary_begin(&slot->ordinary,
                   set->topic.takeover == SMQ_TAKEOVER_STRICT ? set->topic.lease_ms : 0);
    damage_on_accepted(slot);
    slot_life_subscribe(slot);
    if (!set->shared) {
        owned_slot_event(slot, SMQ_EVENT_SLOT_GAINED, SMQ_OK,
                         "slot %" PRId32 " of topic %s is owned", slot->number, set->name);
        coord_link_answer(set->core->link, COORD_ACQUIRED, set->name, slot->number, slot->token);
    }
    slot_set_changed(slot);
}

void slot_life_grant(struct slot_set *set, int32_t number, struct token token)
{
    struct owned_slot *slot = set->slots[number];
    bool known = slot != NULL && slot->state != OWNED_IDLE;

    if (known && token_compare(slot->token, token) == 0) {
        if (slot->state == OWNED_ACTIVE) {
            coord_link_answer(set->core->link, COORD_ACQUIRED, set->name, number, token);
        }
        return;
    }
    if (known) {
        slot_life_drop(slot, SMQ_FENCED, "granted anew");
    }
    slot = slot != NULL ? slot : owned_slot_new(set, number, slot_life_on_alarm);
    slot->token = token;
    slot->grant = set->shared ? OWNED_GRANT_NONE : OWNED_GRANT_HELD;
    if (!set->claiming) {
        return; /* coordination knows that the consumer leaves, and will take the slot back */
    }
    owned_slot_unwatch_handlers(slot);
    slot->failures = 0;
    owned_slot_enter(slot, OWNED_EVENT_GRANTED);
    if (set->shared) {
        slot_life_taken_over(slot);
    } else {
        takeover_begin(slot);
    }
}

/* --- results of calls --- */

/* Redis has an older token than this process: a failover has lost the takeover, and perhaps
 * claims. */
static void slot_life_rewind(struct owned_slot *slot)
{
    events_log(
        slot->set->core->events, SMQ_LEVEL_WARN,
        "slot %" PRId32
        " of topic %s: Redis has lost the token of this process; the slot is taken over again",
        slot->number, slot->set->name);
    if (slot->state != OWNED_ACTIVE) {
        slot_life_drop(slot, SMQ_LEASE_LOST, "Redis has lost the token of this process");
        return;
    }
    slot_life_unsubscribe(slot);
    slot_life_clear(slot, SMQ_LEASE_LOST);
    slot->era++;
    slot->renewing = slot->unconfirmed = false;
    slot->due_us = 0;
    owned_slot_set_alarm(slot);
    owned_slot_enter(slot, OWNED_EVENT_REWOUND);
    takeover_begin(slot);
}

/* A script refused the slot's token. */
static void slot_life_fenced(struct owned_slot *slot, const struct store_result *result)
{
    struct slot_set *set = slot->set;
    struct token stored;
    bool known = store_fenced_token(&stored, result);

    if (slot->state != OWNED_ACQUIRING && known && token_compare(stored, slot->token) < 0) {
        slot_life_rewind(slot);
        return;
    }
    if (owned_slot_is_exclusive(slot, slot->state)) {
        coord_link_invalidate(set->core->link);
    }
    owned_slot_report_fenced(slot);
    if (known && stored.generation > slot->token.generation) {
        set->host.superseded(set->host.user);
    }
    if (slot->grant == OWNED_GRANT_HELD) {
        slot->grant = OWNED_GRANT_NONE;
        coord_link_answer(set->core->link, COORD_REFUSED, set->name, slot->number, slot->token);
        if (known) {
            coord_link_surpassed(set->core->link, set->name, stored);
        }
    }
    slot_life_drop(slot, SMQ_FENCED, "it has a newer owner");
}

static void slot_life_denied(const struct slot_set *set, enum slot_call call, const char *text)
{
    set->host.denied(set->host.user, set->proved || set->had[call], text);
}

/* The outcome is neither OK nor FENCED: report to the consumer what concerns it, and repeat the
 * call later. */
static void slot_life_failed(struct owned_slot *slot, enum slot_call call,
                             const struct store_result *result)
{
    struct slot_set *set = slot->set;

    if (result->outcome == STORE_STALE || result->outcome == STORE_NO_TOPIC) {
        damage_on_refused(slot, result);
        if (slot->health == OWNED_DAMAGED && slot->state == OWNED_STOPPING) {
            slot_life_drop(slot, SMQ_LEASE_LOST, "Redis has lost a part of it");
            return;
        }
    } else if (result->status == SMQ_DENIED) {
        slot_life_denied(set, call, result->text);
    } else if (result->outcome == STORE_PARTLY) {
        events_log(set->core->events, SMQ_LEVEL_WARN, "slot %" PRId32 " of topic %s: %s",
                   slot->number, set->name, result->text);
    }
    owned_slot_arm(slot, owned_slot_next_backoff_ms(slot));
    slot_set_changed(slot);
}

static bool slot_life_is_outdated(const struct store_result *result)
{
    return result->outcome == STORE_STALE || result->outcome == STORE_NO_TOPIC;
}

void slot_life_call_ended(struct owned_slot *slot, enum slot_call call, bool done,
                          const struct store_result *result)
{
    struct slot_set *set = slot->set;

    if (done) {
        set->had[call] = true;
        set->host.allowed(set->host.user);
    }
    if (call == SLOT_CALL_VACATE) { /* whether it succeeded or not */
        slot_life_end(slot, OWNED_EVENT_VACATED, SMQ_OK, "given up");
    } else if (result->outcome == STORE_FENCED) {
        slot_life_fenced(slot, result);
    } else if (done && call == SLOT_CALL_TAKEOVER) {
        slot_life_taken_over(slot);
    } else if (done) {
        slot_set_changed(slot);
    } else if (call != SLOT_CALL_RENEWAL) {
        slot_life_failed(slot, call, result);
    } else if (slot_life_is_outdated(
                   result)) { /* the next periodic renewal comes before the lease ends */
        set->host.outdated(set->host.user);
    } else if (result->status == SMQ_DENIED) {
        slot_life_denied(set, call, result->text);
    }
}
