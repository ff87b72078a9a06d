/* producer_state.c - see producer_state.h.
 *
 * Thread: any. */
#include "produce/producer_state.h"

#include <stdlib.h>

#include "base/clock.h"
#include "model/headers.h"

void producer_state_lock(smq_producer *producer)
{
    pthread_mutex_lock(&producer->state.lock);
}

void producer_state_unlock(smq_producer *producer)
{
    pthread_mutex_unlock(&producer->state.lock);
}

void producer_state_progress(smq_producer *producer)
{
    producer->state.awaited = UINT64_MAX;
    pthread_cond_broadcast(&producer->state.progress);
}

bool producer_state_wait(smq_producer *producer, pthread_cond_t *cond, int64_t deadline_ms)
{
    int64_t left_ms = deadline_ms - clock_now_ms();
    struct timespec at;

    if (deadline_ms == INT64_MAX) {
        pthread_cond_wait(cond, &producer->state.lock);
    } else if (left_ms > 0) {
        at = clock_deadline(left_ms);
        pthread_cond_timedwait(cond, &producer->state.lock, &at);
    }
    return left_ms > 0;
}

bool producer_state_pending(const smq_producer *producer, uint64_t number)
{
    const struct send *first = TAILQ_FIRST(&producer->state.all);

    return first != NULL && first->number <= number;
}

bool producer_state_await(smq_producer *producer, uint64_t number, int64_t deadline_ms)
{
    if (number < producer->state.awaited) {
        producer->state.awaited = number;
    }
    return producer_state_wait(producer, &producer->state.progress, deadline_ms);
}

int64_t producer_deadline(int64_t timeout_ms)
{
    int64_t now_ms = clock_now_ms();

    return timeout_ms < 0 || timeout_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + timeout_ms;
}

int64_t producer_send_bytes(const struct send *send)
{
    size_t id_len = send->id[0] == '\0' ? send->message.id.len : 0;

    return (int64_t) (send->message.body.len + send->message.key.len + id_len +
                      headers_size(send->message.headers, send->message.header_count));
}

void producer_state_add(smq_producer *producer, struct send *send)
{
    send->number = ++producer->state.last_number;
    TAILQ_INSERT_TAIL(&producer->state.all, send, pending);
    metric_share_add(&producer->core->metrics.send_pending, 1);
    if (send->group == NULL) {
        producer->state.count++;
        producer->state.bytes += producer_send_bytes(send);
    }
    STAILQ_INSERT_TAIL(&producer->state.inbox, send, link);
}

void producer_state_hand_over(smq_producer *producer)
{
    struct loop *io = producer->core->io;
    bool rings = loop_put(io, &producer->take);

    producer_state_unlock(producer);
    if (rings) {
        loop_ring(io);
    }
}

void producer_state_make_room(smq_producer *producer, const struct send *send)
{
    metric_share_subtract(&producer->core->metrics.send_pending, 1);
    if (send->group == NULL) {
        producer->state.count--;
        producer->state.bytes -= producer_send_bytes(send);
    }
    if (producer->state.room_sleepers > 0) {
        pthread_cond_signal(&producer->state.room);
    }
}

void producer_state_end(smq_producer *producer, struct send *send)
{
    TAILQ_REMOVE(&producer->state.all, send, pending);
    if (producer->state.awaited != UINT64_MAX &&
        !producer_state_pending(producer, producer->state.awaited)) {
        producer_state_progress(producer);
    }
}

void producer_state_remove(smq_producer *producer, struct send *send)
{
    producer_state_make_room(producer, send);
    producer_state_end(producer, send);
}

bool producer_has_room(const smq_producer *producer, int64_t bytes)
{
    return producer->state.count == 0 || (producer->state.count < producer->max_count &&
                                          producer->state.bytes + bytes <= producer->max_bytes);
}

bool producer_state_tells_room(const smq_producer *producer)
{
    return producer->state.refused >= 0 && !producer->state.closing &&
           producer_has_room(producer, producer->state.refused);
}

bool producer_state_tell_room(smq_producer *producer)
{
    const bool tells = producer_state_tells_room(producer);

    producer->state.refused = tells ? -1 : producer->state.refused;
    return tells;
}

bool producer_state_gettable(const smq_producer *producer)
{
    return !STAILQ_EMPTY(&producer->state.kept) || producer_state_tells_room(producer);
}

void producer_state_show(smq_producer *producer)
{
    const bool gettable = producer_state_gettable(producer);

    if (gettable && !producer->state.ready.readable) {
        pthread_cond_broadcast(&producer->state.gettable);
    }
    ready_set(&producer->state.ready, gettable);
}

void producer_state_unref(smq_producer *producer)
{
    struct core *core = producer->core;
    bool last = --producer->state.references == 0;

    producer_state_unlock(producer);
    if (!last) {
        return;
    }
    pthread_cond_destroy(&producer->state.room);
    pthread_cond_destroy(&producer->state.progress);
    pthread_cond_destroy(&producer->state.gettable);
    pthread_mutex_destroy(&producer->state.lock);
    free(producer);
    core_unref(core);
}
