/* hash_queues.c - the requests of one hash slot, in their order; and which queue may send.
 *
 * Thread: smq:io. */
#include "redis/hash_queues.h"

#include <assert.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "redis/slotmap.h"

enum { PAUSE_TICK_MS = 5 };

static void hash_queue_leave_list(struct hash_queue *queue)
{
    if (queue->list != NULL) {
        TAILQ_REMOVE(queue->list, queue, link);
    }
    queue->list = NULL;
}

static void hash_queue_check(const struct hash_queue *queue)
{
    const struct hash_queue_list *list = queue->list;
    bool sent = queue->place == HASH_QUEUE_SENT;

    assert(sent == (queue->sent != NULL) && sent == (list == NULL));
    assert(sent || (!TAILQ_EMPTY(&queue->waiting) && *queue->link.tqe_prev == queue));
    assert((queue->place == HASH_QUEUE_PAUSED) == (list == &queue->all->paused));
    assert((queue->place == HASH_QUEUE_UNROUTED) == (list == &queue->all->unrouted));
}

static void hash_queue_move(struct hash_queue *queue, enum hash_queue_place place,
                            struct hash_queue_list *list)
{
    assert(states_hash_queue_may(queue->place, place));
    hash_queue_leave_list(queue);
    queue->place = place;
    queue->list = list;
    if (list != NULL) {
        TAILQ_INSERT_TAIL(list, queue, link);
    }
    CHECK(hash_queue_check(queue));
}

/* --- items ----------------------------------------------------------------------------------- */

static int64_t hash_queues_number(struct hash_queues *queues, int32_t hash_slot, int replicas,
                                  bool apart)
{
    if (hash_slot < 0) {
        return -1 - (int64_t) queues->next_any++;
    }
    return ((int64_t) replicas * 2 + (apart ? 1 : 0)) * SLOTMAP_SLOTS + hash_slot;
}

static struct hash_queue *hash_queues_get(struct hash_queues *queues, int32_t hash_slot,
                                          int replicas, bool apart)
{
    struct hash_queue *queue = NULL;
    int64_t number = hash_queues_number(queues, hash_slot, replicas, apart);

    HASH_FIND(hh, queues->by_number, &number, sizeof(number), queue);
    if (queue != NULL) {
        return queue;
    }
    queue = memory_new(sizeof(*queue));
    queue->number = number;
    queue->hash_slot = hash_slot;
    queue->replicas = replicas;
    queue->all = queues;
    TAILQ_INIT(&queue->waiting);
    HASH_ADD(hh, queues->by_number, number, sizeof(queue->number), queue);
    return queue;
}

void hash_queues_add(struct hash_queues *queues, struct hash_queue_item *item, int32_t hash_slot,
                     int replicas, bool apart)
{
    struct hash_queue *queue = hash_queues_get(queues, hash_slot, replicas, apart);

    item->queue = queue;
    TAILQ_INSERT_TAIL(&queue->waiting, item, link);
    if (queue->place == HASH_QUEUE_READY && queue->list == NULL) { /* it is new */
        hash_queue_make_ready(queue);
    }
}

static void hash_queue_free(struct hash_queue *queue)
{
    hash_queue_leave_list(queue);
    HASH_DEL(queue->all->by_number, queue);
    free(queue);
}

void hash_queue_remove(struct hash_queue_item *item)
{
    struct hash_queue *queue = item->queue;

    if (queue->sent == item) {
        queue->sent = NULL;
    } else {
        TAILQ_REMOVE(&queue->waiting, item, link);
    }
    if (queue->sent != NULL) {
        return;
    }
    if (TAILQ_EMPTY(&queue->waiting)) {
        hash_queue_free(queue);
    } else if (queue->place == HASH_QUEUE_SENT) {
        hash_queue_make_ready(queue);
    }
}

void hash_queue_send_first(struct hash_queue *queue)
{
    queue->sent = TAILQ_FIRST(&queue->waiting);
    TAILQ_REMOVE(&queue->waiting, queue->sent, link);
    hash_queue_move(queue, HASH_QUEUE_SENT, NULL);
}

void hash_queue_put_back(struct hash_queue_item *item)
{
    item->queue->sent = NULL;
    TAILQ_INSERT_HEAD(&item->queue->waiting, item, link);
}

/* --- waiting --------------------------------------------------------------------------------- */

/* Call send() for the queues that are READY now; a queue that becomes READY in the meantime is sent
 * in the loop's next turn. */
static void hash_queues_on_turn(uv_idle_t *turn)
{
    struct hash_queues *queues = OWNER_OF(turn, struct hash_queues, turn);
    struct hash_queue_list ready = TAILQ_HEAD_INITIALIZER(ready);
    struct hash_queue *queue;

    TAILQ_CONCAT(&ready, &queues->ready, link);
    TAILQ_FOREACH(queue, &ready, link)
    {
        queue->list = &ready;
    }
    while ((queue = TAILQ_FIRST(&ready)) != NULL) {
        queues->listener.send(queue);
    }
    if (TAILQ_EMPTY(&queues->ready)) {
        uv_idle_stop(turn);
    }
    queues->listener.turned(queues->listener.user);
}

void hash_queue_make_ready(struct hash_queue *queue)
{
    hash_queue_move(queue, HASH_QUEUE_READY, &queue->all->ready);
    uv_idle_start(&queue->all->turn, hash_queues_on_turn);
}

static void hash_queues_on_pause_tick(uv_timer_t *timer)
{
    struct hash_queues *queues = OWNER_OF(timer, struct hash_queues, pause_timer);
    int64_t now_ms = clock_now_ms();
    struct hash_queue *queue, *next;

    for (queue = TAILQ_FIRST(&queues->paused); queue != NULL; queue = next) {
        next = TAILQ_NEXT(queue, link);
        if (queue->until_ms <= now_ms) {
            hash_queue_make_ready(queue);
        }
    }
    if (TAILQ_EMPTY(&queues->paused)) {
        uv_timer_stop(timer);
    }
}

void hash_queue_pause(struct hash_queue *queue, int64_t ms)
{
    struct hash_queues *queues = queue->all;

    queue->until_ms = clock_now_ms() + ms;
    hash_queue_move(queue, HASH_QUEUE_PAUSED, &queues->paused);
    if (!queues->context->closing && !uv_is_active((uv_handle_t *) &queues->pause_timer)) {
        uv_timer_start(&queues->pause_timer, hash_queues_on_pause_tick, PAUSE_TICK_MS,
                       PAUSE_TICK_MS);
    }
}

void hash_queue_await_route(struct hash_queue *queue)
{
    hash_queue_move(queue, HASH_QUEUE_UNROUTED, &queue->all->unrouted);
}

void hash_queue_stall(struct hash_queue *queue, struct hash_queue_list *stalled)
{
    hash_queue_move(queue, HASH_QUEUE_STALLED, stalled);
}

void hash_queues_make_ready(struct hash_queue_list *list)
{
    struct hash_queue *queue;

    while ((queue = TAILQ_FIRST(list)) != NULL) {
        hash_queue_make_ready(queue);
    }
}

/* --- begin and end --------------------------------------------------------------------------- */

void hash_queues_init(struct hash_queues *queues, struct context *context,
                      const struct hash_queues_listener *listener)
{
    queues->context = context;
    queues->listener = *listener;
    TAILQ_INIT(&queues->ready);
    TAILQ_INIT(&queues->unrouted);
    TAILQ_INIT(&queues->paused);
    context_init_idle(context, &queues->turn);
    context_init_timer(context, &queues->pause_timer);
}

void hash_queues_stop(struct hash_queues *queues)
{
    uv_timer_stop(&queues->pause_timer);
    hash_queues_make_ready(&queues->paused);
    uv_idle_start(&queues->turn, hash_queues_on_turn);
}
