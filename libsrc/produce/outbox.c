/* outbox.c - where the sends of a producer wait: for the definition of their topic, for the end of
 * the request before them, for a rest after a failure.
 *
 * Thread: smq:io. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "produce/outbox_internal.h"

enum { TICK_MIN_MS = 2, FRESH_MS = 100 };

/* Between two tries of what failed. */
static const struct backoff repeat_backoff = {.kind = BACKOFF_EXP, .count = 2, .ms = {20, 1000}};

static int64_t repeat_delay(int failures)
{
    return 1 + backoff_delay(&repeat_backoff, failures < 16 ? failures : 16, random_u64());
}

/* --- sends --- */

void send_init(struct send *send, const char *topic, const smq_message *message,
               int64_t deadline_ms)
{
    *send = (struct send){.topic = topic,
                          .message = *message,
                          .deadline_ms = deadline_ms,
                          .status = SMQ_TIMED_OUT,
                          .place = {.slot = -1}};
}

void send_end(struct outboxes *all, struct send *send, smq_status status, const char *text)
{
    struct send_group *group = send->group;

    if (send->unknown && status != SMQ_OK && status != SMQ_NO_TOPIC) {
        status = SMQ_UNKNOWN;
    }
    send->status = status;
    if (status != SMQ_OK) {
        metric_add(&all->core->metrics.send_failures, 1);
    }
    if (group != NULL && status != SMQ_OK && send->index < group->first_failed) {
        group->first_failed = send->index;
        (void) status_set(&group->err, status, "%s", text);
    }
    STAILQ_INSERT_TAIL(&all->ended, send, link);
}

static void list_end(struct outboxes *all, struct send_list *list, smq_status status,
                     const char *text)
{
    struct send *send;

    while ((send = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, link);
        send_end(all, send, status, text);
    }
}

static void list_prepend(struct send_list *list, struct send_list *before)
{
    STAILQ_CONCAT(before, list);
    STAILQ_CONCAT(list, before);
}

/* `why`: what kept it from being sent, or NULL. */
static void send_expire(struct outboxes *all, struct send *send, const char *why)
{
    char text[400];

    if (send->status == SMQ_DAMAGED && !send->unknown) {
        snprintf(text, sizeof(text),
                 "Redis has lost a part of slot %" PRId32 " of topic %.120s: run slotmq topic "
                 "repair %.120s",
                 send->place.slot, send->topic, send->topic);
        send_end(all, send, send->status, text);
        return;
    }
    snprintf(text, sizeof(text), "topic %.120s: %s%s%.200s", send->topic,
             send->unknown                   ? "no answer came in time"
             : send->status == SMQ_TIMED_OUT ? "it could not be sent in time"
             : send->status == SMQ_NO_TOPIC  ? "the slot has no definition"
                                             : "no server in time",
             why != NULL ? ": " : "", why != NULL ? why : "");
    send_end(all, send, send->status, text);
}

/* The list is in the order of the deadlines, nearly: an earlier one behind may end a bit late. */
static void expire_heads(struct outbox *outbox, int64_t now_ms)
{
    struct send *send;

    while ((send = STAILQ_FIRST(&outbox->queue)) != NULL && send->deadline_ms <= now_ms) {
        STAILQ_REMOVE_HEAD(&outbox->queue, link);
        send_expire(outbox->topic->all, send, outbox->why);
    }
}

/* --- the timer --- */

static void on_timer(uv_timer_t *timer);

static void wake_at(struct outboxes *all, int64_t ms)
{
    int64_t delay_ms = ms - clock_now_ms();

    if (ms >= all->wake_ms) {
        return;
    }
    all->wake_ms = ms;
    uv_update_time(all->timer.loop);
    (void) uv_timer_start(&all->timer, on_timer,
                          (uint64_t) (delay_ms > TICK_MIN_MS ? delay_ms : TICK_MIN_MS), 0);
}

/* --- outboxes --- */

static bool outbox_may(enum outbox_state from, enum outbox_state to)
{
    switch (from) {
    case OUTBOX_EMPTY:
        return to == OUTBOX_READY || to == OUTBOX_RESTING;
    case OUTBOX_READY:
        return to == OUTBOX_ON_WIRE || to == OUTBOX_EMPTY;
    case OUTBOX_ON_WIRE:
        return to != OUTBOX_ON_WIRE;
    case OUTBOX_RESTING:
        return to == OUTBOX_READY || to == OUTBOX_EMPTY;
    }
    return false;
}

static struct outbox_list *outbox_list_of(struct outboxes *all, enum outbox_state state)
{
    switch (state) {
    case OUTBOX_READY:
        return &all->ready;
    case OUTBOX_RESTING:
        return &all->resting;
    case OUTBOX_EMPTY:
    case OUTBOX_ON_WIRE:
        break;
    }
    return NULL;
}

void outbox_set_state(struct outbox *outbox, enum outbox_state state)
{
    struct outbox_list *from = outbox_list_of(outbox->topic->all, outbox->state);
    struct outbox_list *to = outbox_list_of(outbox->topic->all, state);

    if (outbox->state == state) {
        return;
    }
    assert(outbox_may(outbox->state, state));
    outbox->state = state;
    if (from != NULL) {
        TAILQ_REMOVE(from, outbox, link);
    }
    if (to != NULL) {
        TAILQ_INSERT_TAIL(to, outbox, link);
    }
}

static void outbox_rest(struct outbox *outbox)
{
    int64_t deadline_ms = STAILQ_FIRST(&outbox->queue)->deadline_ms;

    outbox_set_state(outbox, OUTBOX_RESTING);
    wake_at(outbox->topic->all, outbox->resume_ms < deadline_ms ? outbox->resume_ms : deadline_ms);
}

void outbox_forgive(struct outbox *outbox)
{
    outbox->failures = 0;
    outbox->resume_ms = 0;
    free(outbox->why);
    outbox->why = NULL;
}

/* With an empty queue nobody is left for whom it failed: the next send is not made to wait.  While
 * the topic is blocked those are only elsewhere. */
void outbox_settle(struct outbox *outbox)
{
    if (STAILQ_EMPTY(&outbox->queue)) {
        outbox_set_state(outbox, OUTBOX_EMPTY);
        if (!outbox->topic->blocked) {
            outbox_forgive(outbox);
        }
    } else if (outbox->resume_ms > clock_now_ms()) {
        outbox_rest(outbox);
    } else {
        outbox_set_state(outbox, OUTBOX_READY);
    }
}

void outbox_failed(struct outbox *outbox, const char *why)
{
    outbox->resume_ms = clock_now_ms() + repeat_delay(outbox->failures);
    outbox->failures++;
    free(outbox->why);
    outbox->why = memory_string(why);
}

static struct outbox *topic_outbox(struct outbox_topic *topic, int32_t slot)
{
    struct outbox *outbox = topic->slots[slot];

    if (outbox == NULL) {
        outbox = memory_new(sizeof(*outbox));
        outbox->topic = topic;
        outbox->slot = slot;
        STAILQ_INIT(&outbox->queue);
        topic->slots[slot] = outbox;
    }
    return outbox;
}

/* --- topics --- */

static void topic_advance(struct outbox_topic *topic);

static struct outbox_topic *topic_new(struct outboxes *all, const char *name)
{
    struct outbox_topic *topic = memory_new(sizeof(*topic));

    topic->all = all;
    snprintf(topic->name, sizeof(topic->name), "%s", name);
    STAILQ_INIT(&topic->unplaced);
    topic->expire_ms = INT64_MAX;
    topic->blocked = true;
    TAILQ_INSERT_TAIL(&all->blocked, topic, link);
    HASH_ADD_STR(all->topics, name, topic);
    return topic;
}

static struct outbox_topic *topic_find(struct outboxes *all, const char *name)
{
    struct outbox_topic *topic = all->last;

    if (topic != NULL && strcmp(topic->name, name) == 0) {
        return topic;
    }
    HASH_FIND_STR(all->topics, name, topic);
    all->last = topic != NULL ? topic : topic_new(all, name);
    return all->last;
}

static void topic_free_slots(struct outbox_topic *topic)
{
    for (int32_t i = 0; topic->known && i < topic->topic.slots; i++) {
        if (topic->slots[i] != NULL) {
            free(topic->slots[i]->why);
            free(topic->slots[i]);
        }
    }
    free(topic->slots);
    topic->slots = NULL;
    topic->known = false;
}

/* Out of the tables; free it, or leave that to the read that is on its way. */
static void topic_drop(struct outbox_topic *topic)
{
    struct outboxes *all = topic->all;

    HASH_DEL(all->topics, topic);
    if (topic->blocked) {
        TAILQ_REMOVE(&all->blocked, topic, link);
    }
    all->last = NULL;
    topic_free_slots(topic);
    topic->all = NULL;
    if (!topic->reading) {
        free(topic);
    }
}

static void topic_park(struct outbox_topic *topic, const struct send *send)
{
    if (send->deadline_ms < topic->expire_ms) {
        topic->expire_ms = send->deadline_ms;
        wake_at(topic->all, send->deadline_ms);
    }
}

/* Give it an id where it needs one.  It keeps that as long as its topic is keyed. */
static void send_identify(struct outboxes *all, const struct topic *topic, struct send *send)
{
    if (send_lacks_id(topic, &send->message)) {
        message_id_make(send->id, &all->ids, clock_wall_ms(), random_u64());
        send->message.id = send->id;
        send->message.id_len = MESSAGE_ID_LEN;
    } else if (send->id[0] != '\0' && topic->layout != SMQ_KEYED) {
        send->id[0] = '\0';
        send->message.id = NULL;
        send->message.id_len = 0;
    }
}

static void topic_wait(struct outbox_topic *topic, struct send *send)
{
    STAILQ_INSERT_TAIL(&topic->unplaced, send, link);
    topic_park(topic, send);
}

/* It does not fit the definition.  Slots tell of a newer one, but only what is sent to them; so an
 * old one is read again first. */
static void topic_refuse(struct outbox_topic *topic, struct send *send, smq_status status,
                         const char *text)
{
    if (clock_now_ms() - topic->checked_ms < FRESH_MS) {
        send_end(topic->all, send, status, text);
        return;
    }
    topic_block(topic);
    topic_wait(topic, send);
}

/* The topic may be blocked then. */
static void topic_place(struct outbox_topic *topic, struct send *send)
{
    struct outbox *outbox;
    smq_error err;
    smq_status status;

    send_identify(topic->all, &topic->topic, send);
    status = send_place(&send->place, &topic->topic, &send->message, &err);
    if (status != SMQ_OK) {
        topic_refuse(topic, send, status, err.text);
        return;
    }
    outbox = topic_outbox(topic, send->place.slot);
    STAILQ_INSERT_TAIL(&outbox->queue, send, link);
    if (outbox->state == OUTBOX_EMPTY) {
        outbox_settle(outbox);
    }
}

static void topic_unblock(struct outbox_topic *topic)
{
    struct send_list list = STAILQ_HEAD_INITIALIZER(list);
    struct send *send;

    topic->blocked = false;
    TAILQ_REMOVE(&topic->all->blocked, topic, link);
    topic->expire_ms = INT64_MAX;
    topic->checked_ms = INT64_MAX; /* as fresh as can be, for all of these */
    STAILQ_CONCAT(&list, &topic->unplaced);
    while ((send = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        topic_place(topic, send);
    }
    topic->checked_ms = clock_now_ms();
}

/* Begin to use the definition that was read. */
static void topic_adopt(struct outbox_topic *topic)
{
    topic_free_slots(topic);
    topic->topic = topic->next;
    topic_stamp(topic->stamp, &topic->topic);
    topic->slots = memory_new((size_t) topic->topic.slots * sizeof(*topic->slots));
    topic->known = true;
    topic->newer = false;
    topic_unblock(topic);
}

/* The slots that refused the stored definition are damaged, if they still do when their sends end.
 */
static void unplaced_are_damaged(struct outbox_topic *topic)
{
    struct send *send;

    STAILQ_FOREACH(send, &topic->unplaced, link)
    {
        send->status = send->status == SMQ_NO_TOPIC ? SMQ_DAMAGED : send->status;
    }
}

/* The same definition means that a slot refused it for another reason: that outbox rests, the
 * others go on. */
static void topic_defined(struct outbox_topic *topic, const struct topic *definition)
{
    char stamp[TOPIC_STAMP_MAX];

    topic->failures = 0;
    topic_stamp(stamp, definition);
    if (topic->known && strcmp(stamp, topic->stamp) == 0) {
        unplaced_are_damaged(topic);
        topic_unblock(topic);
        return;
    }
    topic->next = *definition;
    topic->newer = true;
}

static void topic_undefined(struct outbox_topic *topic, smq_status status, const char *text)
{
    smq_class class = smq_status_class(status);
    struct send *send;

    if (class != SMQ_CLASS_RETRY && class != SMQ_CLASS_UNKNOWN) {
        topic->expire_ms = INT64_MAX;
        list_end(topic->all, &topic->unplaced, status, text);
        return;
    }
    STAILQ_FOREACH(send, &topic->unplaced, link)
    {
        send->status = SMQ_UNAVAILABLE;
    }
    topic->read_ms = clock_now_ms() + repeat_delay(topic->failures);
    topic->failures++;
    wake_at(topic->all, topic->read_ms);
}

static void on_definition(const struct topic *definition, smq_status status, const char *text,
                          void *user)
{
    struct outbox_topic *topic = user;
    struct outboxes *all = topic->all;

    topic->reading = false;
    if (all == NULL) {
        free(topic);
        return;
    }
    if (status == SMQ_OK) {
        topic_defined(topic, definition);
    } else {
        topic_undefined(topic, status, text);
    }
    topic_advance(topic);
    outboxes_turn(all);
}

/* What a blocked topic does next.  It may be gone then. */
static void topic_advance(struct outbox_topic *topic)
{
    if (!topic->blocked || topic->reading || topic->read_ms != 0) {
        return;
    }
    if (topic->newer) {
        if (topic->on_wire == 0) {
            topic_adopt(topic);
        }
    } else if (!STAILQ_EMPTY(&topic->unplaced)) {
        topic->reading = true;
        definitions_get(topic->all->core->definitions, topic->name,
                        topic->known ? topic->stamp : NULL, on_definition, topic);
    } else if (topic->on_wire == 0) {
        topic_drop(topic);
    }
}

void topic_block(struct outbox_topic *topic)
{
    if (topic->blocked) {
        return;
    }
    topic->blocked = true;
    TAILQ_INSERT_TAIL(&topic->all->blocked, topic, link);
    for (int32_t i = 0; i < topic->topic.slots; i++) {
        struct outbox *outbox = topic->slots[i];
        struct send *send;

        if (outbox == NULL || STAILQ_EMPTY(&outbox->queue)) {
            continue;
        }
        STAILQ_FOREACH(send, &outbox->queue, link)
        {
            topic_park(topic, send);
        }
        STAILQ_CONCAT(&topic->unplaced, &outbox->queue);
        if (outbox->state != OUTBOX_ON_WIRE) {
            outbox_set_state(outbox, OUTBOX_EMPTY);
        }
    }
}

void outbox_put_back(struct outbox *outbox, struct send_list *list)
{
    struct outbox_topic *topic = outbox->topic;
    struct send *send;

    if (!topic->blocked) {
        list_prepend(&outbox->queue, list);
        return;
    }
    STAILQ_FOREACH(send, list, link)
    {
        topic_park(topic, send);
    }
    list_prepend(&topic->unplaced, list);
}

void topic_request_ended(struct outbox_topic *topic)
{
    topic->on_wire--;
    topic_advance(topic);
}

/* --- all --- */

struct outboxes *outboxes_new(struct core *core, const struct outboxes_options *options,
                              outboxes_ended_fn *ended, void *user)
{
    struct outboxes *all = memory_new(sizeof(*all));

    all->core = core;
    all->options = *options;
    all->ended_fn = ended;
    all->user = user;
    all->wake_ms = INT64_MAX;
    all->timer.data = all;
    TAILQ_INIT(&all->blocked);
    TAILQ_INIT(&all->ready);
    TAILQ_INIT(&all->resting);
    LIST_INIT(&all->wire);
    LIST_INIT(&all->spare);
    STAILQ_INIT(&all->ended);
    (void) uv_timer_init(loop_uv(core->io), &all->timer);
    return all;
}

static void outboxes_report(struct outboxes *all)
{
    struct send_list ended = STAILQ_HEAD_INITIALIZER(ended);

    if (!STAILQ_EMPTY(&all->ended)) {
        STAILQ_CONCAT(&ended, &all->ended);
        all->ended_fn(&ended, all->user);
    }
}

void outboxes_turn(struct outboxes *all)
{
    int64_t now_ms = clock_now_ms();
    struct outbox *outbox;

    while ((outbox = TAILQ_FIRST(&all->ready)) != NULL) {
        expire_heads(outbox, now_ms);
        if (STAILQ_EMPTY(&outbox->queue)) {
            outbox_set_state(outbox, OUTBOX_EMPTY);
        } else {
            request_begin(outbox, now_ms);
        }
    }
    outboxes_report(all);
}

void outboxes_add(struct outboxes *all, struct send_list *list)
{
    struct send *send;

    while ((send = STAILQ_FIRST(list)) != NULL) {
        struct outbox_topic *topic = topic_find(all, send->topic);

        STAILQ_REMOVE_HEAD(list, link);
        if (topic->blocked) {
            topic_wait(topic, send);
        } else {
            topic_place(topic, send);
        }
        topic_advance(topic);
    }
    outboxes_turn(all);
}

/* Sends without a place whose time is up end. */
static void topic_expire(struct outbox_topic *topic, int64_t now_ms)
{
    struct send_list list = STAILQ_HEAD_INITIALIZER(list);
    struct send *send;

    if (topic->expire_ms > now_ms) {
        wake_at(topic->all, topic->expire_ms);
        return;
    }
    topic->expire_ms = INT64_MAX;
    STAILQ_CONCAT(&list, &topic->unplaced);
    while ((send = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        if (send->deadline_ms <= now_ms) {
            send_expire(topic->all, send, NULL);
            continue;
        }
        STAILQ_INSERT_TAIL(&topic->unplaced, send, link);
        topic_park(topic, send);
    }
}

/* Its topic may be gone then. */
static void topic_tick(struct outbox_topic *topic, int64_t now_ms)
{
    topic_expire(topic, now_ms);
    if (topic->read_ms > now_ms) {
        wake_at(topic->all, topic->read_ms);
        return;
    }
    topic->read_ms = 0;
    topic_advance(topic);
}

static void on_timer(uv_timer_t *timer)
{
    struct outboxes *all = timer->data;
    struct outbox_topic *topic, *next_topic;
    struct outbox *outbox, *next;
    int64_t now_ms = clock_now_ms();

    all->wake_ms = INT64_MAX;
    for (topic = TAILQ_FIRST(&all->blocked); topic != NULL; topic = next_topic) {
        next_topic = TAILQ_NEXT(topic, link);
        topic_tick(topic, now_ms);
    }
    for (outbox = TAILQ_FIRST(&all->resting); outbox != NULL; outbox = next) {
        next = TAILQ_NEXT(outbox, link);
        expire_heads(outbox, now_ms);
        outbox_settle(outbox);
    }
    outboxes_turn(all);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct outboxes *all = handle->data;
    void (*closed)(void *user) = all->closed;
    void *user = all->closed_user;

    free(all);
    closed(user);
}

static void topic_close(struct outbox_topic *topic)
{
    static const char text[] = "the producer was freed before it was sent";

    for (int32_t i = 0; topic->known && i < topic->topic.slots; i++) {
        if (topic->slots[i] != NULL) {
            list_end(topic->all, &topic->slots[i]->queue, SMQ_CLOSED, text);
        }
    }
    list_end(topic->all, &topic->unplaced, SMQ_CLOSED, text);
    topic_drop(topic);
}

void outboxes_close(struct outboxes *all, void (*closed)(void *user), void *user)
{
    struct outbox_topic *topic, *next;

    requests_abandon(all);
    HASH_ITER(hh, all->topics, topic, next)
    {
        topic_close(topic);
    }
    requests_free_spare(all);
    buf_fini(&all->member);
    outboxes_report(all);
    all->closed = closed;
    all->closed_user = user;
    uv_close((uv_handle_t *) &all->timer, on_timer_closed);
}
