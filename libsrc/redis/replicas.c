/* replicas.c - connections for commands that replicas must have, too.
 *
 * WAIT blocks a connection, so these have one of their own, for each number of replicas.  It counts
 * the replicas that have all that its own connection wrote, so one WAIT behind the commands of a
 * turn speaks of all of them; nothing is written while it is on its way.
 *
 * Thread: smq:io. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/owner_of.h"
#include "redis/greeting.h"
#include "redis/internal.h"

/* A server that has nothing else to do looks ten times a second whether a WAIT is over. */
enum { TICK_MS = 16, WAIT_MIN_MS = 10, WAIT_SLACK_MS = 120, ASK_AGAIN_MS = 250 };

static void on_tick(uv_timer_t *timer);

static void tick_soon(struct redis *redis)
{
    if (!redis->closing && !uv_is_active((uv_handle_t *) &redis->replicas_timer)) {
        uv_timer_start(&redis->replicas_timer, on_tick, TICK_MS, TICK_MS);
    }
}

static void send_words(struct node *node, struct exchange *exchange, const char **words, int count)
{
    char *bytes = NULL;
    long long len = redisFormatCommandArgv(&bytes, count, words, NULL);

    exchange->max_elements = 1;
    connection_send(node->connection, bytes, (size_t) len, exchange);
    redisFreeCommand(bytes);
}

/* --- are there enough? ----------------------------------------------------------------------- */

static void open_node(struct node *node)
{
    node->replicas.state = REPLICAS_OPEN;
    redis_node_good(node);
}

static void on_info(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct node *node = OWNER_OF(exchange, struct node, replicas.info);
    struct replicas *replicas = &node->replicas;

    (void) written;
    if (reply == NULL) {
        return;
    }
    int count = greeting_replicas(reply);
    if (count < 0 || count >= replicas->wanted) {
        open_node(node); /* who may not look, or asked no master, learns it from its command */
        return;
    }
    (void) snprintf(node->why, sizeof(node->why),
                    "%s: NOREPLICAS: it has %d replicas in step, and %d shall acknowledge",
                    node->name, count, replicas->wanted);
    replicas->state = REPLICAS_FEW;
    replicas->due_ms = clock_now_ms() + ASK_AGAIN_MS;
}

/* WAIT 0 0 comes back at once: is it allowed here? */
static void on_may_wait(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct node *node = OWNER_OF(exchange, struct node, replicas.may_wait);

    (void) written;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        struct step step = redirect_next(reply, false);
        bool denied = step.kind == STEP_REFUSED && step.status == SMQ_DENIED;
        redis_node_down(node, denied ? SMQ_DENIED : SMQ_UNAVAILABLE, reply->str);
    }
}

static void ask(struct node *node)
{
    struct replicas *replicas = &node->replicas;

    replicas->state = REPLICAS_ASKED;
    replicas->due_ms = clock_now_ms() + node->redis->request_timeout_ms;
    send_words(node, &replicas->info, (const char *[]){"INFO", "replication"}, 2);
    tick_soon(node->redis);
}

/* --- waiting --------------------------------------------------------------------------------- */

static void await_end(struct redis_await *await, enum redis_outcome outcome, smq_status status,
                      const char *text)
{
    struct redis_result result = {.outcome = outcome, .status = status, .text = text};

    await->done(&result, await->user);
}

/* End all that are over at `now_ms`, perhaps to be awaited again. */
static void end_awaits(struct node *node, int64_t now_ms, enum redis_outcome outcome,
                       smq_status status, const char *what)
{
    struct await_list over = TAILQ_HEAD_INITIALIZER(over);
    struct redis_await *await, *next;
    char text[NODE_NAME_MAX + 128];

    (void) snprintf(text, sizeof(text), "%s: %.120s", node->name, what);
    for (await = TAILQ_FIRST(&node->replicas.awaits); await != NULL; await = next) {
        next = TAILQ_NEXT(await, link);
        if (await->until_ms <= now_ms) {
            TAILQ_REMOVE(&node->replicas.awaits, await, link);
            TAILQ_INSERT_TAIL(&over, await, link);
        }
    }
    while ((await = TAILQ_FIRST(&over)) != NULL) {
        TAILQ_REMOVE(&over, await, link);
        await_end(await, outcome, status, outcome == REDIS_DONE ? "" : text);
    }
}

static void end_all_awaits(struct node *node, enum redis_outcome outcome, smq_status status,
                           const char *what)
{
    end_awaits(node, INT64_MAX, outcome, status, what);
}

static void send_wait(struct node *node, int64_t until_ms)
{
    struct replicas *replicas = &node->replicas;
    int64_t now_ms = clock_now_ms(), most_ms = node->redis->request_timeout_ms;
    int64_t ms = until_ms - now_ms;
    char number[16], time[24];

    ms -= ms / 2 > WAIT_SLACK_MS ? WAIT_SLACK_MS : 0; /* so that a count comes in time */
    ms = ms < WAIT_MIN_MS ? WAIT_MIN_MS : ms;         /* 0 would be for ever */
    ms = ms > most_ms ? most_ms : ms;
    (void) snprintf(number, sizeof(number), "%d", replicas->wanted);
    (void) snprintf(time, sizeof(time), "%lld", (long long) ms);
    replicas->state = REPLICAS_WAITING;
    replicas->due_ms = now_ms + ms + most_ms;
    send_words(node, &replicas->wait, (const char *[]){"WAIT", number, time}, 3);
    tick_soon(node->redis);
}

/* End those whose time is over. */
static void end_overdue(struct node *node, int64_t now_ms)
{
    const struct replicas *replicas = &node->replicas;
    char what[80] = "no answer of its replicas in time";

    if (replicas->acknowledged >= 0) {
        (void) snprintf(what, sizeof(what), "%d of %d replicas acknowledged",
                        replicas->acknowledged, replicas->wanted);
    }
    end_awaits(node, now_ms, REDIS_NOT_DONE, SMQ_TIMED_OUT, what);
}

/* WAIT once more, for those that are left. */
static void wait_again(struct node *node)
{
    int64_t until_ms = INT64_MAX;
    struct redis_await *await;

    TAILQ_FOREACH(await, &node->replicas.awaits, link)
    {
        until_ms = await->until_ms < until_ms ? await->until_ms : until_ms;
    }
    send_wait(node, until_ms);
}

/* Fewer have it: whose time is over ends, the others are waited for again; nobody else writes
 * meanwhile. */
static void fell_short(struct node *node, int count)
{
    struct replicas *replicas = &node->replicas;

    (void) snprintf(node->why, sizeof(node->why), "%s: %d of %d replicas acknowledged", node->name,
                    count, replicas->wanted);
    replicas->acknowledged = count;
    end_overdue(node, clock_now_ms());
    replicas->state = REPLICAS_FEW;
    replicas->due_ms = 0;
}

static void on_wait(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct node *node = OWNER_OF(exchange, struct node, replicas.wait);

    (void) written;
    if (reply == NULL) {
        end_all_awaits(node, REDIS_UNKNOWN, SMQ_UNKNOWN,
                       "the connection ended before its replicas acknowledged");
    } else if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= node->replicas.wanted) {
        end_all_awaits(node, REDIS_DONE, SMQ_OK, "");
        open_node(node);
    } else if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0) {
        fell_short(node, (int) reply->integer);
    } else {
        const char *what =
            reply->type == REDIS_REPLY_ERROR ? reply->str : "it does not answer WAIT as Redis does";
        end_all_awaits(node, REDIS_UNKNOWN, SMQ_UNKNOWN, what);
        redis_node_down(node, SMQ_UNAVAILABLE, what);
    }
}

void redis_await(struct redis_await *await, const struct redis_command *command)
{
    await->node = command->by;
    await->until_ms = command->until_ms;
    TAILQ_INSERT_TAIL(&await->node->replicas.awaits, await, link);
}

void redis_await_again(struct redis_await *await)
{
    TAILQ_INSERT_TAIL(&await->node->replicas.awaits, await, link);
}

/* --- time ------------------------------------------------------------------------------------ */

/* Is there something to come? */
static bool tick(struct node *node, int64_t now_ms)
{
    struct replicas *replicas = &node->replicas;

    if (replicas->state == REPLICAS_WAITING || replicas->state == REPLICAS_FEW) {
        end_overdue(node, now_ms);
    }
    if (replicas->state == REPLICAS_FEW && replicas->due_ms <= now_ms) {
        if (TAILQ_EMPTY(&replicas->awaits)) {
            ask(node);
        } else {
            wait_again(node);
        }
    } else if ((replicas->state == REPLICAS_ASKED || replicas->state == REPLICAS_WAITING) &&
               replicas->due_ms <= now_ms) {
        redis_node_down(node, SMQ_UNAVAILABLE, "it does not answer");
    }
    return replicas->state == REPLICAS_ASKED || replicas->state == REPLICAS_FEW ||
           replicas->state == REPLICAS_WAITING;
}

static void on_tick(uv_timer_t *timer)
{
    struct redis *redis = timer->data;
    struct node *node, *next;
    int64_t now_ms = clock_now_ms();
    bool busy = false;

    HASH_ITER(hh, redis->nodes, node, next)
    {
        busy = (node->replicas.wanted > 0 && tick(node, now_ms)) || busy;
    }
    if (!busy) {
        uv_timer_stop(timer);
    }
}

/* --- nodes ----------------------------------------------------------------------------------- */

void replicas_init(struct node *node, int wanted)
{
    struct replicas *replicas = &node->replicas;

    replicas->wanted = wanted;
    replicas->may_wait.done = on_may_wait;
    replicas->info.done = on_info;
    replicas->wait.done = on_wait;
    TAILQ_INIT(&replicas->awaits);
}

void replicas_node_up(struct node *node)
{
    send_words(node, &node->replicas.may_wait, (const char *[]){"WAIT", "0", "0"}, 3);
    ask(node);
}

void replicas_node_down(struct node *node)
{
    node->replicas.state = REPLICAS_UNKNOWN;
}

bool replicas_may_write(const struct node *node)
{
    return node->replicas.wanted == 0 || node->replicas.state == REPLICAS_OPEN ||
           node->replicas.state == REPLICAS_WRITTEN;
}

void replicas_wrote(struct node *node, const struct redis_command *command)
{
    struct replicas *replicas = &node->replicas;

    if (replicas->state == REPLICAS_OPEN) {
        replicas->state = REPLICAS_WRITTEN;
        replicas->until_ms = command->until_ms;
        node->redis->written = true;
    } else if (command->until_ms < replicas->until_ms) {
        replicas->until_ms = command->until_ms;
    }
}

void replicas_turn(struct redis *redis)
{
    if (!redis->written) {
        return;
    }
    redis->written = false;
    for (struct node *node = redis->nodes; node != NULL; node = node->hh.next) {
        if (node->replicas.state == REPLICAS_WRITTEN) {
            node->replicas.acknowledged = -1;
            send_wait(node, node->replicas.until_ms);
        }
    }
}
