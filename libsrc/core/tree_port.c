/* tree_port.c - see tree_port.h.
 *
 * Thread: any; what is called tree_port_..._on_io() runs on smq:io. */
#include "core/tree_port.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sys/queue.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "store/tree.h"

struct tree_port_channel {
    LIST_ENTRY(tree_port_channel) link;
    struct tree_port *port;
    struct redis_subscription subscription;
    char *name;
    char full[STORE_TREE_KEY_MAX * 2];
};

/* References: one of the maker, and one of each task and call in progress. */
struct tree_port {
    struct coord_port door;
    struct loop *io;
    struct redis *redis;
    struct store_tree tree;
    atomic_int references;
    LIST_HEAD(, tree_port_channel) channels; /* smq:io */
    struct loop_task closing;

    /* guarded by open.lock, which is held while functions of coordination are called */
    struct {
        pthread_mutex_t lock;
        coord_heard_fn *heard; /* NULL: closed */
        void *user;
        char server[REDIS_SERVER_MAX]; /* that has done the last call */
    } open;
};

/* A call, or a change of a subscription. */
struct tree_port_task {
    struct loop_task task;
    struct tree_port *port;
    struct store_call call;
    struct coord_exchange *exchange;
    char *channel;
};

static void tree_port_unref(struct tree_port *port)
{
    if (atomic_fetch_sub(&port->references, 1) == 1) {
        pthread_mutex_destroy(&port->open.lock);
        free(port);
    }
}

static struct tree_port_task *tree_port_task_new(struct tree_port *port,
                                                 void (*run)(struct loop_task *task))
{
    struct tree_port_task *task = memory_new(sizeof(*task));

    atomic_fetch_add(&port->references, 1);
    task->task.run = run;
    task->port = port;
    return task;
}

static void tree_port_task_free(struct tree_port_task *task)
{
    tree_port_unref(task->port);
    free(task->channel);
    free(task);
}

/* --- calls --- */

static enum coord_port_outcome tree_port_outcome(const struct store_result *result)
{
    if (result->outcome == STORE_OK) {
        return COORD_PORT_DONE;
    }
    return result->status == SMQ_DENIED ? COORD_PORT_DENIED : COORD_PORT_AWAY;
}

static bool tree_port_read(struct coord_exchange *exchange, const struct store_result *result)
{
    exchange->word_count = store_tree_count(result);
    exchange->words = memory_new((exchange->word_count + 1) * sizeof(*exchange->words));
    for (size_t i = 0; i < exchange->word_count; i++) {
        struct coord_word *word = &exchange->words[i];

        if (!store_tree_word(&word->data, &word->len, result, i)) {
            return false;
        }
    }
    return true;
}

static void tree_port_on_done(struct store_call *call, const struct store_result *result)
{
    struct tree_port_task *task = call->user;
    struct coord_exchange *exchange = task->exchange;
    struct coord_word *words = NULL;

    exchange->outcome = tree_port_outcome(result);
    exchange->text = result->text;
    if (exchange->outcome == COORD_PORT_DONE) {
        exchange->outcome = tree_port_read(exchange, result) ? COORD_PORT_DONE : COORD_PORT_AWAY;
        words = exchange->words;
    }
    pthread_mutex_lock(&task->port->open.lock);
    if (words != NULL) {
        redis_server_of(task->port->open.server, task->port->redis, task->port->tree.hash_slot);
    }
    if (task->port->open.heard != NULL) {
        exchange->done(exchange);
    } else {
        exchange->drop(exchange);
    }
    pthread_mutex_unlock(&task->port->open.lock);
    free(words);
    store_call_fini(&task->call);
    tree_port_task_free(task);
}

static void tree_port_call_on_io(struct loop_task *base)
{
    struct tree_port_task *task = OWNER_OF(base, struct tree_port_task, task);
    const struct coord_exchange *exchange = task->exchange;

    store_call_init(&task->call, tree_port_on_done, task);
    store_tree_begin(&task->call, &task->port->tree);
    for (size_t i = 0; i < exchange->arg_count; i++) {
        store_tree_add(&task->call, exchange->args[i].data, exchange->args[i].len);
    }
    store_tree_call(&task->call, task->port->redis, exchange->timeout_ms);
}

static void tree_port_call(void *user, struct coord_exchange *exchange)
{
    struct tree_port *port = user;
    struct tree_port_task *task = tree_port_task_new(port, tree_port_call_on_io);

    task->exchange = exchange;
    loop_post(port->io, &task->task);
}

/* --- subscriptions --- */

static void tree_port_on_notice(enum redis_notice notice, const char *data, size_t len, void *user)
{
    struct tree_port_channel *channel = user;
    struct tree_port *port = channel->port;

    if (notice == REDIS_NOTICE_REFUSED) {
        return; /* what is missed is found with the next call that compares */
    }
    pthread_mutex_lock(&port->open.lock);
    if (port->open.heard != NULL) {
        port->open.heard(port->open.user, channel->name,
                         notice == REDIS_NOTICE_MESSAGE ? data : NULL,
                         notice == REDIS_NOTICE_MESSAGE ? len : 0);
    }
    pthread_mutex_unlock(&port->open.lock);
}

static void tree_port_channel_free(struct tree_port_channel *channel)
{
    redis_unsubscribe(channel->port->redis, &channel->subscription);
    LIST_REMOVE(channel, link);
    free(channel->name);
    free(channel);
}

static void tree_port_subscribe_on_io(struct loop_task *base)
{
    struct tree_port_task *task = OWNER_OF(base, struct tree_port_task, task);
    struct tree_port *port = task->port;
    struct tree_port_channel *channel = memory_new(sizeof(*channel));

    channel->port = port;
    channel->name = memory_string(task->channel);
    store_tree_channel(channel->full, sizeof(channel->full), &port->tree, channel->name);
    channel->subscription = (struct redis_subscription){.channel = channel->full,
                                                        .hash_slot = port->tree.hash_slot,
                                                        .notice = tree_port_on_notice,
                                                        .user = channel};
    LIST_INSERT_HEAD(&port->channels, channel, link);
    redis_subscribe(port->redis, &channel->subscription);
    tree_port_task_free(task);
}

static void tree_port_unsubscribe_on_io(struct loop_task *base)
{
    struct tree_port_task *task = OWNER_OF(base, struct tree_port_task, task);
    struct tree_port_channel *channel = NULL;

    LIST_FOREACH(channel, &task->port->channels, link)
    {
        if (strcmp(channel->name, task->channel) == 0) {
            tree_port_channel_free(channel);
            break;
        }
    }
    tree_port_task_free(task);
}

static void tree_port_post_channel(struct tree_port *port, const char *channel,
                                   void (*run)(struct loop_task *task))
{
    struct tree_port_task *task = tree_port_task_new(port, run);

    task->channel = memory_string(channel);
    loop_post(port->io, &task->task);
}

static void tree_port_subscribe(void *user, const char *channel)
{
    tree_port_post_channel(user, channel, tree_port_subscribe_on_io);
}

static void tree_port_unsubscribe(void *user, const char *channel)
{
    tree_port_post_channel(user, channel, tree_port_unsubscribe_on_io);
}

/* --- life --- */

static void tree_port_open(void *user, coord_heard_fn *heard, void *heard_user)
{
    struct tree_port *port = user;

    pthread_mutex_lock(&port->open.lock);
    port->open.heard = heard;
    port->open.user = heard_user;
    pthread_mutex_unlock(&port->open.lock);
}

static void tree_port_close(void *user)
{
    tree_port_open(user, NULL, NULL);
}

static_assert((int) COORD_PORT_SERVER_MAX >= (int) REDIS_SERVER_MAX, "room for each server");

static void tree_port_where(void *user, char *out)
{
    struct tree_port *port = user;

    pthread_mutex_lock(&port->open.lock);
    memcpy(out, port->open.server, sizeof(port->open.server));
    pthread_mutex_unlock(&port->open.lock);
}

static void tree_port_closing_on_io(struct loop_task *task)
{
    struct tree_port *port = OWNER_OF(task, struct tree_port, closing);
    struct tree_port_channel *channel = NULL;

    while ((channel = LIST_FIRST(&port->channels)) != NULL) {
        tree_port_channel_free(channel);
    }
    tree_port_unref(port);
}

struct tree_port *tree_port_new(struct loop *io, struct redis *redis, const char *root)
{
    struct tree_port *port = memory_new(sizeof(*port));

    port->door = (struct coord_port){.open = tree_port_open,
                                     .call = tree_port_call,
                                     .subscribe = tree_port_subscribe,
                                     .unsubscribe = tree_port_unsubscribe,
                                     .where = tree_port_where,
                                     .close = tree_port_close,
                                     .user = port};
    port->io = io;
    port->redis = redis;
    store_tree_fill(&port->tree, root);
    atomic_init(&port->references, 1);
    pthread_mutex_init(&port->open.lock, NULL);
    LIST_INIT(&port->channels);
    port->closing.run = tree_port_closing_on_io;
    return port;
}

const struct coord_port *tree_port_door(struct tree_port *port)
{
    return &port->door;
}

void tree_port_free(struct tree_port *port)
{
    if (port != NULL) {
        loop_post(port->io, &port->closing);
    }
}
