/* deadlines.c - the time-outs of requests, in a timer wheel.
 *
 * Thread: smq:io. */
#include "redis/deadlines.h"

#include "base/owner_of.h"

/* Move the deadlines that have passed to a list of their own, because passed() may remove
 * others. */
static void deadlines_collect(struct deadline_list *over, struct deadline_list *from,
                              int64_t now_ms)
{
    struct deadline *deadline, *next;

    for (deadline = TAILQ_FIRST(from); deadline != NULL; deadline = next) {
        next = TAILQ_NEXT(deadline, link);
        if (deadline->at_ms <= now_ms) {
            TAILQ_REMOVE(from, deadline, link);
            TAILQ_INSERT_TAIL(over, deadline, link);
            deadline->list = over;
        }
    }
}

static struct deadline_list *deadlines_slot(struct deadlines *deadlines, int64_t at_ms)
{
    return &deadlines->wheel[(at_ms / DEADLINES_TICK_MS) % DEADLINES_SLOTS];
}

static void deadlines_on_tick(uv_timer_t *timer)
{
    struct deadlines *deadlines = OWNER_OF(timer, struct deadlines, timer);
    struct deadline_list over = TAILQ_HEAD_INITIALIZER(over);
    int64_t now_ms = loop_polled_ms(deadlines->context->loop);
    int64_t ticks = (now_ms - deadlines->ticked_ms) / DEADLINES_TICK_MS;

    for (int64_t i = 0; i <= ticks && i < DEADLINES_SLOTS; i++) {
        int64_t at_ms = deadlines->ticked_ms + i * DEADLINES_TICK_MS;
        deadlines_collect(&over, deadlines_slot(deadlines, at_ms), now_ms);
    }
    deadlines->ticked_ms += ticks * DEADLINES_TICK_MS;
    while (!TAILQ_EMPTY(&over)) {
        deadlines->passed(TAILQ_FIRST(&over));
    }
}

void deadlines_init(struct deadlines *deadlines, struct context *context,
                    void (*passed)(struct deadline *deadline))
{
    deadlines->context = context;
    deadlines->passed = passed;
    for (int i = 0; i < DEADLINES_SLOTS; i++) {
        TAILQ_INIT(&deadlines->wheel[i]);
    }
    context_init_timer(context, &deadlines->timer);
}

void deadlines_add(struct deadlines *deadlines, struct deadline *deadline, int64_t at_ms)
{
    deadline->at_ms = at_ms;
    deadline->list = deadlines_slot(deadlines, at_ms);
    TAILQ_INSERT_TAIL(deadline->list, deadline, link);
    if (deadlines->count++ == 0 && !deadlines->context->closing) {
        deadlines->ticked_ms = loop_polled_ms(deadlines->context->loop);
        uv_timer_start(&deadlines->timer, deadlines_on_tick, DEADLINES_TICK_MS, DEADLINES_TICK_MS);
    }
}

void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline)
{
    TAILQ_REMOVE(deadline->list, deadline, link);
    if (--deadlines->count == 0 && !deadlines->context->closing) {
        uv_timer_stop(&deadlines->timer);
    }
}
