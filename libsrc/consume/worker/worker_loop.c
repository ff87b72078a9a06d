/* worker_loop.c - the worker on smq:io: its turn, its definition, the link to coordination, its
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
#include "consume/slot/in_flight.h"
#include "consume/slot/renewal.h"
#include "consume/slot/slot_life.h"
#include "consume/slot/slot_turn.h"
#include "consume/worker/worker.h"
#include "core/coord_link.h"

enum { MISSING_MS = 1000 };

static void worker_turn(smq_worker *worker);

static void worker_each_slot(smq_worker *worker, void (*act)(struct owned_slot *slot))
{
    struct slot_set *set = &worker->set;

    for (int32_t i = 0; set->slot_count > 0 && i < set->topic.slots; i++) {
        if (set->slots[i] != NULL) {
            act(set->slots[i]);
        }
    }
}

bool worker_may(enum worker_state from, enum worker_state to)
{
    static const unsigned steps[WORKER_STATES] = {
        [WORKER_NEW] = STEP(WORKER_RUNNING) | STEP(WORKER_ENDED),
        [WORKER_RUNNING] = STEP(WORKER_SUSPENDING) | STEP(WORKER_STOPPING),
        [WORKER_SUSPENDING] = STEP(WORKER_NEW) | STEP(WORKER_STOPPING),
        [WORKER_STOPPING] = STEP(WORKER_ENDED),
    };

    return steps_allow(steps, from, to);
}

/* The one place where the state changes. */
static void worker_enter(smq_worker *worker, enum worker_state state)
{
    assert(worker_may(worker->state, state));
    worker->state = state;
    worker->set.claiming = state == WORKER_RUNNING;
}

/* --- the end --- */

static void worker_check_disposed(smq_worker *worker)
{
    if (!worker->disposing || worker->set.handles_open > 0 || worker->set.slot_count > 0 ||
        worker->refreshing || worker->checking || worker->rights.running > 0 ||
        worker->listing.running) {
        return;
    }
    store_call_fini(&worker->listing.call);
    pthread_mutex_lock(&worker->end.lock);
    worker->end.disposed = true;
    pthread_cond_broadcast(&worker->end.changed);
    pthread_mutex_unlock(&worker->end.lock);
}

static void worker_end(smq_worker *worker)
{
    struct slot_set *set = &worker->set;
    smq_error result = worker->failure;

    worker_enter(worker, WORKER_ENDED);
    uv_timer_stop(&set->renewal);
    uv_timer_stop(&worker->drain);
    uv_timer_stop(&worker->overdue);
    worker_watch_standby(worker);
    worker_watch_assignment(worker);
    scheduler_close(set->scheduler);
    worker->joined = false;
    coord_link_remove(set->core->link, set->name, worker);
    if (result.status == SMQ_OK && set->abandoned) {
        status_set(
            &result, SMQ_TIMED_OUT,
            "handlers or answers of topic %s did not end within drain_timeout_ms; their messages "
            "are delivered again",
            set->name);
    }
    pthread_mutex_lock(&worker->end.lock);
    worker->end.ended = true;
    worker->end.result = result;
    pthread_cond_broadcast(&worker->end.changed);
    pthread_mutex_unlock(&worker->end.lock);
}

/* May free the worker. */
static void worker_check_end(smq_worker *worker)
{
    bool left = worker->set.slot_count == 0 && !worker->joined;

    if (left && worker->state == WORKER_STOPPING && !scheduler_has_dead(worker->set.scheduler)) {
        worker_end(worker);
    } else if (left && worker->state == WORKER_SUSPENDING) {
        worker_enter(worker, WORKER_NEW);
        uv_timer_stop(&worker->set.renewal);
        worker->poller.suspended(worker->poller.user);
    }
    worker_check_disposed(worker);
}

static void worker_on_drained(uv_timer_t *timer)
{
    smq_worker *worker = timer->data;
    struct slot_set *set = &worker->set;

    worker_each_slot(worker, slot_life_abandon);
    worker_each_slot(worker, slot_life_detach);
    slot_turn_run(set);
    if (worker->state == WORKER_STOPPING) {
        set->abandoned =
            set->abandoned || set->slot_count > 0 || scheduler_has_dead(set->scheduler);
        worker_end(worker);
    }
    worker_turn(worker);
}

static void worker_leave(smq_worker *worker, enum worker_state state)
{
    bool joined = worker->joined && worker->state == WORKER_RUNNING;

    worker_enter(worker, state);
    worker->set.abandoned = false;
    if (state == WORKER_STOPPING) {
        uv_timer_start(&worker->drain, worker_on_drained, (uint64_t) worker->set.drain_timeout_ms,
                       0);
    }
    if (joined) {
        coord_link_leave(worker->set.core->link, worker->set.name);
    }
    worker_each_slot(worker, slot_life_stop);
}

static void worker_begin_stopping(smq_worker *worker)
{
    if (worker->state == WORKER_NEW) {
        worker_end(worker);
    } else if (worker->state == WORKER_RUNNING || worker->state == WORKER_SUSPENDING) {
        worker_leave(worker, WORKER_STOPPING);
    }
}

void worker_suspend(smq_worker *worker)
{
    if (worker->state == WORKER_RUNNING) {
        worker_leave(worker, WORKER_SUSPENDING);
    }
    worker_turn(worker);
}

/* End the worker with `status`: the turn drops everything. */
static void worker_fail(smq_worker *worker, smq_status status, const char *text)
{
    struct slot_set *set = &worker->set;
    smq_event event = {.status = status, .topic = set->name, .slot = -1};

    if (worker->state == WORKER_ENDED || worker->failure.status != SMQ_OK) {
        return;
    }
    status_set(&worker->failure, status, "topic %s cannot be consumed any more: %s", set->name,
               text);
    events_emit(set->core->events, SMQ_EVENT_STOPPED, &event, "%s", worker->failure.text);
    if (status == SMQ_NO_TOPIC) {
        definitions_forget(set->core->definitions, set->name);
    }
    worker->asked.fail = true;
}

static void worker_drop_slot(struct owned_slot *slot)
{
    slot_life_drop(slot, SMQ_FENCED, "the worker cannot continue");
}

/* --- the definition --- */

/* What needs the right is tried again. */
static void worker_report_denied(smq_worker *worker, const char *what, const char *text)
{
    if (episode_trouble(&worker->denials, clock_now_ms())) {
        events_log(worker->set.core->events, SMQ_LEVEL_ERROR,
                   "topic %s: %s: %s; it is tried again, and SECURITY.md lists the rights",
                   worker->set.name, what, text);
    }
}

static void worker_report_lost_definition(smq_worker *worker, const char *text)
{
    struct slot_set *set = &worker->set;
    smq_event event = {.topic = set->name, .slot = -1};

    if (text != NULL && !worker->damaged) {
        event.status = SMQ_DAMAGED;
        events_emit(set->core->events, SMQ_EVENT_DAMAGED, &event, "%s", text);
    } else if (text == NULL && worker->damaged) {
        events_emit(set->core->events, SMQ_EVENT_REPAIRED, &event, "topic %s is repaired",
                    set->name);
    }
    worker->damaged = text != NULL;
}

/* Apply the definition that was read. */
static void worker_follow_topic(smq_worker *worker)
{
    struct slot_set *set = &worker->set;

    renewal_soon(set);
    scheduler_guard(set->scheduler, set->shared ? NULL : coord_link_membership(set->core->link),
                    set->topic.lease_ms);
    scheduler_set_strict(set->scheduler, slot_set_is_strict(set));
    slot_set_update_rates(set);
}

static void worker_use_definition(smq_worker *worker, const struct topic *topic)
{
    struct slot_set *set = &worker->set;
    int64_t lease_ms = set->topic.lease_ms;

    set->missing_at = 0;
    worker_report_lost_definition(worker, NULL);
    set->reads_confirmed++;
    set->topic = *topic;
    renewal_adjust(set, lease_ms);
    worker_follow_topic(worker);
}

static void worker_check_definition(smq_worker *worker, const struct topic *topic,
                                    smq_status status, const char *text)
{
    struct slot_set *set = &worker->set;
    int64_t now = clock_now_ms();

    if (status == SMQ_OK && strcmp(topic->nonce, set->topic.nonce) == 0) {
        worker_use_definition(worker, topic);
    } else if (status == SMQ_OK) {
        worker_fail(worker, SMQ_NO_TOPIC, "the topic was deleted and created anew");
    } else if (status == SMQ_DAMAGED) {
        worker_report_lost_definition(worker, text);
    } else if (status == SMQ_DENIED) {
        worker_report_denied(worker, "a right is missing", text);
    } else if (status == SMQ_NO_TOPIC && set->missing_at == 0) {
        set->missing_at = now; /* a deletion is undone if the topic was not empty */
    } else if (status == SMQ_NO_TOPIC && now - set->missing_at >= MISSING_MS) {
        worker_fail(worker, SMQ_NO_TOPIC, text);
    }
}

static void worker_on_definition(const struct topic *topic, smq_status status, const char *text,
                                 void *user)
{
    smq_worker *worker = user;

    worker->refreshing = false;
    if (worker->state != WORKER_NEW && worker->state != WORKER_ENDED) {
        worker_check_definition(worker, topic, status, text);
    }
    worker_turn(worker);
}

/* A script refused the definition as not the stored one: read it again. */
static void worker_refresh(smq_worker *worker)
{
    char stamp[TOPIC_STAMP_MAX];

    if (worker->refreshing) {
        return;
    }
    worker->refreshing = true;
    topic_stamp(stamp, &worker->set.topic);
    definitions_get(worker->set.core->definitions, worker->set.name, stamp, worker_on_definition,
                    worker);
}

/* --- what the topic is bound to --- */

static void worker_on_binding(smq_worker *worker, const struct store_result *result)
{
    uint32_t generation;

    if (result->status == SMQ_OTHER_FLEET) {
        if (!worker_may_have_new_identity(worker, result)) {
            worker_fail(worker, SMQ_OTHER_FLEET, "it was bound to another fleet");
        }
    } else if (result->outcome == STORE_OK && store_topic_number_read(&generation, result) &&
               generation > worker->generation) {
        worker->generation = generation;
        if (worker->joined) {
            coord_link_raise(worker->set.core->link, worker->set.name, generation);
        }
    }
    worker_turn(worker);
}

/* Redis refused a slot because it has an owner with a larger generation.  Continue under the
 * generation of the topic if that is larger now; end the worker if the topic is bound to another
 * coordination.  A standalone owner needs no check, because its lease shows it. */
static void worker_check_binding(smq_worker *worker)
{
    if (worker->set.core->zookeeper != NULL && worker->state == WORKER_RUNNING) {
        worker_ask_binding(worker, worker_on_binding);
    }
}

/* --- the turn --- */

/* Do what the slots have requested. */
static void worker_do_requests(smq_worker *worker)
{
    if (worker->asked.refresh) {
        worker->asked.refresh = false;
        worker_refresh(worker);
    }
    if (worker->asked.check_binding) {
        worker->asked.check_binding = false;
        worker_check_binding(worker);
    }
    if (worker->asked.fail) {
        worker->asked.fail = false;
        worker_each_slot(worker, worker_drop_slot);
        worker_begin_stopping(worker);
    }
}

/* Every entry from the loop ends with this.  The worker may be gone afterwards.
 *
 * What a slot does in the turn, or a definition that is known at once, may ask for more. */
static void worker_turn(smq_worker *worker)
{
    struct slot_set *set = &worker->set;

    if (worker->turning) {
        return;
    }
    worker->turning = true;
    do {
        worker_do_requests(worker);
        if (worker->state == WORKER_RUNNING && budget_is_used_up(&set->budget)) {
            worker_begin_stopping(worker);
        }
        slot_turn_run(set);
    } while (!TAILQ_EMPTY(&set->places[SLOT_CHANGED]) || worker->asked.refresh ||
             worker->asked.fail || worker->asked.check_binding);
    if (set->budget.in_flight > 0 && worker->state != WORKER_ENDED) {
        worker_watch_handlers(worker);
    }
    worker_watch_standby(worker);
    worker_watch_assignment(worker);
    worker->turning = false;
    worker_check_end(worker);
}

static void worker_on_turn(void *user)
{
    worker_turn(user);
}

static void worker_on_outdated(void *user)
{
    ((smq_worker *) user)->asked.refresh = true;
}

/* The definition may be repaired as well, and nothing else may ask for it. */
static void worker_on_accepted(void *user)
{
    smq_worker *worker = user;

    worker->asked.refresh = worker->asked.refresh || worker->damaged;
}

static void worker_on_superseded(void *user)
{
    ((smq_worker *) user)->asked.check_binding = true;
}

static void worker_on_allowed(void *user)
{
    episode_good(&((smq_worker *) user)->denials);
}

/* A right that was missing from the start ends the worker, because its user was set up wrongly.
 * One that was taken away may be granted again. */
static void worker_on_denied(void *user, bool had, const char *text)
{
    smq_worker *worker = user;

    if (!had || worker_lacked(worker, text)) {
        worker_fail(worker, SMQ_DENIED, text);
    } else {
        worker_report_denied(worker, "a right that was there is missing", text);
    }
}

/* --- answers --- */

/* Takes over the answerer's reference. */
static void worker_on_answer(smq_delivery *delivery, int64_t now_us)
{
    struct owned_slot *slot;

    if (!delivery->in_flight) {   /* the slot has dropped it */
        delivery_unref(delivery); /* the answerer's reference */
        return;
    }
    slot = owned_slot_of(delivery);
    in_flight_add_answer(slot, delivery, now_us);
    slot_set_changed(slot);
}

static void worker_confirm_queues(smq_worker *worker)
{
    struct run_queue *queue;

    while ((queue = scheduler_take_unconfirmed(worker->set.scheduler)) != NULL) {
        renewal_confirm(OWNER_OF(queue, struct owned_slot, run_queue));
    }
}

static void worker_take_answers(smq_worker *worker)
{
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);
    smq_delivery *delivery;
    int64_t now_us = clock_now_us();

    scheduler_take_answers(worker->set.scheduler, &answers);
    while ((delivery = STAILQ_FIRST(&answers)) != NULL) {
        STAILQ_REMOVE_HEAD(&answers, link);
        worker_on_answer(delivery, now_us);
    }
    worker_confirm_queues(worker);
    slot_turn_mark_leaving(&worker->set);
    if (worker->polled && scheduler_take_emptied(worker->set.scheduler)) {
        slot_turn_mark_busy(&worker->set);
    }
}

static void worker_on_answered(struct loop_task *task)
{
    smq_worker *worker = OWNER_OF(task, smq_worker, answered);

    worker_take_answers(worker);
    worker_turn(worker);
}

void worker_stop_within(smq_worker *worker, int64_t ms)
{
    worker->set.drain_timeout_ms = ms;
    worker_begin_stopping(worker);
    scheduler_close(worker->set.scheduler);
    worker_take_answers(worker);
    worker_each_slot(worker, slot_life_abandon_unanswered);
    if (worker->state == WORKER_STOPPING) {
        uv_timer_start(&worker->drain, worker_on_drained, (uint64_t) ms, 0);
    }
    worker_turn(worker);
}

/* --- extensions --- */

static void worker_extend(struct extension *extension)
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

static void worker_on_extended(struct loop_task *task)
{
    smq_worker *worker = OWNER_OF(task, smq_worker, extended);
    struct extension_list list = STAILQ_HEAD_INITIALIZER(list);
    struct extension *extension;

    extensions_take(scheduler_extensions(worker->set.scheduler), &list);
    while ((extension = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        worker_extend(extension);
    }
}

/* --- the link to coordination --- */

static struct owned_slot *worker_find(const smq_worker *worker, int32_t number)
{
    return number >= 0 && number < worker->set.topic.slots ? worker->set.slots[number] : NULL;
}

static void worker_on_granted(void *user, int32_t number, struct token token)
{
    smq_worker *worker = user;

    if (number >= 0 && number < worker->set.topic.slots) {
        slot_life_grant(&worker->set, number, token);
    }
}

static void worker_on_revoked(void *user, int32_t number)
{
    struct owned_slot *slot = worker_find(user, number);

    if (slot != NULL) {
        slot_life_revoke(slot);
    }
}

static void worker_on_lost(void *user, int32_t number)
{
    struct owned_slot *slot = worker_find(user, number);

    if (slot != NULL) {
        slot_life_lost(slot);
    }
}

static void worker_on_left(void *user)
{
    smq_worker *worker = user;

    worker->joined = false;
    worker_each_slot(worker, slot_life_detach);
}

static void worker_on_failed(void *user, smq_status status, const char *text)
{
    worker_fail(user, status, text);
    worker_on_left(user);
}

static void worker_on_damaged(void *user, const char *text)
{
    worker_report_lost_definition(user, text);
}

static void worker_on_denied_topic(void *user, const char *text)
{
    smq_worker *worker = user;

    if (text == NULL) {
        episode_good(&worker->denials);
    } else {
        worker_report_denied(worker, "a right is missing", text);
    }
}

static void worker_on_explained(void *user, enum coord_no_slot why)
{
    worker_report_standby(user, why);
}

static void worker_on_bound(void *user, const char *coord)
{
    struct slot_set *set = &((smq_worker *) user)->set;

    (void) snprintf(set->bound, sizeof(set->bound), "%s", coord);
}

static void worker_join(smq_worker *worker)
{
    const struct slot_set *set = &worker->set;
    const struct coord_topic join = {.name = set->name,
                                     .nonce = set->topic.nonce,
                                     .generation = worker->generation,
                                     .slots = set->topic.slots,
                                     .weight = worker->threads,
                                     .drain_timeout_ms = set->drain_timeout_ms};

    worker->joined = true;
    coord_link_join(set->core->link, &join);
}

/* --- life --- */

static void worker_on_begin(struct loop_task *task)
{
    smq_worker *worker = OWNER_OF(task, smq_worker, begin);
    struct slot_set *set = &worker->set;

    if (worker->state != WORKER_NEW) {
        return;
    }
    worker_enter(worker, WORKER_RUNNING);
    worker_follow_topic(worker);
    worker_prove_rights(worker);
    if (worker->polled) {
        worker->poller.begun(worker->poller.user);
    }
    if (!set->shared) {
        worker_join(worker);
    }
    for (int32_t i = 0; set->shared && i < set->topic.slots; i++) {
        slot_life_grant(set, i, (struct token){0});
    }
    worker_turn(worker);
}

static void worker_on_stop(uv_async_t *signal)
{
    smq_worker *worker = signal->data;

    worker_begin_stopping(worker);
    worker_turn(worker);
}

static void worker_open_handles(smq_worker *worker)
{
    uv_loop_t *uv = loop_uv(worker->set.core->io);

    slot_set_open(&worker->set);
    uv_async_init(uv, &worker->stop_signal, worker_on_stop);
    uv_timer_init(uv, &worker->drain);
    uv_timer_init(uv, &worker->overdue);
    uv_timer_init(uv, &worker->standby_timer);
    worker->stop_signal.data = worker->drain.data = worker;
    worker->overdue.data = worker->standby_timer.data = worker;
    worker_listing_open(worker);
    worker->set.handles_open += 5;
    worker_report_health(worker);
    if (worker->polled) {
        worker->poller.opened(worker->poller.user, worker);
    }
}

bool worker_open(smq_worker *worker)
{
    const struct coord_link_listener listener = {.granted = worker_on_granted,
                                                 .revoked = worker_on_revoked,
                                                 .lost = worker_on_lost,
                                                 .failed = worker_on_failed,
                                                 .left = worker_on_left,
                                                 .damaged = worker_on_damaged,
                                                 .denied = worker_on_denied_topic,
                                                 .bound = worker_on_bound,
                                                 .explained = worker_on_explained,
                                                 .turn = worker_on_turn,
                                                 .user = worker};

    if (!coord_link_add(worker->set.core->link, &worker->set.topic, &listener)) {
        return false;
    }
    worker_open_handles(worker);
    return true;
}

static void worker_on_closed(uv_handle_t *handle)
{
    slot_set_handle_closed(&((smq_worker *) handle->data)->set);
}

static void worker_on_dispose(struct loop_task *task)
{
    smq_worker *worker = OWNER_OF(task, smq_worker, dispose);
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);
    smq_delivery *delivery;

    assert(worker->state == WORKER_ENDED);
    scheduler_take_answers(worker->set.scheduler, &answers);
    while ((delivery = STAILQ_FIRST(&answers)) != NULL) {
        STAILQ_REMOVE_HEAD(&answers, link);
        delivery_unref(delivery);
    }
    health_sources_remove(&worker->health);
    worker_each_slot(worker, slot_set_changed);
    slot_set_close(&worker->set);
    uv_close((uv_handle_t *) &worker->stop_signal, worker_on_closed);
    uv_close((uv_handle_t *) &worker->drain, worker_on_closed);
    uv_close((uv_handle_t *) &worker->overdue, worker_on_closed);
    uv_close((uv_handle_t *) &worker->standby_timer, worker_on_closed);
    uv_close((uv_handle_t *) &worker->listing.timer, worker_on_closed);
    if (worker->polled) {
        worker->poller.closing(worker->poller.user);
    }
    worker->disposing = true;
    worker_turn(worker);
}

void worker_init_loop(smq_worker *worker, struct core *core)
{
    const struct slot_host host = {.turn = worker_on_turn,
                                   .outdated = worker_on_outdated,
                                   .accepted = worker_on_accepted,
                                   .superseded = worker_on_superseded,
                                   .allowed = worker_on_allowed,
                                   .denied = worker_on_denied,
                                   .user = worker};

    slot_set_init(&worker->set, core, &host, slot_life_call_ended);
    worker->begin.run = worker_on_begin;
    worker->answered.run = worker_on_answered;
    worker->extended.run = worker_on_extended;
    worker->dispose.run = worker_on_dispose;
}
