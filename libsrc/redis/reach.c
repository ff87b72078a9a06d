/* reach.c - see reach.h.
 *
 * Thread: smq:io. */
#include "redis/reach.h"

#include <assert.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/owner_of.h"

enum { REACH_TICKS_LATE = 3 };

struct reach_timings reach_timings = {.tick = 1000, .quiet = 2000, .idle = 5000, .lost = 10000};

/* --- counting -------------------------------------------------------------------------------- */

static void reach_count_check(const struct reach_count *count)
{
    assert(!count->lost || count->asked_ms != 0);
}

static enum reach_step reach_count_answered(struct reach_count *count,
                                            const struct reach_timings *timings, int64_t heard_ms,
                                            int64_t now_ms)
{
    bool back = count->lost;

    count->lost = false;
    count->asked_ms = 0;
    if (back) {
        return REACH_BACK;
    }
    if (now_ms - heard_ms < timings->quiet) {
        return REACH_NONE;
    }
    count->asked_ms = now_ms;
    return REACH_TRY;
}

enum reach_step reach_count_step(struct reach_count *count, const struct reach_timings *timings,
                                 int64_t heard_ms, int64_t now_ms)
{
    bool late =
        count->ticked_ms != 0 && now_ms - count->ticked_ms > REACH_TICKS_LATE * timings->tick;

    count->ticked_ms = now_ms;
    if (heard_ms >= count->asked_ms) {
        return reach_count_answered(count, timings, heard_ms, now_ms);
    }
    if (late) {
        count->asked_ms = now_ms;
    } else if (!count->lost && now_ms - count->asked_ms >= timings->lost) {
        count->lost = true;
        return REACH_LOST;
    }
    CHECK(reach_count_check(count));
    return REACH_ASK;
}

/* --- asking ---------------------------------------------------------------------------------- */

/* Ask the node, if it has said nothing for `quiet_ms` and no reply is due, or connect to it. */
static void reach_ask_node(struct node *node, int64_t quiet_ms)
{
    if (node->state != NODE_UP) {
        node_connect(node);
    } else if (clock_now_ms() - connection_heard_ms(node->connection) >= quiet_ms) {
        node_probe(node);
    }
}

static void reach_ask_all(struct reach *reach)
{
    const struct slotmap *map = &reach->topology->map;

    for (size_t i = 0; i < map->count; i++) {
        (void) node_set_get(reach->topology->nodes, &map->nodes[i]);
    }
    for (struct node *node = reach->topology->nodes->by_name; node != NULL; node = node->hh.next) {
        if (node->replicas_wanted == 0) {
            reach_ask_node(node, reach->timings.quiet);
        }
    }
    topology_refresh(reach->topology);
}

static void reach_try_one(struct reach *reach)
{
    struct node *node = node_set_any_up(reach->topology->nodes, NULL);

    if (node != NULL) {
        reach_ask_node(node, reach->timings.quiet);
    } else {
        reach_ask_all(reach);
    }
}

/* Close the connections on which a PING got no answer in time, and ask those that are idle. */
static void reach_check_nodes(const struct reach *reach)
{
    int64_t patience_ms = reach->context->request_timeout_ms;

    for (struct node *node = reach->topology->nodes->by_name; node != NULL; node = node->hh.next) {
        if (node->state != NODE_UP || node->replicas_wanted > 0) {
            continue;
        }
        if (node_probe_failed(node, patience_ms)) {
            node_disconnect(node, SMQ_UNAVAILABLE, "it does not answer");
        } else {
            reach_ask_node(node, reach->timings.idle);
        }
    }
}

static void reach_report(struct reach *reach, bool reached)
{
    context_set_reached(reach->context, reached);
    reach->changed(reached, reach->user);
}

static void reach_on_timer(uv_timer_t *timer)
{
    struct reach *reach = OWNER_OF(timer, struct reach, timer);
    enum reach_step step;

    if (reach->context->closing || reach->changed == NULL) {
        uv_timer_stop(timer);
        return;
    }
    step =
        reach_count_step(&reach->count, &reach->timings, reach->context->heard_ms, clock_now_ms());
    reach_check_nodes(reach);
    if (step == REACH_TRY) {
        reach_try_one(reach);
    } else if (step == REACH_ASK || step == REACH_LOST) {
        reach_ask_all(reach);
    }
    if (step == REACH_LOST || step == REACH_BACK) {
        reach_report(reach, step == REACH_BACK);
    }
}

void reach_init(struct reach *reach, struct context *context, struct topology *topology)
{
    reach->context = context;
    reach->topology = topology;
    context_init_timer(context, &reach->timer);
}

void reach_watch(struct reach *reach, redis_reach_fn *changed, void *user)
{
    reach->changed = changed;
    reach->user = user;
    reach->timings = reach_timings;
    reach->count = (struct reach_count){0};
    context_set_reached(reach->context, true);
    if (changed != NULL && !reach->context->closing) {
        uint64_t tick_ms = (uint64_t) reach->timings.tick;

        uv_timer_start(&reach->timer, reach_on_timer, tick_ms, tick_ms);
    }
}
