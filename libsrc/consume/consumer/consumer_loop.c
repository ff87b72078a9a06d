/* consumer_loop.c - the consumer on smq:io: its turn, its definition, the link to coordination, its
 * end.
 *
 * Thread: smq:io. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "base/steps.h"
#include "consume/consumer/consumer.h"
#include "consume/run/hooks.h"
#include "consume/slot/in_flight.h"
#include "consume/slot/renewal.h"
#include "consume/slot/slot_life.h"
#include "consume/slot/slot_turn.h"
#include "core/coord_link.h"
#include "store/topic.h"

enum { MISSING_MS = 1000 };

static void consumer_turn(smq_consumer *consumer);

static void consumer_each_slot(smq_consumer *consumer, void (*act)(struct owned_slot *slot))
{
    struct slot_set *set = &consumer->set;

    for (int32_t i = 0; set->slot_count > 0 && i < set->topic.slots; i++) {
        if (set->slots[i] != NULL) {
            act(set->slots[i]);
        }
    }
}

bool consumer_may(enum consumer_state from, enum consumer_state to)
{
    static const unsigned steps[CONSUMER_STATES] = {
        [CONSUMER_NEW] = STEP(CONSUMER_RUNNING) | STEP(CONSUMER_ENDED),
        [CONSUMER_RUNNING] = STEP(CONSUMER_SUSPENDING) | STEP(CONSUMER_STOPPING),
        [CONSUMER_SUSPENDING] = STEP(CONSUMER_NEW) | STEP(CONSUMER_STOPPING),
        [CONSUMER_STOPPING] = STEP(CONSUMER_ENDED),
    };

    return steps_allow(steps, from, to);
}

/* The one place where the state changes. */
static void consumer_enter(smq_consumer *consumer, enum consumer_state state)
{
    assert(consumer_may(consumer->state, state));
    consumer->state = state;
    consumer->set.claiming = state == CONSUMER_RUNNING;
}

/* --- the end --- */

static void consumer_check_disposed(smq_consumer *consumer)
{
    if (!consumer->disposing || consumer->set.handles_open > 0 || consumer->set.slot_count > 0 ||
        consumer->refreshing || consumer->checking || consumer->rights.running > 0 ||
        consumer->listing.running) {
        return;
    }
    store_call_fini(&consumer->listing.call);
    pthread_mutex_lock(&consumer->end.lock);
    consumer->end.disposed = true;
    pthread_cond_broadcast(&consumer->end.changed);
    pthread_mutex_unlock(&consumer->end.lock);
}

static void consumer_end(smq_consumer *consumer)
{
    struct slot_set *set = &consumer->set;
    smq_error result = consumer->failure;

    consumer_enter(consumer, CONSUMER_ENDED);
    renewal_stop(set);
    uv_timer_stop(&consumer->drain);
    uv_timer_stop(&consumer->overdue);
    alarm_clear(loop_alarms(set->core->io), &consumer->lease.due);
    consumer_watch_standby(consumer);
    consumer_watch_assignment(consumer);
    scheduler_close(set->scheduler);
    consumer->joined = false;
    disuse_release(consumer->use);
    coord_link_remove(set->core->link, set->name, consumer);
    if (result.status == SMQ_OK && set->abandoned) {
        status_set(
            &result, SMQ_TIMED_OUT,
            "handlers or answers of topic %s did not end within drain_timeout_ms; their messages "
            "are delivered again",
            set->name);
    }
    pthread_mutex_lock(&consumer->end.lock);
    consumer->end.ended = true;
    consumer->end.result = result;
    pthread_cond_broadcast(&consumer->end.changed);
    pthread_mutex_unlock(&consumer->end.lock);
}

/* May free the consumer. */
static void consumer_check_end(smq_consumer *consumer)
{
    bool left = consumer->set.slot_count == 0 && !consumer->joined;

    if (left && consumer->state == CONSUMER_STOPPING &&
        !scheduler_has_dead(consumer->set.scheduler)) {
        consumer_end(consumer);
    } else if (left && consumer->state == CONSUMER_SUSPENDING) {
        consumer_enter(consumer, CONSUMER_NEW);
        uv_timer_stop(&consumer->set.renewal);
        consumer_gap_suspended(consumer);
    }
    consumer_check_disposed(consumer);
}

static void consumer_on_drained(uv_timer_t *timer)
{
    smq_consumer *consumer = timer->data;
    struct slot_set *set = &consumer->set;

    consumer_each_slot(consumer, slot_life_abandon);
    consumer_each_slot(consumer, slot_life_detach);
    slot_turn_run(set);
    if (consumer->state == CONSUMER_STOPPING) {
        set->abandoned =
            set->abandoned || set->slot_count > 0 || scheduler_has_dead(set->scheduler);
        consumer_end(consumer);
    }
    consumer_turn(consumer);
}

static void consumer_leave(smq_consumer *consumer, enum consumer_state state)
{
    bool joined = consumer->joined && consumer->state == CONSUMER_RUNNING;

    consumer_enter(consumer, state);
    consumer->set.abandoned = false;
    if (state == CONSUMER_STOPPING) {
        uv_timer_start(&consumer->drain, consumer_on_drained,
                       (uint64_t) consumer->set.drain_timeout_ms, 0);
    }
    if (joined) {
        coord_link_leave(consumer->set.core->link, consumer->set.name);
    }
    consumer_each_slot(consumer, slot_life_stop);
}

static void consumer_begin_stopping(smq_consumer *consumer)
{
    if (consumer->state == CONSUMER_NEW) {
        consumer_end(consumer);
    } else if (consumer->state == CONSUMER_RUNNING || consumer->state == CONSUMER_SUSPENDING) {
        consumer_leave(consumer, CONSUMER_STOPPING);
    }
}

/* Give up all slots, but keep the consumer; then consumer_gap_suspended() is called. */
static void consumer_suspend(smq_consumer *consumer)
{
    if (consumer->state == CONSUMER_RUNNING) {
        consumer_leave(consumer, CONSUMER_SUSPENDING);
    }
    consumer_turn(consumer);
}

/* End the consumer with `status`: the turn drops everything. */
static void consumer_fail(smq_consumer *consumer, smq_status status, const char *text)
{
    struct slot_set *set = &consumer->set;
    smq_event event = {.status = status, .topic = set->name, .slot = -1};

    if (consumer->state == CONSUMER_ENDED || consumer->failure.status != SMQ_OK) {
        return;
    }
    status_set(&consumer->failure, status, "topic %s cannot be consumed any more: %s", set->name,
               text);
    events_emit(set->core->events, SMQ_EVENT_STOPPED, &event, "%s", consumer->failure.text);
    if (status == SMQ_NO_TOPIC) {
        definitions_forget(set->core->definitions, set->name);
    }
    consumer->asked.fail = true;
}

static void consumer_drop_slot(struct owned_slot *slot)
{
    slot_life_drop(slot, SMQ_FENCED, "the consumer cannot continue");
}

/* --- the definition --- */

/* What needs the right is tried again. */
static void consumer_report_denied(smq_consumer *consumer, const char *what, const char *text)
{
    (void) snprintf(consumer->denial, sizeof(consumer->denial), "%s", text);
    if (episode_trouble(&consumer->denials, clock_now_ms())) {
        events_log(consumer->set.core->events, SMQ_LEVEL_ERROR,
                   "topic %s: %s: %s; it is tried again, and SECURITY.md lists the rights",
                   consumer->set.name, what, text);
    }
}

static void consumer_note_allowed(smq_consumer *consumer)
{
    consumer->denial[0] = '\0';
    episode_good(&consumer->denials);
}

static void consumer_report_lost_definition(smq_consumer *consumer, const char *text)
{
    struct slot_set *set = &consumer->set;
    smq_event event = {.topic = set->name, .slot = -1};

    if (text != NULL && !consumer->damaged) {
        event.status = SMQ_DAMAGED;
        events_emit(set->core->events, SMQ_EVENT_DAMAGED, &event, "%s", text);
    } else if (text == NULL && consumer->damaged) {
        events_emit(set->core->events, SMQ_EVENT_REPAIRED, &event, "topic %s is repaired",
                    set->name);
    }
    consumer->damaged = text != NULL;
}

/* Apply the definition that was read. */
static void consumer_follow_topic(smq_consumer *consumer)
{
    struct slot_set *set = &consumer->set;

    renewal_soon(set);
    scheduler_guard(set->scheduler, set->shared ? NULL : coord_link_membership(set->core->link),
                    set->topic.lease_ms);
    scheduler_set_strict(set->scheduler, slot_set_is_strict(set));
    slot_set_update_rates(set);
}

static void consumer_use_definition(smq_consumer *consumer, const struct topic *topic)
{
    struct slot_set *set = &consumer->set;
    int64_t lease_ms = set->topic.lease_ms;

    set->missing_at = 0;
    consumer_report_lost_definition(consumer, NULL);
    set->reads_confirmed++;
    set->topic = *topic;
    consumer->use = disuse_hold(set->core->disuse, consumer->use, topic);
    renewal_adjust(set, lease_ms);
    consumer_follow_topic(consumer);
}

static void consumer_check_definition(smq_consumer *consumer, const struct topic *topic,
                                      smq_status status, const char *text)
{
    struct slot_set *set = &consumer->set;
    int64_t now = clock_now_ms();

    if (status == SMQ_OK && strcmp(topic->nonce, set->topic.nonce) == 0) {
        consumer_use_definition(consumer, topic);
    } else if (status == SMQ_OK) {
        consumer_fail(consumer, SMQ_NO_TOPIC, "the topic was deleted and created anew");
    } else if (status == SMQ_DAMAGED) {
        consumer_report_lost_definition(consumer, text);
    } else if (status == SMQ_DENIED) {
        consumer_report_denied(consumer, "a right is missing", text);
    } else if (status == SMQ_NO_TOPIC && set->missing_at == 0) {
        set->missing_at = now; /* a deletion is undone if the topic was not empty */
    } else if (status == SMQ_NO_TOPIC && now - set->missing_at >= MISSING_MS) {
        consumer_fail(consumer, SMQ_NO_TOPIC, text);
    }
}

static void consumer_on_definition(const struct topic *topic, smq_status status, const char *text,
                                   void *user)
{
    smq_consumer *consumer = user;

    consumer->refreshing = false;
    if (consumer->state != CONSUMER_NEW && consumer->state != CONSUMER_ENDED) {
        consumer_check_definition(consumer, topic, status, text);
    }
    consumer_turn(consumer);
}

/* A script refused the definition as not the stored one: read it again. */
static void consumer_refresh(smq_consumer *consumer)
{
    char stamp[TOPIC_STAMP_MAX];

    if (consumer->refreshing) {
        return;
    }
    consumer->refreshing = true;
    topic_stamp(stamp, &consumer->set.topic);
    definitions_get(consumer->set.core->definitions, consumer->set.name, stamp,
                    consumer_on_definition, consumer);
}

/* --- what the topic is bound to --- */

static void consumer_on_binding(smq_consumer *consumer, const struct store_result *result)
{
    uint32_t generation;

    if (result->status == SMQ_OTHER_FLEET) {
        if (!consumer_may_have_new_identity(consumer, result)) {
            consumer_fail(consumer, SMQ_OTHER_FLEET, "it was bound to another fleet");
        }
    } else if (result->outcome == STORE_OK && store_topic_number_read(&generation, result) &&
               generation > consumer->generation) {
        consumer->generation = generation;
        if (consumer->joined) {
            coord_link_raise(consumer->set.core->link, consumer->set.name, generation);
        }
    }
    consumer_turn(consumer);
}

/* Redis refused a slot because it has an owner with a larger generation.  Continue under the
 * generation of the topic if that is larger now; end the consumer if the topic is bound to another
 * coordination. */
static void consumer_check_binding(smq_consumer *consumer)
{
    if (consumer->state == CONSUMER_RUNNING) {
        consumer_ask_binding(consumer, consumer_on_binding);
    }
}

/* --- the turn --- */

/* Do what the slots have requested. */
static void consumer_do_requests(smq_consumer *consumer)
{
    if (consumer->asked.refresh) {
        consumer->asked.refresh = false;
        consumer_refresh(consumer);
    }
    if (consumer->asked.check_binding) {
        consumer->asked.check_binding = false;
        consumer_check_binding(consumer);
    }
    if (consumer->asked.fail) {
        consumer->asked.fail = false;
        consumer_each_slot(consumer, consumer_drop_slot);
        consumer_begin_stopping(consumer);
    }
}

/* Every entry from the loop ends with this.  The consumer may be gone afterwards.
 *
 * What a slot does in the turn, or a definition that is known at once, may ask for more. */
static void consumer_turn(smq_consumer *consumer)
{
    struct slot_set *set = &consumer->set;

    if (consumer->turning) {
        return;
    }
    consumer->turning = true;
    do {
        consumer_do_requests(consumer);
        if (consumer->state == CONSUMER_RUNNING && budget_is_used_up(&set->budget)) {
            consumer_begin_stopping(consumer);
        }
        slot_turn_run(set);
    } while (!TAILQ_EMPTY(&set->places[SLOT_CHANGED]) || consumer->asked.refresh ||
             consumer->asked.fail || consumer->asked.check_binding);
    if (set->budget.in_flight > 0 && consumer->state != CONSUMER_ENDED) {
        consumer_watch_handlers(consumer);
    }
    consumer_watch_standby(consumer);
    consumer_watch_assignment(consumer);
    consumer->turning = false;
    consumer_check_end(consumer);
}

static void consumer_on_turn(void *user)
{
    consumer_turn(user);
}

static void consumer_on_outdated(void *user)
{
    ((smq_consumer *) user)->asked.refresh = true;
}

/* The definition may be repaired as well, and nothing else may ask for it. */
static void consumer_on_accepted(void *user)
{
    smq_consumer *consumer = user;

    consumer->asked.refresh = consumer->asked.refresh || consumer->damaged;
}

static void consumer_on_superseded(void *user)
{
    ((smq_consumer *) user)->asked.check_binding = true;
}

static void consumer_on_allowed(void *user)
{
    consumer_note_allowed(user);
}

/* A right that was missing from the start ends the consumer, because its user was set up wrongly.
 * One that was taken away may be granted again. */
static void consumer_on_denied(void *user, bool had, const char *text)
{
    smq_consumer *consumer = user;

    if (!had || consumer_lacked(consumer, text)) {
        consumer_fail(consumer, SMQ_DENIED, text);
    } else {
        consumer_report_denied(consumer, "a right that was there is missing", text);
    }
}

/* --- answers --- */

/* Takes over the answerer's reference. */
static void consumer_on_answer(smq_delivery *delivery, int64_t now_us)
{
    struct owned_slot *slot;

    if (!delivery->in_flight) { /* the slot has dropped it */
        hooks_unsettled(delivery, SMQ_LEASE_LOST);
        delivery_unref(delivery); /* the answerer's reference */
        return;
    }
    slot = owned_slot_of(delivery);
    in_flight_add_answer(slot, delivery, now_us);
    slot_set_changed(slot);
}

static void consumer_confirm_queues(smq_consumer *consumer)
{
    struct run_queue *queue;

    while ((queue = scheduler_take_unconfirmed(consumer->set.scheduler)) != NULL) {
        renewal_confirm(OWNER_OF(queue, struct owned_slot, run_queue));
    }
}

static void consumer_take_answers(smq_consumer *consumer)
{
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);
    smq_delivery *delivery;
    int64_t now_us = clock_now_us();

    scheduler_take_answers(consumer->set.scheduler, &answers);
    while ((delivery = STAILQ_FIRST(&answers)) != NULL) {
        STAILQ_REMOVE_HEAD(&answers, link);
        consumer_on_answer(delivery, now_us);
    }
    consumer_confirm_queues(consumer);
    slot_turn_mark_leaving(&consumer->set);
    if (consumer->polled && scheduler_take_emptied(consumer->set.scheduler)) {
        slot_turn_mark_busy(&consumer->set);
    }
}

static void consumer_on_answered(struct loop_task *task)
{
    smq_consumer *consumer = OWNER_OF(task, smq_consumer, answered);

    consumer_take_answers(consumer);
    consumer_turn(consumer);
}

/* The consumer is freed: end soon although deliveries are not answered, and refuse answers from now
 * on. */
static void consumer_on_hurry(struct loop_task *task)
{
    smq_consumer *consumer = OWNER_OF(task, smq_consumer, poll.hurry);
    int64_t ms = consumer->set.core->request_timeout_ms;

    consumer->set.drain_timeout_ms = ms;
    consumer_begin_stopping(consumer);
    scheduler_close(consumer->set.scheduler);
    consumer_take_answers(consumer);
    consumer_each_slot(consumer, slot_life_abandon_unanswered);
    if (consumer->state == CONSUMER_STOPPING) {
        uv_timer_start(&consumer->drain, consumer_on_drained, (uint64_t) ms, 0);
    }
    consumer_turn(consumer);
}

/* max_in_flight or the limit of several consumers was changed. */
static void consumer_on_limit(void *user)
{
    smq_consumer *consumer = user;

    if (consumer->polled) {
        consumer_set_polled_room(consumer);
    }
    consumer_each_slot(consumer, slot_set_changed);
    consumer_turn(consumer);
}

void consumer_limit(smq_consumer *consumer, int32_t most)
{
    consumer->set.budget.max_in_flight = most;
    consumer_on_limit(consumer);
}

/* --- extensions --- */

static void consumer_extend(struct extension *extension)
{
    const smq_delivery *delivery = extension->delivery;
    smq_status validity = delivery_validity(delivery);

    if (!delivery->in_flight) {
        extension_end(extension, validity == SMQ_FENCED ? SMQ_FENCED : SMQ_LEASE_LOST,
                      "another consumer has the message");
    } else if (!delivery->unanswered) {
        extension_end(extension, validity == SMQ_LEASE_LOST ? SMQ_LEASE_LOST : SMQ_INVALID,
                      "the delivery was answered already");
    } else {
        renewal_extend(owned_slot_of(delivery), extension);
    }
}

static void consumer_on_extended(struct loop_task *task)
{
    smq_consumer *consumer = OWNER_OF(task, smq_consumer, extended);
    struct extension_list list = STAILQ_HEAD_INITIALIZER(list);
    struct extension *extension;

    extensions_take(scheduler_extensions(consumer->set.scheduler), &list);
    while ((extension = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        consumer_extend(extension);
    }
}

/* --- the link to coordination --- */

static struct owned_slot *consumer_find(const smq_consumer *consumer, int32_t number)
{
    return number >= 0 && number < consumer->set.topic.slots ? consumer->set.slots[number] : NULL;
}

static void consumer_on_granted(void *user, int32_t number, struct token token)
{
    smq_consumer *consumer = user;

    if (number >= 0 && number < consumer->set.topic.slots) {
        slot_life_grant(&consumer->set, number, token);
    }
}

static void consumer_on_revoked(void *user, int32_t number)
{
    struct owned_slot *slot = consumer_find(user, number);

    if (slot != NULL) {
        slot_life_revoke(slot);
    }
}

static void consumer_on_lost(void *user, int32_t number)
{
    struct owned_slot *slot = consumer_find(user, number);

    if (slot != NULL) {
        slot_life_lost(slot);
    }
}

static void consumer_on_left(void *user)
{
    smq_consumer *consumer = user;

    consumer->joined = false;
    consumer_each_slot(consumer, slot_life_detach);
}

static void consumer_on_failed(void *user, smq_status status, const char *text)
{
    consumer_fail(user, status, text);
    consumer_on_left(user);
}

static void consumer_on_damaged(void *user, const char *text)
{
    consumer_report_lost_definition(user, text);
}

static void consumer_on_denied_topic(void *user, const char *text)
{
    smq_consumer *consumer = user;

    if (text == NULL) {
        consumer_note_allowed(consumer);
    } else {
        consumer_report_denied(consumer, "a right is missing", text);
    }
}

static void consumer_on_explained(void *user, enum coord_no_slot why)
{
    consumer_report_standby(user, why);
}

static void consumer_on_bound(void *user, const char *coord)
{
    struct slot_set *set = &((smq_consumer *) user)->set;

    (void) snprintf(set->bound, sizeof(set->bound), "%s", coord);
}

static int64_t consumer_first_reign(const smq_consumer *consumer)
{
    return consumer->first.bound != STORE_FIRST_NOT ? consumer->first.reign : 0;
}

static void consumer_join(smq_consumer *consumer)
{
    const struct slot_set *set = &consumer->set;
    const struct coord_topic join = {.name = set->name,
                                     .nonce = set->topic.nonce,
                                     .generation = consumer->generation,
                                     .slots = set->topic.slots,
                                     .first_reign = consumer_first_reign(consumer),
                                     .first_is_sure = consumer->first.bound == STORE_FIRST_SURE,
                                     .weight = consumer->threads,
                                     .drain_timeout_ms = set->drain_timeout_ms};

    consumer->joined = true;
    consumer->first.bound = STORE_FIRST_NOT;
    coord_link_join(set->core->link, &join);
}

/* A process of version 0.2 had the lease of the topic when it was asked last. */
static void consumer_on_lease(smq_consumer *consumer, const struct store_result *result)
{
    smq_error err = SMQ_ERROR_INIT;

    if (consumer->state == CONSUMER_RUNNING && result->outcome == STORE_OK &&
        store_topic_number_read(&consumer->generation, result)) {
        consumer->lease.held = false;
        consumer->first.bound = store_bound_first(result);
        consumer_join(consumer);
    } else if (consumer->state == CONSUMER_RUNNING && result->status == SMQ_OTHER_FLEET) {
        (void) consumer_other_fleet(&err, consumer, result);
        consumer_fail(consumer, SMQ_OTHER_FLEET, err.text);
    } else if (consumer->state == CONSUMER_RUNNING) {
        consumer->asked.refresh = result->outcome == STORE_NO_TOPIC;
        consumer_await_lease(consumer, consumer_on_lease);
    }
    consumer_turn(consumer);
}

/* --- life --- */

static void consumer_on_begin(struct loop_task *task)
{
    smq_consumer *consumer = OWNER_OF(task, smq_consumer, begin);
    struct slot_set *set = &consumer->set;

    if (consumer->state != CONSUMER_NEW) {
        return;
    }
    consumer_enter(consumer, CONSUMER_RUNNING);
    consumer_follow_topic(consumer);
    consumer_prove_rights(consumer);
    if (consumer->polled) {
        consumer_gap_begun(consumer);
    }
    if (consumer->lease.held) {
        consumer_await_lease(consumer, consumer_on_lease);
    } else if (!set->shared) {
        consumer_join(consumer);
    }
    for (int32_t i = 0; set->shared && i < set->topic.slots; i++) {
        slot_life_grant(set, i, (struct token){0});
    }
    consumer_turn(consumer);
}

static void consumer_on_stop(uv_async_t *signal)
{
    smq_consumer *consumer = signal->data;

    consumer_begin_stopping(consumer);
    consumer_turn(consumer);
}

static void consumer_open_handles(smq_consumer *consumer)
{
    uv_loop_t *uv = loop_uv(consumer->set.core->io);

    slot_set_open(&consumer->set);
    uv_async_init(uv, &consumer->stop_signal, consumer_on_stop);
    uv_timer_init(uv, &consumer->drain);
    uv_timer_init(uv, &consumer->overdue);
    uv_timer_init(uv, &consumer->standby_timer);
    consumer->stop_signal.data = consumer->drain.data = consumer;
    consumer->overdue.data = consumer->standby_timer.data = consumer;
    consumer_listing_open(consumer);
    consumer->set.handles_open += 5;
    consumer_report_health(consumer);
    if (consumer->polled) {
        consumer_gap_open(consumer);
    }
}

bool consumer_open(smq_consumer *consumer)
{
    const struct coord_link_listener listener = {.granted = consumer_on_granted,
                                                 .revoked = consumer_on_revoked,
                                                 .lost = consumer_on_lost,
                                                 .failed = consumer_on_failed,
                                                 .left = consumer_on_left,
                                                 .damaged = consumer_on_damaged,
                                                 .denied = consumer_on_denied_topic,
                                                 .bound = consumer_on_bound,
                                                 .explained = consumer_on_explained,
                                                 .turn = consumer_on_turn,
                                                 .user = consumer};

    const struct limit_host limited = {
        .turn = consumer_on_turn, .changed = consumer_on_limit, .user = consumer};

    if (!coord_link_add(consumer->set.core->link, &consumer->set.topic, &listener)) {
        return false;
    }
    consumer_open_handles(consumer);
    limit_join(&consumer->set.budget.limited, &limited);
    consumer->use = disuse_hold(consumer->set.core->disuse, NULL, &consumer->set.topic);
    return true;
}

static void consumer_on_closed(uv_handle_t *handle)
{
    slot_set_handle_closed(&((smq_consumer *) handle->data)->set);
}

static void consumer_on_dispose(struct loop_task *task)
{
    smq_consumer *consumer = OWNER_OF(task, smq_consumer, dispose);
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);
    smq_delivery *delivery;

    assert(consumer->state == CONSUMER_ENDED);
    scheduler_take_answers(consumer->set.scheduler, &answers);
    while ((delivery = STAILQ_FIRST(&answers)) != NULL) {
        STAILQ_REMOVE_HEAD(&answers, link);
        hooks_unsettled(delivery, SMQ_CLOSED);
        delivery_unref(delivery);
    }
    health_sources_remove(&consumer->health);
    limit_leave(&consumer->set.budget.limited);
    consumer_each_slot(consumer, slot_set_changed);
    slot_set_close(&consumer->set);
    uv_close((uv_handle_t *) &consumer->stop_signal, consumer_on_closed);
    uv_close((uv_handle_t *) &consumer->drain, consumer_on_closed);
    uv_close((uv_handle_t *) &consumer->overdue, consumer_on_closed);
    uv_close((uv_handle_t *) &consumer->standby_timer, consumer_on_closed);
    uv_close((uv_handle_t *) &consumer->listing.timer, consumer_on_closed);
    if (consumer->polled) {
        consumer_gap_close(consumer);
    }
    consumer->disposing = true;
    consumer_turn(consumer);
}

void consumer_init_loop(smq_consumer *consumer, struct core *core)
{
    const struct slot_host host = {.turn = consumer_on_turn,
                                   .outdated = consumer_on_outdated,
                                   .accepted = consumer_on_accepted,
                                   .superseded = consumer_on_superseded,
                                   .allowed = consumer_on_allowed,
                                   .denied = consumer_on_denied,
                                   .user = consumer};

    slot_set_init(&consumer->set, core, &host, slot_life_call_ended);
    consumer->begin.run = consumer_on_begin;
    consumer->answered.run = consumer_on_answered;
    consumer->extended.run = consumer_on_extended;
    consumer->dispose.run = consumer_on_dispose;
    consumer->poll.hurry.run = consumer_on_hurry;
    consumer->poll.suspend = consumer_suspend;
}
