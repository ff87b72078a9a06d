/* outbox_topic.c - assigning sends to slots by the definition of their topic, and letting them wait
 * until the definition is read. */
#include "produce/outbox_topic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"

enum { FRESH_MS = 100 };

static void outbox_topic_advance(struct outbox_topic *topic);

static void outbox_topic_check(const struct outbox_topic *topic)
{
    size_t in_flight = 0;

    assert(topic->blocked || STAILQ_EMPTY(&topic->unplaced));
    for (int32_t i = 0; topic->known && i < topic->topic.slots; i++) {
        const struct outbox *outbox = topic->slots[i];

        if (outbox != NULL) {
            in_flight += outbox->state == OUTBOX_IN_FLIGHT ? 1 : 0;
            assert(!topic->blocked || STAILQ_EMPTY(&outbox->queue));
        }
    }
    assert(topic->in_flight == in_flight);
}

/* --- memory --- */

static struct outbox_topic *outbox_topic_new(struct outbox_topics *topics, const char *name)
{
    struct outbox_topic *topic = memory_new(sizeof(*topic));

    topic->topics = topics;
    (void) snprintf(topic->name, sizeof(topic->name), "%s", name);
    STAILQ_INIT(&topic->unplaced);
    topic->expire_ms = INT64_MAX;
    topic->blocked = true;
    TAILQ_INSERT_TAIL(&topics->blocked, topic, link);
    HASH_ADD_STR(topics->table, name, topic);
    return topic;
}

static struct outbox_topic *outbox_topics_find(struct outbox_topics *topics, const char *name)
{
    struct outbox_topic *topic = topics->last;

    if (topic != NULL && strcmp(topic->name, name) == 0) {
        return topic;
    }
    HASH_FIND_STR(topics->table, name, topic);
    topics->last = topic != NULL ? topic : outbox_topic_new(topics, name);
    return topics->last;
}

static void outbox_topic_free_slots(struct outbox_topic *topic)
{
    for (int32_t i = 0; topic->known && i < topic->topic.slots; i++) {
        if (topic->slots[i] != NULL) {
            outbox_free(topic->slots[i]);
        }
    }
    free(topic->slots);
    topic->slots = NULL;
    topic->known = false;
}

/* Remove the topic from the tables, and free it; if a read is in progress its callback frees the
 * topic. */
static void outbox_topic_free(struct outbox_topic *topic)
{
    struct outbox_topics *topics = topic->topics;

    HASH_DEL(topics->table, topic);
    if (topic->blocked) {
        TAILQ_REMOVE(&topics->blocked, topic, link);
    }
    topics->last = NULL;
    outbox_topic_free_slots(topic);
    topic->topics = NULL;
    if (!topic->reading) {
        free(topic);
    }
}

/* --- blocked --- */

static struct send_sink *outbox_topic_sink(struct outbox_topic *topic)
{
    return &topic->topics->set.sink;
}

static void outbox_topic_wake_at(struct outbox_topic *topic, int64_t ms)
{
    outbox_set_wake_at(&topic->topics->set, ms);
}

/* A send with this deadline enters `unplaced`. */
static void outbox_topic_note_deadline(struct outbox_topic *topic, const struct send *send)
{
    if (send->deadline_ms < topic->expire_ms) {
        topic->expire_ms = send->deadline_ms;
        outbox_topic_wake_at(topic, send->deadline_ms);
    }
}

static void outbox_topic_wait(struct outbox_topic *topic, struct send *send)
{
    STAILQ_INSERT_TAIL(&topic->unplaced, send, link);
    outbox_topic_note_deadline(topic, send);
}

/* Read the definition of the topic again: a slot has refused the one that is known, or a send does
 * not fit it. */
static void outbox_topic_block(struct outbox_topic *topic)
{
    if (topic->blocked) {
        return;
    }
    topic->blocked = true;
    TAILQ_INSERT_TAIL(&topic->topics->blocked, topic, link);
    for (int32_t i = 0; i < topic->topic.slots; i++) {
        struct outbox *outbox = topic->slots[i];
        struct send *send;

        if (outbox == NULL || STAILQ_EMPTY(&outbox->queue)) {
            continue;
        }
        STAILQ_FOREACH(send, &outbox->queue, link)
        {
            outbox_topic_note_deadline(topic, send);
        }
        outbox_empty_into(outbox, &topic->unplaced);
    }
}

/* End the sends without a place whose deadline has passed. */
static void outbox_topic_expire(struct outbox_topic *topic, int64_t now_ms)
{
    struct send_list list = STAILQ_HEAD_INITIALIZER(list);
    struct send *send;

    if (topic->expire_ms > now_ms) {
        outbox_topic_wake_at(topic, topic->expire_ms);
        return;
    }
    topic->expire_ms = INT64_MAX;
    STAILQ_CONCAT(&list, &topic->unplaced);
    while ((send = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        if (send->deadline_ms <= now_ms) {
            send_end_expired(outbox_topic_sink(topic), send, NULL);
            continue;
        }
        outbox_topic_wait(topic, send);
    }
}

/* --- placing --- */

static struct outbox *outbox_topic_outbox(struct outbox_topic *topic, int32_t slot)
{
    if (topic->slots[slot] == NULL) {
        struct slot_keys keys;

        slot_keys_fill(&keys, topic->name, slot);
        topic->slots[slot] = outbox_new(&topic->topics->set, topic, slot, keys.hash_slot);
    }
    return topic->slots[slot];
}

/* Choose the slot of a message without a key.  A slot whose request is in flight, or has failed,
 * gets none. */
static int32_t outbox_topic_spread(struct outbox_topic *topic)
{
    int32_t slots = topic->topic.slots;
    const struct outbox *last = topic->slots[spread_last(&topic->spread, slots)];
    bool closed =
        last != NULL && (last->state == OUTBOX_IN_FLIGHT || last->state == OUTBOX_BACKING_OFF);

    return spread_next(&topic->spread, slots, clock_now_us(), closed);
}

/* Give the send an id if it needs one.  It keeps that as long as its topic is keyed. */
static void outbox_topic_identify(struct outbox_topic *topic, struct send *send)
{
    if (send_lacks_id(&topic->topic, &send->message)) {
        message_id_make(send->id, &topic->topics->ids, clock_wall_ms(), random_u64());
        if (send->message.key.data == NULL) {
            message_id_move(send->id, outbox_topic_spread(topic), topic->topic.slots);
        }
        send->message.id = (smq_bytes){send->id, MESSAGE_ID_LEN};
        send->message.made = true;
    } else if (send->id[0] != '\0' && topic->topic.layout != SMQ_LAYOUT_KEYED) {
        send->id[0] = '\0';
        send->message.id = (smq_bytes){NULL, 0};
        send->message.made = false;
    }
}

/* The send does not fit the definition.  Slots report a newer definition, but only in reply to a
 * send; so if the known one is old it is read again first. */
static void outbox_topic_refuse(struct outbox_topic *topic, struct send *send, smq_status status,
                                const char *text)
{
    if (clock_now_ms() - topic->checked_ms < FRESH_MS) {
        send_end(outbox_topic_sink(topic), send, status, text);
        return;
    }
    outbox_topic_block(topic);
    outbox_topic_wait(topic, send);
}

/* May block the topic. */
static void outbox_topic_place(struct outbox_topic *topic, struct send *send)
{
    const struct send_place was = send->place;
    smq_error err;
    smq_status status;

    outbox_topic_identify(topic, send);
    status = send_place(&send->place, &topic->topic, &send->message, &err);
    if (status != SMQ_OK) {
        outbox_topic_refuse(topic, send, status, err.text);
        return;
    }
    if (send->unknown && topic->topic.format >= TOPIC_FORMAT_WHOLE) {
        send->place.whole = was.whole; /* what may be stored is sent again as it was */
        send->place.ttl_ms = was.whole ? was.ttl_ms : send->place.ttl_ms;
    }
    outbox_add(outbox_topic_outbox(topic, send->place.slot), send);
}

static void outbox_topic_unblock(struct outbox_topic *topic)
{
    struct send_list list = STAILQ_HEAD_INITIALIZER(list);
    struct send *send;

    topic->blocked = false;
    TAILQ_REMOVE(&topic->topics->blocked, topic, link);
    topic->expire_ms = INT64_MAX;
    topic->checked_ms = INT64_MAX; /* counts as just read for all these sends */
    STAILQ_CONCAT(&list, &topic->unplaced);
    while ((send = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        outbox_topic_place(topic, send);
    }
    topic->checked_ms = clock_now_ms();
}

void outbox_topics_add(struct outbox_topics *topics, struct send *send)
{
    struct outbox_topic *topic = outbox_topics_find(topics, send->topic);

    if (topic->blocked) {
        outbox_topic_wait(topic, send);
    } else {
        outbox_topic_place(topic, send);
    }
    outbox_topic_advance(topic);
}

/* --- definitions --- */

/* The topic was created anew.  Send ids of sends that the one before may have stored mean nothing
 * in its slots. */
static void outbox_topic_forget_ids(struct outbox_topic *topic)
{
    struct send *send;

    STAILQ_FOREACH(send, &topic->unplaced, link)
    {
        send->sequence = 0;
    }
}

/* What may be full has a count from now on, so that its first increase can be seen. */
static void outbox_topic_begin_counts(struct outbox_topic *topic)
{
    char name[TOPIC_NAME_MAX + 1];

    for (int i = 0; topic->topic.max_waiting > 0 && i < topic_parts(&topic->topic); i++) {
        topic_part_name(name, &topic->topic, i);
        topic_numbers_add(&outbox_topic_sink(topic)->core->topic_numbers, name, 0);
    }
}

/* Begin to use the definition that was read. */
static void outbox_topic_adopt(struct outbox_topic *topic)
{
    if (topic->known && strcmp(topic->topic.nonce, topic->next.nonce) != 0) {
        outbox_topic_forget_ids(topic);
    }
    outbox_topic_free_slots(topic);
    topic->topic = topic->next;
    topic_stamp(topic->stamp, &topic->topic);
    topic->slots = memory_new((size_t) topic->topic.slots * sizeof(*topic->slots));
    topic->spread = (struct spread){.turn = (uint32_t) random_u64()};
    topic->known = true;
    topic->newer = false;
    outbox_topic_begin_counts(topic);
    outbox_topic_unblock(topic);
}

/* The slots that refused the stored definition are damaged, if they still refuse it when their
 * sends end. */
static void outbox_topic_mark_damaged(struct outbox_topic *topic)
{
    struct send *send;

    STAILQ_FOREACH(send, &topic->unplaced, link)
    {
        send->status = send->status == SMQ_NO_TOPIC ? SMQ_DAMAGED : send->status;
    }
}

/* If the definition has not changed a slot refused it for another reason: that outbox backs off,
 * and the others continue. */
static void outbox_topic_defined(struct outbox_topic *topic, const struct topic *definition)
{
    char stamp[TOPIC_STAMP_MAX];

    topic->failures = 0;
    topic_stamp(stamp, definition);
    if (topic->known && strcmp(stamp, topic->stamp) == 0) {
        outbox_topic_mark_damaged(topic);
        outbox_topic_unblock(topic);
        return;
    }
    topic->next = *definition;
    topic->newer = true;
}

static void outbox_topic_undefined(struct outbox_topic *topic, smq_status status, const char *text)
{
    smq_class class = smq_status_class(status);
    struct send *send;

    if (class != SMQ_CLASS_RETRY && class != SMQ_CLASS_UNKNOWN) {
        topic->expire_ms = INT64_MAX;
        send_end_list(outbox_topic_sink(topic), &topic->unplaced, status, text);
        return;
    }
    STAILQ_FOREACH(send, &topic->unplaced, link)
    {
        send->status = SMQ_UNAVAILABLE;
    }
    topic->read_ms = clock_now_ms() + outbox_backoff_ms(topic->failures);
    topic->failures++;
    outbox_topic_wake_at(topic, topic->read_ms);
}

static void outbox_topic_on_definition(const struct topic *definition, smq_status status,
                                       const char *text, void *user)
{
    struct outbox_topic *topic = user;
    struct outbox_topics *topics = topic->topics;

    topic->reading = false;
    if (topics == NULL) {
        free(topic);
        return;
    }
    if (status == SMQ_OK) {
        outbox_topic_defined(topic, definition);
    } else {
        outbox_topic_undefined(topic, status, text);
    }
    CHECK(outbox_topic_check(topic));
    outbox_topic_advance(topic);
    topics->turn(topics->user);
}

/* Do the next step of a blocked topic.  May free the topic. */
static void outbox_topic_advance(struct outbox_topic *topic)
{
    if (!topic->blocked || topic->reading || topic->read_ms != 0) {
        return;
    }
    if (topic->newer) {
        if (topic->in_flight == 0) {
            outbox_topic_adopt(topic);
        }
    } else if (!STAILQ_EMPTY(&topic->unplaced)) {
        topic->reading = true;
        definitions_get(topic->topics->set.sink.core->definitions, topic->name,
                        topic->known ? topic->stamp : NULL, outbox_topic_on_definition, topic);
    } else if (topic->in_flight == 0) {
        outbox_topic_free(topic);
    }
}

/* --- requests --- */

void outbox_topic_begin(struct outbox *outbox, int64_t now_ms)
{
    struct outbox_topic *topic = outbox->topic;

    outbox_expire(outbox, now_ms);
    if (STAILQ_EMPTY(&outbox->queue)) {
        outbox_settle(outbox);
        return;
    }
    if (!outbox_may_leave(outbox)) {
        return;
    }
    topic->in_flight++;
    disuse_sent(outbox_topic_sink(topic)->core->disuse, &topic->topic);
    outbox_begin(outbox, &topic->topic);
}

/* Put `list` in front of the sends that wait in the outbox, or in its blocked topic. */
static void outbox_topic_prepend(struct outbox *outbox, struct send_list *list)
{
    struct outbox_topic *topic = outbox->topic;
    struct send *send;

    if (!topic->blocked) {
        send_list_prepend(&outbox->queue, list);
        return;
    }
    STAILQ_FOREACH(send, list, link)
    {
        outbox_topic_note_deadline(topic, send);
    }
    send_list_prepend(&topic->unplaced, list);
}

/* If the queue is empty no send is left that the failures concern, so the next send does not wait
 * for the back-off.  While the topic is blocked its sends are in the topic's list, not in the
 * queue. */
static void outbox_topic_settle(struct outbox *outbox)
{
    if (STAILQ_EMPTY(&outbox->queue) && !outbox->topic->blocked) {
        outbox_reset_backoff(outbox);
    }
    outbox_settle(outbox);
}

void outbox_topic_request_ended(struct send_request *request, enum send_request_end how,
                                const char *why)
{
    struct outbox *outbox = request->user;
    struct outbox_topic *topic = outbox->topic;

    outbox_answered(outbox, how == SEND_REQUEST_DONE);
    if (how == SEND_REQUEST_DONE) {
        outbox_reset_backoff(outbox);
    }
    if (how == SEND_REQUEST_OUTDATED) {
        outbox_topic_block(topic);
    }
    if (how == SEND_REQUEST_OUTDATED || how == SEND_REQUEST_REPEAT) {
        outbox_failed(outbox, why);
        outbox_topic_prepend(outbox, &request->batch);
    }
    outbox_topic_settle(outbox);
    topic->in_flight--;
    CHECK(outbox_topic_check(topic));
    outbox_topic_advance(topic);
}

/* --- time, end --- */

/* May free the topic. */
static void outbox_topic_wake(struct outbox_topic *topic, int64_t now_ms)
{
    outbox_topic_expire(topic, now_ms);
    if (topic->read_ms > now_ms) {
        outbox_topic_wake_at(topic, topic->read_ms);
        return;
    }
    topic->read_ms = 0;
    outbox_topic_advance(topic);
}

/* End the sends whose deadline has passed while they waited for a busy server. */
static void outbox_topics_expire_gated(struct outbox_set *set, int64_t now_ms)
{
    for (size_t i = 0; set->gated_count > 0 && i < set->gates.count; i++) {
        struct gate *gate = set->gates.all[i];
        struct gate_waiter *waiter = gate != NULL ? TAILQ_FIRST(&gate->waiting) : NULL;

        while (waiter != NULL) {
            struct outbox *outbox = OWNER_OF(waiter, struct outbox, waiter);

            waiter = TAILQ_NEXT(waiter, link);
            outbox_expire(outbox, now_ms);
            if (STAILQ_EMPTY(&outbox->queue)) {
                outbox_topic_settle(outbox);
            } else {
                outbox_set_wake_at(set, STAILQ_FIRST(&outbox->queue)->deadline_ms);
            }
        }
    }
}

void outbox_topics_wake(struct outbox_topics *topics, int64_t now_ms)
{
    struct outbox_topic *topic, *next_topic;
    struct outbox *outbox, *next;

    for (topic = TAILQ_FIRST(&topics->blocked); topic != NULL; topic = next_topic) {
        next_topic = TAILQ_NEXT(topic, link);
        outbox_topic_wake(topic, now_ms);
    }
    for (outbox = TAILQ_FIRST(&topics->set.backing_off); outbox != NULL; outbox = next) {
        next = TAILQ_NEXT(outbox, link);
        outbox_expire(outbox, now_ms);
        outbox_topic_settle(outbox);
    }
    outbox_topics_expire_gated(&topics->set, now_ms);
}

static void outbox_topic_close(struct outbox_topic *topic)
{
    static const char text[] = "the producer was freed before it was sent";
    struct send_sink *sink = outbox_topic_sink(topic);

    for (int32_t i = 0; topic->known && i < topic->topic.slots; i++) {
        if (topic->slots[i] != NULL) {
            send_end_list(sink, &topic->slots[i]->queue, SMQ_CLOSED, text);
        }
    }
    send_end_list(sink, &topic->unplaced, SMQ_CLOSED, text);
    outbox_topic_free(topic);
}

void outbox_topics_close(struct outbox_topics *topics)
{
    struct outbox_topic *topic, *next;

    HASH_ITER(hh, topics->table, topic, next)
    {
        outbox_topic_close(topic);
    }
}
