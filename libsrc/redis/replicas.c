/* replicas.c - connections for commands that replicas must acknowledge, too.
 *
 * Thread: smq:io. */
#include "redis/replicas.h"

#include <assert.h>
#include <stdio.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/owner_of.h"
#include "redis/greeting.h"
#include "redis/redirect.h"

/* A server that is idle checks ten times a second whether a WAIT has ended. */
enum { TICK_MS = 16, WAIT_MIN_MS = 10, WAIT_SLACK_MS = 500, ASK_AGAIN_MS = 250 };

/* UNKNOWN is entered before what waits is ended. */
static void replicas_check(const struct replicas *replicas)
{
    enum replicas_state state = replicas->state;
    bool waits = state == REPLICAS_WAITING || state == REPLICAS_FEW || state == REPLICAS_UNKNOWN;

    assert(waits || TAILQ_EMPTY(&replicas->awaits));
}

/* The one place where a state changes. */
static void replicas_enter(struct replicas *replicas, enum replicas_state state)
{
    assert(states_replicas_may(replicas->state, state));
    replicas->state = state;
    CHECK(replicas_check(replicas));
}

static void replicas_on_tick(uv_timer_t *timer);

static void replicas_tick_soon(struct replicas_set *set)
{
    if (!set->context->closing && !uv_is_active((uv_handle_t *) &set->timer)) {
        uv_timer_start(&set->timer, replicas_on_tick, TICK_MS, TICK_MS);
    }
}

static void replicas_send(struct node *node, struct exchange *exchange, int count,
                          const char **words)
{
    exchange->max_elements = 1;
    node_ask(node, exchange, count, words);
}

/* --- are there enough? ----------------------------------------------------------------------- */

static void replicas_open(struct node *node)
{
    replicas_enter(&node->replicas, REPLICAS_OPEN);
    node_mark_writable(node);
}

static void replicas_on_info(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct node *node = OWNER_OF(exchange, struct node, replicas.info);
    struct replicas *replicas = &node->replicas;

    (void) written;
    if (reply == NULL) {
        return;
    }
    int count = greeting_replicas(reply);
    if (count < 0 || count >= node->replicas_wanted) {
        replicas_open(node); /* if INFO is denied, or this is no master, the command will show it */
        return;
    }
    (void) snprintf(node->why, sizeof(node->why),
                    "%s: NOREPLICAS: it has %d replicas in sync, but %d must acknowledge",
                    node->name, count, node->replicas_wanted);
    replicas_enter(replicas, REPLICAS_FEW);
    replicas->due_ms = clock_now_ms() + ASK_AGAIN_MS;
}

/* The reply to WAIT 0 0, which comes at once and shows whether WAIT is allowed here. */
static void replicas_on_may_wait(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct node *node = OWNER_OF(exchange, struct node, replicas.may_wait);

    (void) written;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        struct step step = redirect_next(reply, false);
        bool denied = step.kind == STEP_REFUSED && step.status == SMQ_DENIED;
        node_disconnect(node, denied ? SMQ_DENIED : SMQ_UNAVAILABLE, reply->str);
    }
}

static void replicas_ask(struct node *node)
{
    struct replicas *replicas = &node->replicas;

    replicas_enter(replicas, REPLICAS_ASKED);
    replicas->due_ms = clock_now_ms() + replicas->set->context->request_timeout_ms;
    replicas_send(node, &replicas->info, 2, (const char *[]){"INFO", "replication"});
    replicas_tick_soon(replicas->set);
}

/* --- waiting --------------------------------------------------------------------------------- */

/* End all awaits whose time has passed at `now_ms` (INT64_MAX: all); their callbacks may await
 * again. */
static void replicas_end_awaits(struct node *node, int64_t now_ms, enum redis_outcome outcome,
                                smq_status status, const char *what)
{
    struct await_list over = TAILQ_HEAD_INITIALIZER(over);
    struct redis_await *await, *next;
    char text[NODE_NAME_MAX + 128] = "";
    struct redis_result result = {.outcome = outcome, .status = status, .text = text};

    if (outcome != REDIS_DONE) {
        (void) snprintf(text, sizeof(text), "%s: %.120s", node->name, what);
    }
    for (await = TAILQ_FIRST(&node->replicas.awaits); await != NULL; await = next) {
        next = TAILQ_NEXT(await, link);
        if (await->until_ms <= now_ms) {
            TAILQ_REMOVE(&node->replicas.awaits, await, link);
            TAILQ_INSERT_TAIL(&over, await, link);
        }
    }
    while ((await = TAILQ_FIRST(&over)) != NULL) {
        TAILQ_REMOVE(&over, await, link);
        await->done(&result, await->user);
    }
}

static void replicas_send_wait(struct node *node, int64_t until_ms)
{
    struct replicas *replicas = &node->replicas;
    int64_t now_ms = clock_now_ms(), most_ms = replicas->set->context->request_timeout_ms;
    int64_t ms = until_ms - now_ms;
    char number[16], time[24];

    ms -= ms / 4 > WAIT_SLACK_MS ? WAIT_SLACK_MS : ms / 4; /* so that the reply comes in time */
    ms = ms < WAIT_MIN_MS ? WAIT_MIN_MS : ms;              /* WAIT with 0 would never end */
    ms = ms > most_ms ? most_ms : ms;
    (void) snprintf(number, sizeof(number), "%d", node->replicas_wanted);
    (void) snprintf(time, sizeof(time), "%lld", (long long) ms);
    replicas_enter(replicas, REPLICAS_WAITING);
    replicas->due_ms = now_ms + ms + most_ms;
    replicas_send(node, &replicas->wait, 3, (const char *[]){"WAIT", number, time});
    replicas_tick_soon(replicas->set);
}

/* End the awaits whose time has passed. */
static void replicas_end_overdue(struct node *node, int64_t now_ms)
{
    const struct replicas *replicas = &node->replicas;
    char what[80] = "its replicas did not reply in time";

    if (replicas->acknowledged >= 0) {
        (void) snprintf(what, sizeof(what), "%d of %d replicas acknowledged",
                        replicas->acknowledged, node->replicas_wanted);
    }
    replicas_end_awaits(node, now_ms, REDIS_NOT_DONE, SMQ_TIMED_OUT, what);
}

/* Send WAIT again, for the awaits that are left. */
static void replicas_wait_again(struct node *node)
{
    int64_t until_ms = INT64_MAX;
    struct redis_await *await;

    TAILQ_FOREACH(await, &node->replicas.awaits, link)
    {
        until_ms = await->until_ms < until_ms ? await->until_ms : until_ms;
    }
    replicas_send_wait(node, until_ms);
}

/* Fewer replicas acknowledged: end the awaits whose time has passed, and wait again for the others.
 * Nothing is written until then. */
static void replicas_fell_short(struct node *node, int count)
{
    struct replicas *replicas = &node->replicas;

    (void) snprintf(node->why, sizeof(node->why), "%s: %d of %d replicas acknowledged", node->name,
                    count, node->replicas_wanted);
    replicas->acknowledged = count;
    replicas_end_overdue(node, clock_now_ms());
    replicas_enter(replicas, REPLICAS_FEW);
    replicas->due_ms = 0;
}

/* End all awaits: the connection has ended, and a failover may have lost what was written. */
static void replicas_lose_awaits(struct node *node)
{
    replicas_end_awaits(node, INT64_MAX, REDIS_UNKNOWN, SMQ_UNKNOWN,
                        "the connection ended before its replicas acknowledged");
}

static void replicas_on_wait(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct node *node = OWNER_OF(exchange, struct node, replicas.wait);

    (void) written;
    if (reply == NULL) {
        replicas_lose_awaits(node);
    } else if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= node->replicas_wanted) {
        replicas_end_awaits(node, INT64_MAX, REDIS_DONE, SMQ_OK, "");
        replicas_open(node);
    } else if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0) {
        replicas_fell_short(node, (int) reply->integer);
    } else {
        const char *what =
            reply->type == REDIS_REPLY_ERROR ? reply->str : "it does not answer WAIT as Redis does";
        replicas_end_awaits(node, INT64_MAX, REDIS_UNKNOWN, SMQ_UNKNOWN, what);
        node_disconnect(node, SMQ_UNAVAILABLE, what);
    }
}

void redis_await(struct redis_await *await, const struct redis_command *command)
{
    await->node = command->by;
    await->until_ms = command->until_ms;
    redis_await_again(await);
}

void redis_await_again(struct redis_await *await)
{
    TAILQ_INSERT_TAIL(&await->node->replicas.awaits, await, link);
}

/* --- time ------------------------------------------------------------------------------------ */

/* Returns whether this node needs further ticks. */
static bool replicas_tick(struct node *node, int64_t now_ms)
{
    struct replicas *replicas = &node->replicas;

    if (replicas->state == REPLICAS_WAITING || replicas->state == REPLICAS_FEW) {
        replicas_end_overdue(node, now_ms);
    }
    if (replicas->state == REPLICAS_FEW && replicas->due_ms <= now_ms) {
        if (TAILQ_EMPTY(&replicas->awaits)) {
            replicas_ask(node);
        } else {
            replicas_wait_again(node);
        }
    } else if ((replicas->state == REPLICAS_ASKED || replicas->state == REPLICAS_WAITING) &&
               replicas->due_ms <= now_ms) {
        node_disconnect(node, SMQ_UNAVAILABLE, "it does not answer");
    }
    return replicas->state == REPLICAS_ASKED || replicas->state == REPLICAS_FEW ||
           replicas->state == REPLICAS_WAITING;
}

static void replicas_on_tick(uv_timer_t *timer)
{
    struct replicas_set *set = OWNER_OF(timer, struct replicas_set, timer);
    struct node *node, *next;
    int64_t now_ms = loop_polled_ms(set->context->loop);
    bool busy = false;

    HASH_ITER(hh, set->nodes->by_name, node, next)
    {
        busy = (node->replicas_wanted > 0 && replicas_tick(node, now_ms)) || busy;
    }
    if (!busy) {
        uv_timer_stop(timer);
    }
}

/* --- nodes ----------------------------------------------------------------------------------- */

void replicas_init(struct replicas_set *set, struct context *context, struct node_set *nodes)
{
    set->context = context;
    set->nodes = nodes;
    context_init_timer(context, &set->timer);
}

void replicas_stop(struct replicas_set *set)
{
    struct node *node, *next;

    uv_timer_stop(&set->timer);
    HASH_ITER(hh, set->nodes->by_name, node, next)
    {
        replicas_lose_awaits(node);
    }
}

void replicas_node_up(struct replicas_set *set, struct node *node)
{
    struct replicas *replicas = &node->replicas;

    replicas->set = set;
    replicas->may_wait.done = replicas_on_may_wait;
    replicas->info.done = replicas_on_info;
    replicas->wait.done = replicas_on_wait;
    replicas_send(node, &replicas->may_wait, 3, (const char *[]){"WAIT", "0", "0"});
    replicas_ask(node);
}

void replicas_node_down(struct node *node)
{
    replicas_enter(&node->replicas, REPLICAS_UNKNOWN);
    replicas_lose_awaits(node); /* when FEW no WAIT is in flight that would end them */
}

bool replicas_may_write(const struct node *node)
{
    return node->replicas_wanted == 0 || node->replicas.state == REPLICAS_OPEN ||
           node->replicas.state == REPLICAS_WRITTEN;
}

void replicas_wrote(struct node *node, const struct redis_command *command)
{
    struct replicas *replicas = &node->replicas;

    if (replicas->state == REPLICAS_OPEN) {
        replicas_enter(replicas, REPLICAS_WRITTEN);
        replicas->until_ms = command->until_ms;
        replicas->set->written = true;
    } else if (command->until_ms < replicas->until_ms) {
        replicas->until_ms = command->until_ms;
    }
}

void replicas_turn(struct replicas_set *set)
{
    if (!set->written) {
        return;
    }
    set->written = false;
    for (struct node *node = set->nodes->by_name; node != NULL; node = node->hh.next) {
        if (node->replicas.state == REPLICAS_WRITTEN) {
            node->replicas.acknowledged = -1;
            replicas_send_wait(node, node->replicas.until_ms);
        }
    }
}
