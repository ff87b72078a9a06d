/* budget.c - how much a worker may claim: room, and the rates of the worker and of its topic.
 *
 * Of the topic's rate a member takes the part that its slots are of all slots, so the members need
 * not ask each other.
 *
 * Thread: smq:io. */
#include "base/clock.h"
#include "consume/worker/worker.h"

enum { LONG_MS = 500 };

static double per_s(int64_t rate)
{
    return rate > 0 ? (double) rate : LIMITER_NONE;
}

static bool is_limited(const smq_worker *worker)
{
    return worker->rate_per_s > 0 || worker->topic.rate_per_s > 0;
}

void worker_rates_set(smq_worker *worker)
{
    const struct topic *topic = &worker->topic;
    double share = per_s(topic->rate_per_s);
    int64_t now = clock_now_ms();

    if (topic->rate_per_s > 0) {
        share = share * worker->owned / topic->slots;
    }
    limiter_set(&worker->own, per_s(worker->rate_per_s), now);
    limiter_set(&worker->share, share, now);
}

void worker_owns(smq_worker *worker, int32_t change)
{
    worker->owned += change;
    worker_watch_standby(worker);
    worker_rates_set(worker);
}

/* How many of `wish` the limits of the worker's options leave, whatever the rates say. */
static int64_t places(const smq_worker *worker, int64_t wish)
{
    int64_t room = worker->max_in_flight - worker->unanswered - worker->reserved;
    int64_t left =
        worker->max_messages - worker->answered_count - worker->in_flight_count - worker->reserved;

    if (worker->max_messages > 0 && left < room) {
        room = left;
    }
    if (room <= 0) {
        return 0;
    }
    return room < wish ? room : wish;
}

int32_t worker_room(const smq_worker *worker, int32_t wish)
{
    int64_t room = places(worker, wish);
    int64_t now;

    if (room > 0 && is_limited(worker)) {
        now = clock_now_ms();
        room = limiter_allows(&worker->own, room, now);
        room = limiter_allows(&worker->share, room, now);
    }
    return (int32_t) room;
}

void worker_reserve(smq_worker *worker, int32_t count)
{
    int64_t now;

    worker->reserved += count;
    if (is_limited(worker)) {
        now = clock_now_ms();
        limiter_take(&worker->own, count, now);
        limiter_take(&worker->share, count, now);
    }
}

void worker_unreserve(smq_worker *worker, int32_t count, int32_t used)
{
    worker->reserved -= count;
    worker_unused(worker, used < count ? count - used : 0);
}

void worker_unused(smq_worker *worker, int32_t count)
{
    limiter_return(&worker->own, count);
    limiter_return(&worker->share, count);
}

static void on_tokens(uv_timer_t *timer)
{
    worker_feed(timer->data);
}

/* Until there are tokens of both; INT64_MAX: not before a rate or the number of slots changes. */
static int64_t wait_ms(const smq_worker *worker)
{
    int64_t now = clock_now_ms();
    int64_t own = limiter_wait_ms(&worker->own, now);
    int64_t share = limiter_wait_ms(&worker->share, now);

    if (own < 0 || share < 0) {
        return INT64_MAX;
    }
    return own > share ? own : share;
}

void worker_await_tokens(smq_worker *worker)
{
    int64_t wait;

    if (TAILQ_EMPTY(&worker->starved) || !is_limited(worker) || places(worker, 1) == 0) {
        return;
    }
    wait = wait_ms(worker);
    if (wait < INT64_MAX) {
        uv_update_time(worker->tokens.loop);
        uv_timer_start(&worker->tokens, on_tokens, (uint64_t) wait, 0);
    }
}

bool worker_awaits_tokens_long(const smq_worker *worker)
{
    return is_limited(worker) && wait_ms(worker) > LONG_MS;
}
