/* request.c - one command, from redis_send() until its end is reported.
 *
 * Thread: smq:io. */
#include "redis/request.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "redis/redirect.h"
#include "redis/replicas.h"

enum {
    PAUSE_MIN_MS = 10,
    PAUSE_MAX_MS = 500,
    REDIRECTS_MAX = 5, /* consecutive redirects before a pause */
    LAST_TRY_MS = 50   /* a try that is not the first begins this long before the deadline */
};

/* The private side of a command.  Invariant: `command` is NULL when its end was reported while
 * exchanges were still in flight; the request is freed with the last of them. */
struct request {
    struct redis_command *command;
    struct requests *all;
    struct node *node; /* the node to which the command was written */
    int64_t timeout_ms;
    bool asking;
    struct server_address ask;
    unsigned redirects, pauses;
    char *why; /* the error after which it waits; NULL: none */
    /* why its script could not be loaded (text in `why`); SMQ_OK: it could */
    smq_status load_status;
    int in_flight; /* exchanges that will still call back */
    struct exchange run, load, announce;
    struct hash_queue_item item;
    struct deadline deadline;
};

/* --- the end --------------------------------------------------------------------------------- */

static void request_free_if_unused(struct request *request)
{
    if (request->command == NULL && request->in_flight == 0) {
        free(request->why);
        free(request);
    }
}

/* Report the end.  The request must not be used after it. */
static void request_end_with(struct request *request, const struct redis_result *result)
{
    struct redis_command *command = request->command;
    struct node *by = request->node;

    assert(command != NULL); /* a request that has ended is in no queue */
    deadlines_remove(request->all->deadlines, &request->deadline);
    hash_queue_remove(&request->item);
    request->command = NULL;
    request_free_if_unused(request);
    command->state = NULL;
    command->by = by;
    command->done(result, command->user);
}

static void request_end(struct request *request, enum redis_outcome outcome, smq_status status,
                        const redisReply *reply, const char *text)
{
    const struct redis_result result = {
        .outcome = outcome, .status = status, .reply = reply, .text = text};

    request_end_with(request, &result);
}

/* Report an end that is not DONE; the text names the node. */
static void request_fail_with(struct request *request, struct redis_result *result,
                              const char *what)
{
    char text[NODE_NAME_MAX + 304];

    (void) snprintf(text, sizeof(text), "%s: %.300s", request->node->name, what);
    result->text = text;
    request_end_with(request, result);
}

static void request_fail(struct request *request, enum redis_outcome outcome, smq_status status,
                         const char *what)
{
    struct redis_result result = {.outcome = outcome, .status = status};

    request_fail_with(request, &result, what);
}

/* --- repeats --------------------------------------------------------------------------------- */

static void request_keep_why(struct request *request, const char *why)
{
    free(request->why);
    request->why = memory_string(why);
}

/* Send the request again after the back-off. */
static void request_pause(struct request *request)
{
    int64_t ms = random_backoff_ms(request->pauses++, PAUSE_MIN_MS, PAUSE_MAX_MS);

    hash_queue_pause(request->item.queue, ms);
}

static void request_redirect(struct request *request, const struct step *step)
{
    struct server_address to = step->to;

    context_count_redirect(request->all->context);
    if (to.host[0] == '\0') {
        memcpy(to.host, request->node->address.host, sizeof(to.host));
    }
    if (step->kind == STEP_ASK) {
        request->asking = true;
        request->ask = to;
    } else if (server_address_equal(&to, &request->node->address)) {
        node_disconnect(request->node, SMQ_UNAVAILABLE,
                        "it says that a hash slot has moved to its own address, so its name or "
                        "port leads to another server now");
    } else {
        slotmap_set(&request->all->topology->map, step->hash_slot, &to);
    }
    if (++request->redirects % REDIRECTS_MAX == 0) {
        request_pause(request);
        return;
    }
    hash_queue_make_ready(request->item.queue);
}

/* Is it a redirect of this request's hash slot?  Commands without a key have none. */
static bool request_is_redirected(const struct request *request, const struct step *step)
{
    return (step->kind == STEP_MOVED || step->kind == STEP_ASK) &&
           request->item.queue->hash_slot == step->hash_slot;
}

/* The command was not executed: send it again, to the same node or to another one. */
static void request_repeat(struct request *request, const struct step *step, const char *why)
{
    if (step->refresh) {
        topology_refresh(request->all->topology);
    }
    if (step->login && request->node->connection != NULL) {
        connection_renew(request->node->connection);
    }
    request_keep_why(request, why);
    hash_queue_put_back(&request->item);
    request->asking = false;
    if (request_is_redirected(request, step)) {
        request_redirect(request, step);
        return;
    }
    if (step->kind == STEP_LOAD && request->redirects++ % REDIRECTS_MAX == 0) {
        hash_queue_make_ready(request->item.queue);
        return;
    }
    request_pause(request);
}

/* --- replies --------------------------------------------------------------------------------- */

static void request_fail_without_scripts(struct request *request, const char *error)
{
    char why[300];

    (void) snprintf(why, sizeof(why),
                    "the server runs no Lua scripts, which slotmq needs (SCRIPT LOAD, EVALSHA): "
                    "%.100s",
                    error);
    request_fail(request, REDIS_NOT_DONE, SMQ_BAD_SERVER, why);
}

/* The node does not know the script: send the command again after SCRIPT LOAD, unless that was just
 * refused. */
static void request_load_again(struct request *request, const struct step *step,
                               const redisReply *reply)
{
    struct node *node = request->node;
    char why[300];

    node_forget(node, request->command->script);
    if (request->load_status == SMQ_OK) {
        request_repeat(request, step, reply->str);
        return;
    }
    if (request->load_status == SMQ_BAD_SERVER) {
        request_fail_without_scripts(request, request->why);
        return;
    }
    (void) snprintf(why, sizeof(why), "the script %s cannot be loaded: %.200s",
                    request->command->script->name, request->why);
    request_fail(request, REDIS_NOT_DONE, request->load_status, why);
}

/* The script may have written something before this error. */
static void request_fail_partly(struct request *request, const struct step *step,
                                const redisReply *reply)
{
    const struct script *script = request->command->script;
    char commands[REDIRECT_COMMANDS_MAX], why[300];

    if (script == NULL || !redirect_denied_commands(commands, reply, script->text)) {
        request_fail(request, REDIS_PARTLY, step->status, reply->str);
        return;
    }
    (void) snprintf(why, sizeof(why),
                    "this user has no permissions to run the '%s' command of the script %s: %.100s",
                    commands, script->name, reply->str);
    request_fail(request, REDIS_PARTLY, step->status, why);
}

/* Does its server take writes?  Who asks once, whether it does, has the answer in the reply. */
static void request_note_writes(const struct request *request, const struct step *step,
                                const redisReply *reply)
{
    const struct script *script = request->command->script;

    if (step->refuses && !request->command->once) {
        node_refuses_writes(request->node, reply->str);
    } else if (step->kind == STEP_DONE && script != NULL && script->writes) {
        node_takes_writes(request->node);
    }
}

static void request_do_step(struct request *request, const redisReply *reply)
{
    bool script = request->command->script != NULL;
    struct step step = redirect_next(reply, script);

    if (script && redirect_without_scripts(reply)) {
        request_fail_without_scripts(request, reply->str);
        return;
    }
    request_note_writes(request, &step, reply);
    switch (step.kind) {
    case STEP_DONE:
        request_end(request, REDIS_DONE, SMQ_OK, reply, "");
        break;
    case STEP_LOAD:
        if (script) {
            request_load_again(request, &step, reply);
        } else {
            request_fail(request, REDIS_NOT_DONE, SMQ_INTERNAL, reply->str);
        }
        break;
    case STEP_MOVED:
    case STEP_ASK:
        request_repeat(request, &step, reply->str);
        break;
    case STEP_WAIT:
        if (request->command->once) {
            request_fail(request, REDIS_NOT_DONE, SMQ_UNAVAILABLE, reply->str);
        } else {
            request_repeat(request, &step, reply->str);
        }
        break;
    case STEP_REFUSED:
        request_fail(request, REDIS_NOT_DONE, step.status, reply->str);
        break;
    case STEP_PARTLY:
        request_fail_partly(request, &step, reply);
        break;
    case STEP_UNKNOWN:
        topology_refresh(request->all->topology);
        request_fail(request, REDIS_UNKNOWN, step.status, reply->str);
        break;
    }
}

/* The next command that goes alone may follow. */
static void request_leave_node(struct request *request)
{
    if (request->node->alone) {
        request->node->occupied = false;
        hash_queues_make_ready(&request->node->stalled);
    }
}

static void request_cut(struct request *request)
{
    struct redis_result result = {
        .outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN, .text = "", .cut = request->run.cut};

    request_fail_with(request, &result, "the connection ended before the reply came");
}

static void request_on_reply(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct request *request = OWNER_OF(exchange, struct request, run);

    request->in_flight--;
    request_leave_node(request);
    if (request->command == NULL) {
        request_free_if_unused(request);
        return;
    }
    if (reply != NULL) {
        request_do_step(request, reply);
        return;
    }
    if (written) {
        request_cut(request);
        return;
    }
    hash_queue_put_back(&request->item);
    hash_queue_make_ready(request->item.queue);
}

/* The reply to SCRIPT LOAD.  The reply of the command itself shows whether the script exists; this
 * keeps the reason if not. */
static void request_on_load_reply(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct request *request = OWNER_OF(exchange, struct request, load);

    (void) written;
    request->in_flight--;
    if (request->command == NULL) {
        request_free_if_unused(request);
        return;
    }
    if (reply == NULL) {
        return;
    }
    struct step step = redirect_next(reply, false);
    request->load_status = SMQ_OK;
    if (step.kind == STEP_REFUSED) {
        request->load_status = step.status;
        request_keep_why(request, reply->str);
    }
    if (redirect_without_scripts(reply)) {
        request->load_status = SMQ_BAD_SERVER;
    }
}

/* The reply to ASKING.  The reply of the command itself shows its effect. */
static void request_on_announce_reply(struct exchange *exchange, const redisReply *reply,
                                      bool written)
{
    struct request *request = OWNER_OF(exchange, struct request, announce);

    (void) reply;
    (void) written;
    request->in_flight--;
    request_free_if_unused(request);
}

/* --- sending --------------------------------------------------------------------------------- */

static void request_send_extra(struct request *request, struct exchange *exchange, int count,
                               const char **words)
{
    exchange->max_elements = 1;
    request->in_flight++;
    node_ask(request->node, exchange, count, words);
}

/* Send the command, after the script's text and ASKING where they are needed. */
static void request_send(struct request *request, struct node *node)
{
    const struct redis_command *command = request->command;
    const char *bytes;
    size_t len;

    hash_queue_send_first(request->item.queue);
    request->node = node;
    request->load_status = SMQ_OK;
    if (command->script != NULL && !node_knows(node, command->script)) {
        request_send_extra(request, &request->load, 3,
                           (const char *[]){"SCRIPT", "LOAD", command->script->text});
        node_learn(node, command->script);
    }
    if (request->asking) {
        request_send_extra(request, &request->announce, 1, (const char *[]){"ASKING"});
    }
    request->run.max_elements = command->max_elements;
    request->in_flight++;
    bytes = redis_command_render(command, &len);
    connection_send(node->connection, bytes, len, &request->run);
    node->occupied = node->alone;
    if (node->replicas_wanted > 0) {
        replicas_wrote(node, command);
    }
}

/* Any node that is up; else any of the map, to be connected to. */
static struct node *request_find_any_node(struct topology *topology, int replicas)
{
    const struct slotmap *map = &topology->map;

    if (map->count == 0) {
        return NULL;
    }
    struct node *node = node_set_any_up(topology->nodes, NULL);
    if (node != NULL) {
        return node;
    }
    return node_set_get_with(topology->nodes, &map->nodes[random_u64() % map->count], replicas,
                             false);
}

/* The node to send to, made if there is none at its address; NULL: no node is known to serve the
 * hash slot. */
static struct node *request_find_node(const struct request *request)
{
    struct topology *topology = request->all->topology;
    const struct hash_queue *queue = request->item.queue;
    const struct server_address *address = &request->ask;

    if (!request->asking && queue->hash_slot == REDIS_ANY_NODE) {
        return request_find_any_node(topology, queue->replicas);
    }
    if (!request->asking) {
        address = slotmap_owner(&topology->map, queue->hash_slot);
    }
    return address == NULL ? NULL
                           : node_set_get_with(topology->nodes, address, queue->replicas,
                                               request->command->alone);
}

/* Must it end now, because this node, which cannot be written to, is not connected to? */
static bool request_is_hopeless(const struct request *request, const struct node *node)
{
    return node->state != NODE_CONNECTING && node->retry_ms > clock_now_ms() &&
           (node->state == NODE_BAD || request->command->once);
}

/* No node is known: wait for a slot map, unless the command must not wait and there is one. */
static void request_await_route(struct request *request)
{
    struct topology *topology = request->all->topology;

    if (request->command->once && topology->map.count > 0) {
        request_end(request, REDIS_NOT_DONE, SMQ_UNAVAILABLE, NULL, "no server has this hash slot");
        return;
    }
    hash_queue_await_route(request->item.queue);
    topology_refresh(topology);
}

/* Why a request has waited until now. */
static const char *request_why_waiting(const struct request *request)
{
    const struct node *node = request_find_node(request);

    if (request->why != NULL) {
        return request->why;
    }
    if (node == NULL) {
        return "no server is known for this hash slot";
    }
    return node->why[0] != '\0' ? node->why : "earlier requests were not done yet";
}

/* Its time has ended while it waited. */
static void request_end_undone(struct request *request)
{
    char text[700];

    (void) snprintf(text, sizeof(text), "not done within %lld ms: %.500s",
                    (long long) request->timeout_ms, request_why_waiting(request));
    request_end(request, REDIS_NOT_DONE, SMQ_UNAVAILABLE, NULL, text);
}

/* Would the reply to a further try hardly come in time?  Until now the request was refused, and
 * then its outcome would not be known. */
static bool request_is_over(const struct request *request)
{
    return request->pauses > 0 && request->deadline.at_ms - clock_now_ms() < LAST_TRY_MS;
}

void request_send_first(struct hash_queue *queue)
{
    struct request *request = OWNER_OF(TAILQ_FIRST(&queue->waiting), struct request, item);

    assert(request->command != NULL);
    if (request->all->context->closing) {
        request_end(request, REDIS_NOT_DONE, SMQ_CLOSED, NULL, "the client is closing");
        return;
    }
    struct node *node = request_find_node(request);
    if (node == NULL) {
        request_await_route(request);
        return;
    }
    if (request_is_over(request)) {
        request_end_undone(request);
        return;
    }
    if (node->state == NODE_UP && !node->occupied && replicas_may_write(node)) {
        request_send(request, node);
        return;
    }
    if (request_is_hopeless(request, node)) {
        request_end(request, REDIS_NOT_DONE, node->status, NULL, node->why);
        return;
    }
    hash_queue_stall(queue, &node->stalled);
    node_connect(node);
}

void request_new(struct requests *requests, struct redis_command *command)
{
    struct request *request = memory_new(sizeof(*request));

    assert(command->state == NULL && command->args.count > 0);
    command->state = (struct redis_command_state *) request;
    request->command = command;
    request->all = requests;
    request->run.done = request_on_reply;
    request->load.done = request_on_load_reply;
    request->announce.done = request_on_announce_reply;
    request->timeout_ms =
        command->timeout_ms > 0 ? command->timeout_ms : requests->context->request_timeout_ms;
    hash_queues_add(requests->queues, &request->item, command->hash_slot, command->replicas,
                    command->apart);
    deadlines_add(requests->deadlines, &request->deadline, clock_now_ms() + request->timeout_ms);
}

/* --- time-outs ------------------------------------------------------------------------------- */

void request_on_deadline(struct deadline *deadline)
{
    struct request *request = OWNER_OF(deadline, struct request, deadline);
    int64_t patience_ms = request->all->context->request_timeout_ms;
    struct node *node = request->node;
    char text[700];

    topology_refresh(request->all->topology);
    if (request->item.queue->sent != &request->item) {
        request_end_undone(request);
        return;
    }
    (void) snprintf(text, sizeof(text), "no reply within %lld ms", (long long) request->timeout_ms);
    request_fail(request, REDIS_UNKNOWN, SMQ_UNKNOWN, text);
    /* a hung server and a broken connection look alike; a time-out shorter than usual proves
     * neither */
    if (node->state == NODE_UP && connection_silent_ms(node->connection) >= patience_ms) {
        node_disconnect(node, SMQ_UNAVAILABLE, "it does not answer");
    }
}
