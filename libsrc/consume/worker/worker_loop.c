/* worker_loop.c - the inside of a worker: answers, its definition, its end.
 *
 * Thread: smq:io. */
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "consume/worker/consumer.h"
#include "consume/worker/worker.h"
#include "core/coord_link.h"

enum { MISSING_MS = 1000, RENEWALS_A_LEASE = 6, RENEW_AGAIN_MS = 100 };

/* --- handles --- */

static void on_closed(uv_handle_t *handle)
{
    worker_handle_closed(handle->data);
}

static void check_disposed(smq_worker *worker)
{
    if (!worker->disposing || worker->handles_open > 0 || worker->owned_slot_count > 0 ||
        worker->reads > 0) {
        return;
    }
    pthread_mutex_lock(&worker->end.lock);
    worker->end.disposed = true;
    pthread_cond_broadcast(&worker->end.changed);
    pthread_mutex_unlock(&worker->end.lock);
}

void worker_read_ended(smq_worker *worker)
{
    worker->reads--;
    check_disposed(worker);
}

void worker_handle_closed(smq_worker *worker)
{
    worker->handles_open--;
    check_disposed(worker);
}

static void on_stop(uv_async_t *signal)
{
    worker_begin_stopping(signal->data);
}

void worker_open(smq_worker *worker)
{
    uv_loop_t *uv = loop_uv(worker->core->io);

    uv_async_init(uv, &worker->stop_signal, on_stop);
    uv_timer_init(uv, &worker->renewal);
    uv_timer_init(uv, &worker->drain);
    uv_timer_init(uv, &worker->tokens);
    uv_timer_init(uv, &worker->overdue);
    uv_timer_init(uv, &worker->standby);
    uv_prepare_init(uv, &worker->rouse);
    worker->stop_signal.data = worker->renewal.data = worker->drain.data = worker;
    worker->tokens.data = worker->overdue.data = worker->rouse.data = worker;
    worker->standby.data = worker;
    worker->handles_open = 7;
    if (worker->consumer != NULL) {
        consumer_opened(worker->consumer, worker);
    }
}

/* --- running --- */

static void on_rouse(uv_prepare_t *rouse)
{
    smq_worker *worker = rouse->data;

    uv_prepare_stop(rouse);
    run_queue_rouse(worker->queue);
}

/* What several replies of one read have brought wakes once. */
void worker_rouse(smq_worker *worker)
{
    uv_prepare_start(&worker->rouse, on_rouse);
}

static void on_renewal(uv_timer_t *timer)
{
    smq_worker *worker = timer->data;
    int64_t now = clock_now_ms();
    struct owned_slot *slot, *next;

    for (slot = LIST_FIRST(&worker->busy); slot != NULL; slot = next) {
        next = LIST_NEXT(slot, busy_link);
        renewal_run(slot, now);
    }
}

bool worker_is_strict(const smq_worker *worker)
{
    return worker->topic.type == SMQ_FIFO && !worker->topic.skip_failed;
}

/* What is in flight was leased for so long, and not for what the definition says now. */
static void adjust_leases(smq_worker *worker, int64_t lease_ms)
{
    int64_t shift = lease_ms - worker->topic.lease_ms;
    struct owned_slot *slot;
    smq_delivery *delivery;

    LIST_FOREACH(slot, &worker->busy, busy_link)
    {
        TAILQ_FOREACH(delivery, &slot->in_flight, in_flight_link)
        {
            delivery->leased_ms += shift;
        }
    }
}

static void renew_in(smq_worker *worker, uint64_t ms)
{
    uint64_t period = (uint64_t) worker->topic.lease_ms / RENEWALS_A_LEASE;

    uv_timer_start(&worker->renewal, on_renewal, ms, period);
}

void worker_renew_soon(smq_worker *worker)
{
    renew_in(worker, 0);
}

void worker_renew_again(smq_worker *worker)
{
    if (uv_timer_get_due_in(&worker->renewal) > RENEW_AGAIN_MS) {
        renew_in(worker, RENEW_AGAIN_MS);
    }
}

/* What the definition says holds from now on. */
static void follow_topic(smq_worker *worker)
{
    worker_renew_soon(worker);
    run_queue_guard(worker->queue,
                    worker->shared ? NULL : coord_link_membership(worker->core->link),
                    worker->topic.lease_ms);
    run_queue_set_strict(worker->queue, worker_is_strict(worker));
    worker_rates_set(worker);
}

static void worker_join(smq_worker *worker)
{
    const struct coord_topic join = {.name = worker->name,
                                     .nonce = worker->topic.nonce,
                                     .generation = worker->generation,
                                     .slots = worker->topic.slots,
                                     .weight = worker->threads,
                                     .drain_timeout_ms = worker->drain_timeout_ms};

    worker->joined = true;
    coord_link_join(worker->core->link, &join);
}

void worker_on_begin(struct loop_task *task)
{
    smq_worker *worker = (smq_worker *) ((char *) task - offsetof(smq_worker, begin));

    if (worker->state != WORKER_NEW) {
        return;
    }
    worker->state = WORKER_RUNNING;
    follow_topic(worker);
    worker_watch_standby(worker);
    if (worker->consumer != NULL) {
        consumer_begun(worker->consumer);
    }
    if (!worker->shared) {
        worker_join(worker);
        return;
    }
    for (int32_t i = 0; i < worker->topic.slots; i++) {
        owned_slot_grant(worker, i, (struct token){0});
    }
}

static void feed_starved(smq_worker *worker)
{
    struct owned_slot_queue starved = TAILQ_HEAD_INITIALIZER(starved);
    struct owned_slot *slot;

    if (worker_room(worker, 1) == 0) {
        return;
    }
    /* those that find no room again come back into the worker's list, behind the others */
    TAILQ_CONCAT(&starved, &worker->starved, link);
    while (worker_room(worker, 1) > 0 && (slot = TAILQ_FIRST(&starved)) != NULL) {
        TAILQ_REMOVE(&starved, slot, link);
        slot->starved = false;
        owned_slot_pump(slot);
    }
    TAILQ_CONCAT(&starved, &worker->starved, link);
    TAILQ_CONCAT(&worker->starved, &starved, link);
}

void worker_feed(smq_worker *worker)
{
    if (worker->state == WORKER_RUNNING && worker->max_messages > 0 &&
        worker->answered_count >= worker->max_messages) {
        worker_begin_stopping(worker);
        return;
    }
    feed_starved(worker);
    worker_await_tokens(worker);
    takeovers_feed(worker);
}

/* --- answers --- */

struct owned_slot *worker_strand(const smq_delivery *delivery)
{
    return (struct owned_slot *) ((char *) delivery->lane - offsetof(struct owned_slot, lane));
}

void worker_touch(struct owned_slot_batch *touched, struct owned_slot *slot)
{
    if (!slot->touched) {
        slot->touched = true;
        STAILQ_INSERT_TAIL(touched, slot, touched_link);
    }
}

/* With the reference of the one who has answered. */
static void take_answer(smq_delivery *delivery, struct owned_slot_batch *touched, int64_t now_us)
{
    struct owned_slot *slot;

    if (!delivery->in_flight) {   /* its slot has dropped it */
        delivery_unref(delivery); /* its answerer's */
        return;
    }
    slot = worker_strand(delivery);
    delivery->held++;
    in_flight_answered(slot, delivery);
    metrics_handled(&slot->worker->core->metrics, now_us - delivery->claimed_us);
    in_flight_recall_held(slot, delivery);
    worker_touch(touched, slot);
}

static void look_at(struct owned_slot *slot)
{
    if (slot->state == OWNED_IDLE) {
        owned_slot_check(slot);
    } else {
        owned_slot_pump(slot);
    }
}

static void look_at_leaving(smq_worker *worker)
{
    struct owned_slot *slot, *next;

    for (slot = LIST_FIRST(&worker->leaving); slot != NULL; slot = next) {
        next = LIST_NEXT(slot, leaving_link);
        look_at(slot);
    }
    run_queue_watch(worker->queue, !LIST_EMPTY(&worker->leaving));
}

void worker_look_at_touched(smq_worker *worker, struct owned_slot_batch *touched)
{
    struct owned_slot *slot;

    while ((slot = STAILQ_FIRST(touched)) != NULL) {
        STAILQ_REMOVE_HEAD(touched, touched_link);
        slot->touched = false;
        look_at(slot);
    }
    look_at_leaving(worker);
    worker_feed(worker);
}

static void confirm_doubted(smq_worker *worker)
{
    struct run_lane *lane;

    while ((lane = run_queue_take_doubted(worker->queue)) != NULL) {
        renewal_confirm((struct owned_slot *) ((char *) lane - offsetof(struct owned_slot, lane)));
    }
}

void worker_on_answered(struct loop_task *task)
{
    smq_worker *worker = (smq_worker *) ((char *) task - offsetof(smq_worker, answered));
    struct owned_slot_batch touched = STAILQ_HEAD_INITIALIZER(touched);
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);
    smq_delivery *delivery;
    int64_t now_us = clock_now_us();

    run_queue_take_answers(worker->queue, &answers);
    while ((delivery = STAILQ_FIRST(&answers)) != NULL) {
        STAILQ_REMOVE_HEAD(&answers, link);
        take_answer(delivery, &touched, now_us);
    }
    confirm_doubted(worker);
    worker_look_at_touched(worker, &touched);
    worker_check_end(worker); /* the last dead letter may be told */
}

/* --- pauses --- */

void worker_see_pause(struct owned_slot *slot, bool paused)
{
    smq_worker *worker = slot->worker;
    smq_event event = {.status = SMQ_OK, .topic = worker->name, .slot = -1};

    worker_forget_pause(slot);
    slot->paused = paused;
    worker->paused_strands += paused ? 1 : 0;
    if (paused && !worker->paused) {
        worker->paused = true;
        events_emit(worker->core->events, SMQ_EVENT_PAUSED, &event,
                    "topic %s is paused: nothing is claimed until slotmq resume %s, or "
                    "smq_topic_resume()",
                    worker->name, worker->name);
    } else if (worker->paused && worker->paused_strands == 0) {
        worker->paused = false;
        events_emit(worker->core->events, SMQ_EVENT_RESUMED, &event, "topic %s goes on",
                    worker->name);
    }
}

void worker_forget_pause(struct owned_slot *slot)
{
    slot->worker->paused_strands -= slot->paused ? 1 : 0;
    slot->paused = false;
}

/* --- extensions --- */

static void extend(struct extension *extension)
{
    const smq_delivery *delivery = extension->delivery;
    smq_status standing = delivery_standing(delivery);

    if (!delivery->in_flight) {
        extension_end(extension, standing == SMQ_FENCED ? SMQ_FENCED : SMQ_LEASE_LOST,
                      "the message is with somebody else");
    } else if (!delivery->unanswered) {
        extension_end(extension, standing == SMQ_LEASE_LOST ? SMQ_LEASE_LOST : SMQ_INVALID,
                      "the delivery was answered already");
    } else {
        renewal_extend(worker_strand(delivery), extension);
    }
}

void worker_on_extended(struct loop_task *task)
{
    smq_worker *worker = (smq_worker *) ((char *) task - offsetof(smq_worker, extended));
    struct extension_list list = STAILQ_HEAD_INITIALIZER(list);
    struct extension *extension;

    extensions_take(run_queue_extensions(worker->queue), &list);
    while ((extension = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        extend(extension);
    }
}

/* --- the definition --- */

void worker_tell_lost_definition(smq_worker *worker, const char *text)
{
    smq_event event = {.topic = worker->name, .slot = -1};

    if (text != NULL && !worker->damaged) {
        event.status = SMQ_DAMAGED;
        events_emit(worker->core->events, SMQ_EVENT_DAMAGED, &event, "%s", text);
    } else if (text == NULL && worker->damaged) {
        events_emit(worker->core->events, SMQ_EVENT_REPAIRED, &event, "topic %s is repaired",
                    worker->name);
    }
    worker->damaged = text != NULL;
}

static void on_definition(const struct topic *topic, smq_status status, const char *text,
                          void *user)
{
    smq_worker *worker = user;
    int64_t now = clock_now_ms(), lease_ms;

    worker->refreshing = false;
    worker->reads--;
    if (worker->state == WORKER_NEW || worker->state == WORKER_ENDED) {
        check_disposed(worker);
        return;
    }
    if (status == SMQ_OK && strcmp(topic->nonce, worker->topic.nonce) == 0) {
        worker->missing_at = 0;
        worker_tell_lost_definition(worker, NULL);
        worker->reads_confirmed++;
        lease_ms = worker->topic.lease_ms;
        worker->topic = *topic;
        adjust_leases(worker, lease_ms);
        follow_topic(worker);
        worker_feed(worker);
    } else if (status == SMQ_OK) {
        worker_fail(worker, SMQ_NO_TOPIC, "the topic was deleted and created anew");
    } else if (status == SMQ_DAMAGED) {
        worker_tell_lost_definition(worker, text);
    } else if (status == SMQ_NO_TOPIC && worker->missing_at == 0) {
        worker->missing_at = now; /* a deletion may be taken back: it was not empty */
    } else if (status == SMQ_NO_TOPIC && now - worker->missing_at >= MISSING_MS) {
        worker_fail(worker, SMQ_NO_TOPIC, text);
    }
}

void worker_refresh(smq_worker *worker)
{
    char stamp[TOPIC_STAMP_MAX];

    if (worker->refreshing) {
        return;
    }
    worker->refreshing = true;
    worker->reads++;
    topic_stamp(stamp, &worker->topic);
    definitions_get(worker->core->definitions, worker->name, stamp, on_definition, worker);
}

/* --- the end --- */

static void end(smq_worker *worker)
{
    smq_error result = worker->failure;
    struct core *core = worker->core;

    worker->state = WORKER_ENDED;
    uv_timer_stop(&worker->renewal);
    uv_timer_stop(&worker->drain);
    uv_timer_stop(&worker->tokens);
    uv_timer_stop(&worker->overdue);
    worker_watch_standby(worker);
    run_queue_close(worker->queue);
    worker->joined = false;
    coord_link_remove(core->link, worker->name, worker);
    if (result.status == SMQ_OK && worker->abandoned) {
        status_set(&result, SMQ_TIMED_OUT,
                   "handlers or answers of topic %s did not end within drain_timeout_ms; what they "
                   "hold is delivered again",
                   worker->name);
    }
    pthread_mutex_lock(&worker->end.lock);
    worker->end.ended = true;
    worker->end.result = result;
    pthread_cond_broadcast(&worker->end.changed);
    pthread_mutex_unlock(&worker->end.lock);
}

void worker_check_end(smq_worker *worker)
{
    bool left = worker->owned_slot_count == 0 && !worker->joined;

    if (left && worker->state == WORKER_STOPPING && !run_queue_has_dead(worker->queue)) {
        end(worker);
    } else if (left && worker->state == WORKER_RESTING) {
        worker->state = WORKER_NEW;
        uv_timer_stop(&worker->renewal);
        consumer_rested(worker->consumer);
    }
    check_disposed(worker);
}

static void each_strand(smq_worker *worker, void (*act)(struct owned_slot *slot))
{
    for (int32_t i = 0; worker->owned_slot_count > 0 && i < worker->topic.slots; i++) {
        if (worker->slots[i] != NULL) {
            act(worker->slots[i]);
        }
    }
}

static void on_drained(uv_timer_t *timer)
{
    smq_worker *worker = timer->data;

    each_strand(worker, owned_slot_abandon);
    each_strand(worker, owned_slot_detach);
    if (worker->state != WORKER_STOPPING) {
        return;
    }
    worker->abandoned =
        worker->abandoned || worker->owned_slot_count > 0 || run_queue_has_dead(worker->queue);
    end(worker);
}

/* Give the slots up. */
static void leave(smq_worker *worker, enum worker_state state)
{
    bool joined = worker->joined && worker->state == WORKER_RUNNING;

    worker->state = state;
    worker_watch_standby(worker);
    if (state == WORKER_STOPPING) {
        uv_timer_start(&worker->drain, on_drained, (uint64_t) worker->drain_timeout_ms, 0);
    }
    if (joined) {
        coord_link_leave(worker->core->link, worker->name);
    }
    each_strand(worker, owned_slot_stop);
    worker_check_end(worker);
}

void worker_begin_stopping(smq_worker *worker)
{
    if (worker->state == WORKER_NEW) {
        end(worker);
        return;
    }
    if (worker->state != WORKER_RUNNING && worker->state != WORKER_RESTING) {
        return;
    }
    leave(worker, WORKER_STOPPING);
}

void worker_rest(smq_worker *worker)
{
    if (worker->state == WORKER_RUNNING) {
        leave(worker, WORKER_RESTING);
    }
}

void worker_stop_within(smq_worker *worker, int64_t ms)
{
    worker->drain_timeout_ms = ms;
    worker_begin_stopping(worker);
    run_queue_close(worker->queue);
    worker_on_answered(&worker->answered);
    each_strand(worker, owned_slot_abandon_unanswered);
    if (worker->state == WORKER_STOPPING) {
        uv_timer_start(&worker->drain, on_drained, (uint64_t) ms, 0);
    }
}

static void drop_failed(struct owned_slot *slot)
{
    owned_slot_drop(slot, SMQ_FENCED, "the worker cannot go on");
}

void worker_fail(smq_worker *worker, smq_status status, const char *text)
{
    smq_event event = {.status = status, .topic = worker->name, .slot = -1};

    if (worker->state == WORKER_ENDED || worker->failure.status != SMQ_OK) {
        return;
    }
    status_set(&worker->failure, status, "topic %s cannot be consumed any more: %s", worker->name,
               text);
    events_emit(worker->core->events, SMQ_EVENT_STOPPED, &event, "%s", worker->failure.text);
    if (status == SMQ_NO_TOPIC) {
        definitions_forget(worker->core->definitions, worker->name);
    }
    each_strand(worker, drop_failed);
    worker_begin_stopping(worker);
    worker_check_end(worker);
}

/* --- what coordination says --- */

static struct owned_slot *worker_find(const smq_worker *worker, int32_t number)
{
    return number >= 0 && number < worker->topic.slots ? worker->slots[number] : NULL;
}

static void worker_on_granted(void *user, int32_t number, struct token token)
{
    smq_worker *worker = user;

    if (number >= 0 && number < worker->topic.slots) {
        owned_slot_grant(worker, number, token);
    }
}

static void worker_on_revoked(void *user, int32_t number)
{
    smq_worker *worker = user;
    struct owned_slot *slot = worker_find(worker, number);

    if (slot != NULL) {
        owned_slot_revoke(slot);
        worker_feed(worker);
    }
}

static void worker_on_lost(void *user, int32_t number)
{
    smq_worker *worker = user;
    struct owned_slot *slot = worker_find(worker, number);

    if (slot != NULL) {
        owned_slot_lost(slot, "this process is no longer a member");
        worker_feed(worker);
    }
}

static void worker_on_left(void *user)
{
    smq_worker *worker = user;

    worker->joined = false;
    each_strand(worker, owned_slot_detach);
    worker_check_end(worker);
}

static void worker_on_failed(void *user, smq_status status, const char *text)
{
    smq_worker *worker = user;

    worker->joined = false;
    worker_fail(worker, status, text);
    worker_on_left(worker);
}

static void worker_on_damaged(void *user, const char *text)
{
    worker_tell_lost_definition(user, text);
}

bool worker_register(smq_worker *worker)
{
    const struct coord_link_listener listener = {.granted = worker_on_granted,
                                                 .revoked = worker_on_revoked,
                                                 .lost = worker_on_lost,
                                                 .failed = worker_on_failed,
                                                 .left = worker_on_left,
                                                 .damaged = worker_on_damaged,
                                                 .user = worker};

    return coord_link_add(worker->core->link, &worker->topic, &listener);
}

void worker_on_dispose(struct loop_task *task)
{
    smq_worker *worker = (smq_worker *) ((char *) task - offsetof(smq_worker, dispose));
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);
    smq_delivery *delivery;

    assert(worker->state == WORKER_ENDED);
    run_queue_take_answers(worker->queue, &answers);
    while ((delivery = STAILQ_FIRST(&answers)) != NULL) {
        STAILQ_REMOVE_HEAD(&answers, link);
        delivery_unref(delivery);
    }
    each_strand(worker, owned_slot_check);
    uv_close((uv_handle_t *) &worker->stop_signal, on_closed);
    uv_close((uv_handle_t *) &worker->renewal, on_closed);
    uv_close((uv_handle_t *) &worker->drain, on_closed);
    uv_close((uv_handle_t *) &worker->tokens, on_closed);
    uv_close((uv_handle_t *) &worker->overdue, on_closed);
    uv_close((uv_handle_t *) &worker->standby, on_closed);
    uv_close((uv_handle_t *) &worker->rouse, on_closed);
    if (worker->consumer != NULL) {
        consumer_close(worker->consumer);
    }
    worker->disposing = true;
}
