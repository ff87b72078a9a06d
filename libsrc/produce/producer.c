/* producer.c - accepts sends, keeps them until they have their receipts, and gives the receipts.
 *
 * A blocking call lends its messages to smq:io, which wakes it directly, so it works on smq:call
 * too.  The message of an asynchronous call is copied and counted against the bounds, and its
 * receipt is given on smq:call, or kept until it is polled.
 *
 * Thread: any, as each function says. */
#include "produce/producer_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "base/thread.h"

/* --- receipts, on smq:call --- */

static void producer_fill_receipt(smq_receipt *out, const struct send *send)
{
    *out = (smq_receipt){.status = send->status,
                         .slot = send->place.slot,
                         .merged = send->result == SEND_MERGED,
                         .text = send->text,
                         .user = send->user};
    memcpy(out->id, send->id, sizeof(send->id));
}

static void producer_log_failure(struct core *core, const struct send *send)
{
    if (send->status != SMQ_OK) {
        events_log(core->events, SMQ_LEVEL_WARN, "a message to topic %s may not be stored: %s",
                   send->topic, send->text);
    }
}

/* Is the receipt of the send, which has no callback, kept for a poll?  The lock is held. */
static bool producer_keeps(const smq_producer *producer, const struct send *send)
{
    return producer->polled && send->group == NULL && !producer->state.closing;
}

/* The lock is held. */
static void producer_keep(smq_producer *producer, struct send *send)
{
    producer_state_end(producer, send);
    STAILQ_INSERT_TAIL(&producer->state.kept, send, link);
}

/* Give the receipt to the hook and to the callback. */
static void producer_give(const struct send *send)
{
    smq_receipt receipt;

    producer_fill_receipt(&receipt, send);
    send_hooks_end(&send->hooks, send->topic, &send->message, &receipt);
    if (send->sent != NULL) {
        send->sent(&receipt, send->user);
    }
}

/* Give receipts until none is left.  The lock is held on entry and return, and released while one
 * is given. */
static void producer_give_all(smq_producer *producer)
{
    struct send *send, *given = NULL;

    while ((send = STAILQ_FIRST(&producer->state.ended)) != NULL) {
        STAILQ_REMOVE_HEAD(&producer->state.ended, link);
        producer_state_unlock(producer);
        send_free(given);
        given = NULL;
        producer_give(send);
        producer_state_lock(producer);
        if (send->sent == NULL && producer_keeps(producer, send)) {
            producer_keep(producer, send);
            continue;
        }
        if (send->sent == NULL) {
            producer_log_failure(producer->core, send);
        }
        producer_state_remove(producer, send);
        given = send;
    }
    send_free(given);
}

/* Say that there is room, if that is due.  The lock is held on entry and return. */
static bool producer_give_room(smq_producer *producer)
{
    if (producer->room == NULL || !producer_state_tell_room(producer)) {
        return false;
    }
    producer_state_unlock(producer);
    producer->room(producer->room_user);
    producer_state_lock(producer);
    return true;
}

static void producer_on_give(struct loop_task *task)
{
    smq_producer *producer = OWNER_OF(task, smq_producer, give);

    producer_state_lock(producer);
    do {
        producer_give_all(producer);
    } while (producer_give_room(producer));
    producer_state_show(producer);
    producer->state.giving = false;
    producer_state_progress(producer);
    producer_state_unref(producer);
}

/* --- the ends of sends, on smq:io --- */

/* Does smq:call give the receipt to somebody? */
static bool producer_is_given(const struct send *send)
{
    return send->group == NULL && (send->sent != NULL || send->hooks.hooks != NULL);
}

/* The lock is held. */
static bool producer_has_to_give(const smq_producer *producer)
{
    return !STAILQ_EMPTY(&producer->state.ended) ||
           (producer->room != NULL && producer_state_tells_room(producer));
}

/* The lock is held.  Returns true if the caller has to post `give` to smq:call after unlocking. */
static bool producer_sort_ended(smq_producer *producer, struct send_list *ended,
                                struct send_list *here)
{
    struct send *send;

    while ((send = STAILQ_FIRST(ended)) != NULL) {
        STAILQ_REMOVE_HEAD(ended, link);
        if (producer_is_given(send)) {
            STAILQ_INSERT_TAIL(&producer->state.ended, send, link);
        } else if (producer_keeps(producer, send)) {
            producer_keep(producer, send);
        } else {
            producer_state_remove(producer, send);
            STAILQ_INSERT_TAIL(here, send, link);
        }
    }
    producer_state_show(producer);
    if (producer_has_to_give(producer) && !producer->state.giving) {
        producer->state.giving = true;
        producer->state.references++;
        return loop_put(producer->core->call, &producer->give);
    }
    return false;
}

static void producer_on_ended(struct send_list *ended, void *user)
{
    smq_producer *producer = user;
    struct core *core = producer->core;
    struct send_list here = STAILQ_HEAD_INITIALIZER(here);
    struct send *send;
    bool rings;

    producer_state_lock(producer);
    rings = producer_sort_ended(producer, ended, &here);
    producer_state_unlock(producer);
    if (rings) {
        loop_ring(core->call);
    }
    while ((send = STAILQ_FIRST(&here)) != NULL) {
        STAILQ_REMOVE_HEAD(&here, link);
        if (send->group != NULL) {
            waiter_done(&send->group->waiter); /* the send belongs to the waiting caller again */
            continue;
        }
        producer_log_failure(core, send);
        send_free(send);
    }
}

static void producer_take_inbox(smq_producer *producer, struct send_list *out)
{
    if (producer->outboxes == NULL) {
        producer->outboxes =
            outboxes_new(producer->core, &producer->options, producer_on_ended, producer);
    }
    producer_state_lock(producer);
    STAILQ_CONCAT(out, &producer->state.inbox);
    producer_state_unlock(producer);
}

static void producer_on_take(struct loop_task *task)
{
    smq_producer *producer = OWNER_OF(task, smq_producer, take);
    struct send_list list = STAILQ_HEAD_INITIALIZER(list);

    producer_take_inbox(producer, &list);
    outboxes_add(producer->outboxes, &list);
}

static void producer_on_flush(struct loop_task *task)
{
    smq_producer *producer = OWNER_OF(task, smq_producer, flush);
    uint64_t last;

    producer_state_lock(producer);
    last = producer->state.last_number;
    producer_state_unlock(producer);
    if (producer->outboxes != NULL) {
        outboxes_flush(producer->outboxes, last);
    }
}

static void producer_on_closed(void *user)
{
    smq_producer *producer = user;

    producer_state_lock(producer);
    producer->state.closed = true;
    producer_state_progress(producer);
    producer_state_unref(producer);
}

/* Every producer_on_take() has run, because none is posted once `closing` is set. */
static void producer_on_close(struct loop_task *task)
{
    smq_producer *producer = OWNER_OF(task, smq_producer, close);
    struct send_list none = STAILQ_HEAD_INITIALIZER(none);

    producer_take_inbox(producer, &none);
    outboxes_close(producer->outboxes, producer_on_closed, producer);
}

/* --- the life of a producer --- */

static void producer_init_state(smq_producer *producer)
{
    producer->state.references = 2; /* those of the handle and of smq:io */
    producer->state.awaited = UINT64_MAX;
    producer->state.refused = -1;
    STAILQ_INIT(&producer->state.inbox);
    STAILQ_INIT(&producer->state.ended);
    STAILQ_INIT(&producer->state.kept);
    STAILQ_INIT(&producer->state.taken);
    TAILQ_INIT(&producer->state.all);
    pthread_mutex_init(&producer->state.lock, NULL);
    thread_cond_init(&producer->state.room);
    thread_cond_init(&producer->state.progress);
    thread_cond_init(&producer->state.gettable);
}

smq_status producer_new(smq_producer **out, struct core *core, const smq_producer_options *options,
                        smq_error *err)
{
    smq_producer *producer;
    struct ready ready = READY_NONE;
    smq_status status = options->poll_receipts ? ready_open(&ready, err) : SMQ_OK;

    if (status != SMQ_OK) {
        return status;
    }
    producer = memory_new(sizeof(*producer));
    producer->core = core_ref(core);
    producer->polled = options->poll_receipts;
    producer->room = options->room;
    producer->room_user = options->room_user;
    producer_init_state(producer);
    producer->state.ready = ready;
    producer->send_timeout_ms = options->send_timeout_ms;
    producer->full_timeout_ms = options->full_timeout_ms;
    producer->max_count = options->max_pending;
    producer->max_bytes = options->max_pending_bytes;
    producer->options = (struct outboxes_options){.no_repeat = options->no_repeat,
                                                  .linger_ms = options->linger_ms,
                                                  .replicas = options->replicas};
    producer->take.run = producer_on_take;
    producer->flush.run = producer_on_flush;
    producer->close.run = producer_on_close;
    producer->give.run = producer_on_give;
    *out = producer;
    return SMQ_OK;
}

static void producer_free_sends(struct send_list *list)
{
    struct send *send;

    while ((send = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, link);
        send_free(send);
    }
}

/* Nobody polls any more.  The lock is held on entry and return. */
static void producer_drop_kept(smq_producer *producer)
{
    struct send_list dropped = STAILQ_HEAD_INITIALIZER(dropped);
    struct send *send;

    while ((send = STAILQ_FIRST(&producer->state.kept)) != NULL) {
        STAILQ_REMOVE_HEAD(&producer->state.kept, link);
        producer_state_make_room(producer, send);
        producer_log_failure(producer->core, send);
        STAILQ_INSERT_TAIL(&dropped, send, link);
    }
    STAILQ_CONCAT(&dropped, &producer->state.taken);
    ready_close(&producer->state.ready);
    pthread_cond_broadcast(&producer->state.gettable);
    producer_state_unlock(producer);
    producer_free_sends(&dropped);
    producer_state_lock(producer);
}

void producer_free(smq_producer *producer)
{
    bool on_call = loop_inside(producer->core->call);

    producer_state_lock(producer);
    producer->state.closing = true;
    producer_drop_kept(producer);
    loop_post(producer->core->io, &producer->close);
    pthread_cond_broadcast(&producer->state.room);
    while (!producer->state.closed ||
           (!on_call && (producer->state.giving || producer_state_pending(producer, UINT64_MAX)))) {
        (void) producer_state_await(producer, producer->state.last_number, INT64_MAX);
    }
    if (on_call) {
        producer_give_all(producer);
    }
    producer_state_unref(producer);
}

struct core *producer_core(const smq_producer *producer)
{
    return producer->core;
}

/* --- sending --- */

static smq_status producer_closed_error(smq_error *err)
{
    return status_set(err, SMQ_CLOSED, "the producer is being freed");
}

static smq_status producer_check_send(const char *topic, const struct message *message,
                                      smq_error *err)
{
    smq_status status = topic_check_new(topic, "send to", err);

    return status == SMQ_OK ? send_check(message, err) : status;
}

/* Pass `sends` to smq:io, and wait until all have ended.  Sends that have a status already were
 * refused; `refused` is their number. */
static smq_status producer_send_and_wait(smq_producer *producer, struct send *sends, size_t count,
                                         size_t refused, struct send_group *group)
{
    waiter_init(&group->waiter, count - refused);
    producer_state_lock(producer);
    for (size_t i = 0; i < count && !producer->state.closing; i++) {
        if (sends[i].status == SMQ_TIMED_OUT) {
            producer_state_add(producer, &sends[i]);
        }
    }
    if (producer->state.closing) {
        producer_state_unlock(producer);
        waiter_fini(&group->waiter);
        for (size_t i = 0; i < count; i++) {
            sends[i].status = SMQ_CLOSED;
        }
        return producer_closed_error(&group->err);
    }
    producer_state_hand_over(producer);
    (void) waiter_wait(&group->waiter, SMQ_FOREVER);
    waiter_fini(&group->waiter);
    return group->first_failed == SIZE_MAX ? SMQ_OK : group->err.status;
}

static void producer_group_refuse(struct send_group *group, struct send *send, const smq_error *err)
{
    send->status = err->status;
    if (send->index < group->first_failed) {
        group->first_failed = send->index;
        group->err = *err;
    }
}

/* Initialize a send of a blocking call; false: it is refused, and the group has noted that. */
static bool producer_group_add(struct send_group *group, struct send *send, size_t index,
                               const char *topic, const struct message *message,
                               int64_t deadline_ms, const smq_hooks *hooks)
{
    smq_error err;
    smq_status status = producer_check_send(topic, message, &err);

    send_init(send, topic, message, deadline_ms);
    send->group = group;
    send->index = index;
    if (status != SMQ_OK) {
        producer_group_refuse(group, send, &err);
        return false;
    }
    send_hooks_begin(&send->hooks, hooks, topic, &send->message);
    return true;
}

/* The send of a blocking call has ended. */
static void producer_group_report(smq_receipt *out, struct send *send)
{
    smq_receipt receipt;

    producer_fill_receipt(&receipt, send);
    send_hooks_end(&send->hooks, send->topic, &send->message, &receipt);
    send_hooks_fini(&send->hooks);
    if (out != NULL) {
        *out = receipt;
    }
}

smq_status producer_send(smq_receipt *out, smq_producer *producer, const char *topic,
                         const struct message *message, smq_error *err)
{
    return producer_send_batch(out, producer, topic, message, 1, err);
}

smq_status producer_send_batch(smq_receipt *receipts, smq_producer *producer, const char *topic,
                               const struct message *messages, size_t count, smq_error *err)
{
    struct send one, *sends = &one;
    struct send_group group = {.first_failed = SIZE_MAX};
    int64_t deadline_ms = producer_deadline(producer->send_timeout_ms);
    size_t refused = 0;
    smq_status status;

    if (count > 1) {
        sends = calloc(count, sizeof(*sends));
    }
    if (sends == NULL) {
        for (size_t i = 0; receipts != NULL && i < count; i++) {
            receipts[i] = (smq_receipt){.status = SMQ_NO_MEMORY, .slot = -1};
        }
        return status_set(err, SMQ_NO_MEMORY, "no memory for %zu messages", count);
    }
    for (size_t i = 0; i < count; i++) {
        refused += producer_group_add(&group, &sends[i], i, topic, &messages[i], deadline_ms,
                                      &producer->core->hooks)
                       ? 0
                       : 1;
    }
    status = producer_send_and_wait(producer, sends, count, refused, &group);
    for (size_t i = 0; i < count; i++) {
        producer_group_report(receipts != NULL ? &receipts[i] : NULL, &sends[i]);
    }
    if (sends != &one) {
        free(sends);
    }
    return status == SMQ_OK ? SMQ_OK : status_copy(err, &group.err);
}

/* A send of `bytes` was refused because there was no room for it; when there is room for these
 * bytes the application is told.  The lock is held. */
static void producer_note_refused(smq_producer *producer, int64_t bytes)
{
    if (producer->state.refused < 0 || bytes < producer->state.refused) {
        producer->state.refused = bytes;
    }
}

/* The lock is held.  Blocks: full_timeout_ms. */
static smq_status producer_wait_for_room(smq_producer *producer, int64_t bytes, smq_error *err)
{
    int64_t deadline_ms =
        loop_inside(producer->core->call) ? 0 : producer_deadline(producer->full_timeout_ms);
    bool in_time = true;

    while (in_time && !producer->state.closing && !producer_has_room(producer, bytes)) {
        producer->state.room_sleepers++;
        in_time = producer_state_wait(producer, &producer->state.room, deadline_ms);
        producer->state.room_sleepers--;
    }
    if (producer->state.closing) {
        return producer_closed_error(err);
    }
    if (!producer_has_room(producer, bytes)) {
        producer_note_refused(producer, bytes);
        return status_set(err, SMQ_FULL,
                          "%" PRId64 " sends with %" PRId64
                          " bytes are pending; wait, or raise max_pending, max_pending_bytes or "
                          "full_timeout_ms",
                          producer->state.count, producer->state.bytes);
    }
    return SMQ_OK;
}

/* Give a send without a group, which is freed if it is refused, to smq:io. */
static smq_status producer_accept(smq_producer *producer, struct send *send, smq_error *err)
{
    smq_status status;

    producer_state_lock(producer);
    status = producer_wait_for_room(producer, producer_send_bytes(send), err);
    if (status != SMQ_OK) {
        producer_state_unlock(producer);
        send_free(send);
        return status;
    }
    producer_state_add(producer, send);
    producer_state_hand_over(producer);
    return SMQ_OK;
}

/* `hooks` have begun the send. */
static smq_status producer_send_copy(smq_producer *producer, const char *topic,
                                     const struct message *message, smq_sent_fn *sent, void *user,
                                     const struct send_hooks *hooks, smq_error *err)
{
    struct send *send = send_copy(topic, message, producer_deadline(producer->send_timeout_ms));

    if (send == NULL) {
        return status_set(err, SMQ_NO_MEMORY, "no memory for a message of %zu bytes",
                          message->body.len);
    }
    send->sent = sent;
    send->user = user;
    send->hooks = (struct send_hooks){.hooks = hooks->hooks, .span = hooks->span};
    return producer_accept(producer, send, err);
}

smq_status producer_send_async(smq_producer *producer, const char *topic,
                               const struct message *message, smq_sent_fn *sent, void *user,
                               smq_error *err)
{
    struct message shown = *message;
    struct send_hooks hooks = {0};
    smq_status status = producer_check_send(topic, message, err);

    if (status != SMQ_OK) {
        return status;
    }
    send_hooks_begin(&hooks, &producer->core->hooks, topic, &shown);
    status = producer_send_copy(producer, topic, &shown, sent, user, &hooks, err);
    if (status != SMQ_OK) {
        send_hooks_end(&hooks, topic, &shown,
                       &(smq_receipt){.status = status, .slot = -1, .user = user});
    }
    send_hooks_fini(&hooks);
    return status;
}

/* --- polls --- */

/* The lock is held.  Put sends that the caller frees after unlocking into `over`. */
static size_t producer_poll_take(smq_producer *producer, smq_receipt *receipts, size_t capacity,
                                 struct send_list *over)
{
    struct send *send;
    size_t count = 0;

    STAILQ_CONCAT(over, &producer->state.taken);
    while (count < capacity && (send = STAILQ_FIRST(&producer->state.kept)) != NULL) {
        STAILQ_REMOVE_HEAD(&producer->state.kept, link);
        producer_fill_receipt(&receipts[count++], send);
        producer_state_make_room(producer, send);
        if (send->text != NULL) {
            STAILQ_INSERT_TAIL(&producer->state.taken, send, link);
        } else {
            STAILQ_INSERT_TAIL(over, send, link);
        }
    }
    return count;
}

smq_status producer_poll(smq_receipt *receipts, size_t *count, bool *room, smq_producer *producer,
                         size_t capacity, int64_t timeout_ms, smq_error *err)
{
    int64_t deadline_ms = producer_deadline(timeout_ms);
    struct send_list over = STAILQ_HEAD_INITIALIZER(over);
    bool in_time = true, told;

    producer_state_lock(producer);
    while (in_time && !producer->state.closing && !producer_state_gettable(producer)) {
        in_time = producer_state_wait(producer, &producer->state.gettable, deadline_ms);
    }
    if (producer->state.closing) {
        producer_state_unlock(producer);
        return producer_closed_error(err);
    }
    *count = producer_poll_take(producer, receipts, capacity, &over);
    told = producer_state_tell_room(producer);
    producer_state_show(producer);
    producer_state_unlock(producer);
    producer_free_sends(&over);
    if (room != NULL) {
        *room = told;
    }
    return SMQ_OK;
}

int producer_fd(const smq_producer *producer)
{
    return producer->polled ? producer->state.ready.fd : -1;
}

smq_status producer_flush(smq_producer *producer, int64_t timeout_ms, smq_error *err)
{
    int64_t deadline_ms = producer_deadline(timeout_ms);
    uint64_t last;
    bool pending, in_time = true;

    if (loop_inside(producer->core->call)) {
        return status_set(err, SMQ_WRONG_THREAD,
                          "smq_producer_flush() in a callback would wait for that callback");
    }
    producer_state_lock(producer);
    last = producer->state.last_number;
    if (!producer->state.closing && producer_state_pending(producer, last)) {
        loop_post(producer->core->io, &producer->flush);
    }
    while ((pending = producer_state_pending(producer, last)) && in_time) {
        in_time = producer_state_await(producer, last, deadline_ms);
    }
    producer_state_unlock(producer);
    if (pending) {
        return status_set(err, SMQ_TIMED_OUT, "sends are still pending after %" PRId64 " ms",
                          timeout_ms);
    }
    return SMQ_OK;
}
