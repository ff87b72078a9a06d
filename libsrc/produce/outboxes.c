/* outboxes.c - the turn at the end of every entry from the loop: it sends what is ready, reports
 * sends that have ended, and sets the timer. */
#include "produce/outboxes.h"

#include <stdlib.h>

#include "base/alarms.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "produce/outbox_topic.h"

enum { TICK_MIN_MS = 2 };

struct outboxes {
    struct outbox_topics topics;
    outboxes_ended_fn *ended;
    void *user;
    uv_timer_t timer;
    struct alarm alarm;
    int64_t timer_ms; /* when the timer ends; INT64_MAX: it does not run */
    void (*closed)(void *user);
    void *closed_user;
};

static void outboxes_on_timer(uv_timer_t *timer);

static void outboxes_report(struct outboxes *all)
{
    struct send_sink *sink = &all->topics.set.sink;
    struct send_list ended = STAILQ_HEAD_INITIALIZER(ended);

    if (!STAILQ_EMPTY(&sink->ended)) {
        STAILQ_CONCAT(&ended, &sink->ended);
        all->ended(&ended, all->user);
    }
}

static void outboxes_set_timer(struct outboxes *all)
{
    int64_t ms = all->topics.set.wake_ms;
    int64_t delay_ms;

    if (ms >= all->timer_ms) {
        return;
    }
    all->timer_ms = ms;
    delay_ms = ms - clock_now_ms();
    uv_update_time(all->timer.loop);
    (void) uv_timer_start(&all->timer, outboxes_on_timer,
                          (uint64_t) (delay_ms > TICK_MIN_MS ? delay_ms : TICK_MIN_MS), 0);
}

/* Send what is READY, a part of it, or nothing yet. */
static void outboxes_send(struct outboxes *all)
{
    struct outbox_set *set = &all->topics.set;
    struct alarms *alarms = loop_alarms(set->sink.core->io);
    struct outbox *outbox;
    struct next_call next;

    set->now_us = clock_now_us();
    while ((outbox = outbox_set_gated(set)) != NULL) {
        outbox_topic_begin(outbox, set->now_us / 1000);
    }
    if (TAILQ_EMPTY(&set->ready)) {
        return;
    }
    next = outbox_set_next(set);
    while ((outbox = TAILQ_FIRST(&set->ready)) != NULL &&
           (next.why == NEXT_CALL_NOW || next.n-- > 0)) {
        outbox_topic_begin(outbox, set->now_us / 1000);
    }
    if (outbox != NULL) {
        alarm_set(alarms, &all->alarm, next.leave_at_us);
        return;
    }
    alarm_clear(alarms, &all->alarm);
    outbox_set_flushed(set);
}

static void outboxes_turn(void *user)
{
    struct outboxes *all = user;
    struct outbox_set *set = &all->topics.set;

    if (!TAILQ_EMPTY(&set->ready) || set->gated_count > 0) {
        outboxes_send(all);
    }
    outboxes_set_timer(all);
    outboxes_report(all);
}

static void outboxes_on_alarm(struct alarm *alarm)
{
    outboxes_turn(OWNER_OF(alarm, struct outboxes, alarm));
}

static void outboxes_on_timer(uv_timer_t *timer)
{
    struct outboxes *all = timer->data;

    all->timer_ms = INT64_MAX;
    all->topics.set.wake_ms = INT64_MAX;
    outbox_topics_wake(&all->topics, clock_now_ms());
    outboxes_turn(all);
}

struct outboxes *outboxes_new(struct core *core, const struct outboxes_options *options,
                              outboxes_ended_fn *ended, void *user)
{
    struct outboxes *all = memory_new(sizeof(*all));
    struct outbox_set *set = &all->topics.set;

    set->requests = (struct send_requests){.sink = &set->sink,
                                           .no_repeat = options->no_repeat,
                                           .replicas = options->replicas,
                                           .ended = outbox_topic_request_ended,
                                           .turn = outboxes_turn,
                                           .user = all};
    random_hex(set->requests.producer, sizeof(set->requests.producer));
    set->requests.producer[0] = 's'; /* versions before 0.3.0 have a hex digit: admin/format.c */
    set->sink.core = core;
    STAILQ_INIT(&set->sink.ended);
    TAILQ_INIT(&set->ready);
    TAILQ_INIT(&set->backing_off);
    pace_init(&set->pace, options->linger_ms);
    all->alarm.ring = outboxes_on_alarm;
    set->wake_ms = INT64_MAX;
    TAILQ_INIT(&all->topics.blocked);
    all->topics.turn = outboxes_turn;
    all->topics.user = all;
    all->ended = ended;
    all->user = user;
    all->timer_ms = INT64_MAX;
    all->timer.data = all;
    (void) uv_timer_init(loop_uv(core->io), &all->timer);
    return all;
}

void outboxes_add(struct outboxes *all, struct send_list *list)
{
    struct send *send;

    while ((send = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, link);
        outbox_topics_add(&all->topics, send);
    }
    outboxes_turn(all);
}

void outboxes_flush(struct outboxes *all, uint64_t number)
{
    all->topics.set.flush_to = number;
    all->topics.set.urgent = true;
    outboxes_turn(all);
}

static void outboxes_on_timer_closed(uv_handle_t *handle)
{
    struct outboxes *all = handle->data;
    void (*closed)(void *user) = all->closed;
    void *user = all->closed_user;

    free(all);
    closed(user);
}

void outboxes_close(struct outboxes *all, void (*closed)(void *user), void *user)
{
    alarm_clear(loop_alarms(all->topics.set.sink.core->io), &all->alarm);
    send_requests_abandon(&all->topics.set.requests);
    outbox_topics_close(&all->topics);
    gates_fini(&all->topics.set.gates);
    outboxes_report(all);
    all->closed = closed;
    all->closed_user = user;
    uv_close((uv_handle_t *) &all->timer, outboxes_on_timer_closed);
}
