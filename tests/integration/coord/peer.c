/* peer.c - see peer.h. */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/waiter.h"
#include "coord/tree/tree_session.h"
#include "core/tree_port.h"
#include "support/testing.h"

enum { PEER_WAIT_MS = 60000 };

/* --- what it reports --- */

static void peer_note(struct peer *peer, enum peer_event event)
{
    pthread_mutex_lock(&peer->lock);
    peer->events[event]++;
    peer->told_count++;
    pthread_cond_broadcast(&peer->told);
    pthread_mutex_unlock(&peer->lock);
}

static void on_connected(void *user)
{
    peer_note(user, PEER_CONNECTED);
}

static void on_disconnected(void *user)
{
    peer_note(user, PEER_DISCONNECTED);
}

static void on_expired(void *user)
{
    peer_note(user, PEER_EXPIRED);
}

static void on_denied(void *user, const char *text)
{
    print_message("denied: %s\n", text);
    peer_note(user, PEER_DENIED);
}

static void on_changed(void *user, const char *path)
{
    struct peer *peer = user;

    pthread_mutex_lock(&peer->lock);
    peer->told_count++;
    if (peer->change_count < PEER_CHANGES_MAX) {
        (void) snprintf(peer->changes[peer->change_count++], PEER_DATA_MAX, "%s", path);
    }
    pthread_cond_broadcast(&peer->told);
    pthread_mutex_unlock(&peer->lock);
}

static void peer_wait(struct peer *peer, const struct timespec *until, const char *what)
{
    if (pthread_cond_timedwait(&peer->told, &peer->lock, until) != 0) {
        pthread_mutex_unlock(&peer->lock);
        fail_msg("waited in vain for %s", what);
    }
}

static struct timespec wait_until(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PEER_WAIT_MS / 1000;
    return until;
}

void peer_await(struct peer *peer, enum peer_event event, int count)
{
    static const char *const names[] = {"connected", "disconnected", "expired", "denied"};
    const struct timespec until = wait_until();

    pthread_mutex_lock(&peer->lock);
    while (peer->events[event] < count) {
        peer_wait(peer, &until, names[event]);
    }
    pthread_mutex_unlock(&peer->lock);
}

int peer_events(struct peer *peer, enum peer_event event)
{
    int count = 0;

    pthread_mutex_lock(&peer->lock);
    count = peer->events[event];
    pthread_mutex_unlock(&peer->lock);
    return count;
}

static bool peer_take_change(struct peer *peer, const char *path)
{
    for (int i = 0; i < peer->change_count; i++) {
        if (strcmp(peer->changes[i], path) == 0) {
            peer->change_count--;
            memmove(peer->changes[i], peer->changes[i + 1],
                    (size_t) (peer->change_count - i) * PEER_DATA_MAX);
            return true;
        }
    }
    return false;
}

void peer_await_change(struct peer *peer, const char *path)
{
    const struct timespec until = wait_until();

    pthread_mutex_lock(&peer->lock);
    while (!peer_take_change(peer, path)) {
        peer_wait(peer, &until, path);
    }
    pthread_mutex_unlock(&peer->lock);
}

int peer_told(struct peer *peer)
{
    int count = 0;

    pthread_mutex_lock(&peer->lock);
    count = peer->told_count;
    pthread_mutex_unlock(&peer->lock);
    return count;
}

void peer_await_told(struct peer *peer, int told)
{
    const struct timespec until = wait_until();

    pthread_mutex_lock(&peer->lock);
    while (peer->told_count == told) {
        peer_wait(peer, &until, "a report");
    }
    pthread_mutex_unlock(&peer->lock);
}

/* --- calls --- */

struct asking {
    struct peer *peer;
    const char *path;
    bool watch, list;
    const struct session_op *ops;
    size_t count;
    struct peer_reply reply;
    struct waiter waiter;
};

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *) left, *(char *const *) right);
}

static void on_reply(void *user, const struct session_reply *reply)
{
    struct asking *asking = user;
    size_t at = 0;

    asking->reply.status = reply->status;
    asking->reply.stat = reply->stat;
    memcpy(asking->reply.errors, reply->errors, sizeof(reply->errors));
    (void) snprintf(asking->reply.text, PEER_DATA_MAX, "%.*s", (int) reply->len,
                    reply->data != NULL ? reply->data : "");
    if (reply->count > 1) {
        qsort(reply->names, reply->count, sizeof(*reply->names), compare_names);
    }
    for (size_t i = 0; i < reply->count; i++) {
        at +=
            (size_t) snprintf(asking->reply.text + at, PEER_DATA_MAX - at, "%s ", reply->names[i]);
    }
    waiter_done(&asking->waiter);
}

static void ask(void *user)
{
    struct asking *asking = user;
    struct session *session = asking->peer->session;

    if (asking->ops != NULL) {
        session_write(session, asking->ops, asking->count, on_reply, asking);
    } else if (asking->list) {
        session_children(session, asking->path, asking->watch, on_reply, asking);
    } else {
        session_get(session, asking->path, asking->watch, on_reply, asking);
    }
}

static struct peer_reply peer_ask(struct asking *asking)
{
    waiter_init(&asking->waiter, 1);
    loop_call(asking->peer->loop, ask, asking);
    assert_true(waiter_wait(&asking->waiter, PEER_WAIT_MS));
    waiter_fini(&asking->waiter);
    return asking->reply;
}

struct peer_reply peer_get(struct peer *peer, const char *path, bool watch)
{
    return peer_ask(&(struct asking){.peer = peer, .path = path, .watch = watch});
}

struct peer_reply peer_list(struct peer *peer, const char *path, bool watch)
{
    return peer_ask(&(struct asking){.peer = peer, .path = path, .watch = watch, .list = true});
}

struct peer_reply peer_write(struct peer *peer, const struct session_op *ops, size_t count)
{
    return peer_ask(&(struct asking){.peer = peer, .ops = ops, .count = count});
}

struct peer_reply peer_do(struct peer *peer, enum session_op_kind kind, const char *path,
                          const char *data, int64_t version)
{
    const struct session_op op = {
        .kind = kind, .path = path, .data = data, .len = strlen(data), .version = version};
    struct peer_reply reply = peer_write(peer, &op, 1);

    if (reply.status != SESSION_OK) {
        fail_msg("%s: %s", path, session_status_text(reply.status));
    }
    return reply;
}

struct looking {
    struct peer *peer;
    int64_t reign;
};

static void look(void *user)
{
    struct looking *looking = user;
    const struct session *session = looking->peer->session;

    looking->reign = session->unsettled ? 0 : session->reign;
}

int64_t peer_reign(struct peer *peer)
{
    struct looking looking = {.peer = peer};

    loop_call(peer->loop, look, &looking);
    return looking.reign;
}

/* --- begin and end --- */

static void begin(void *user)
{
    struct peer *peer = user;

    session_start(peer->session, &peer->options);
}

static void end(void *user)
{
    struct peer *peer = user;

    session_stop(peer->session);
}

void peer_begin(struct peer *peer, const char *redis, const char *root, int64_t timeout_ms)
{
    memset(peer, 0, sizeof(*peer));
    pthread_mutex_init(&peer->lock, NULL);
    pthread_cond_init(&peer->told, NULL);
    client_start(&peer->client, redis, 10000);
    assert_int_equal(peer->client.ready, SMQ_OK);
    assert_int_equal(loop_new(&peer->loop, "test:coord", NULL), SMQ_OK);
    peer->port = tree_port_new(peer->client.loop, peer->client.redis, root);
    peer->session = tree_session_new(tree_port_door(peer->port));
    peer->options = (struct session_options){.loop = peer->loop,
                                             .root = root,
                                             .timeout_ms = timeout_ms,
                                             .connected = on_connected,
                                             .disconnected = on_disconnected,
                                             .expired = on_expired,
                                             .denied = on_denied,
                                             .changed = on_changed,
                                             .user = peer};
    loop_call(peer->loop, begin, peer);
}

void peer_start(struct peer *peer, const char *redis, const char *root, int64_t timeout_ms)
{
    peer_begin(peer, redis, root, timeout_ms);
    peer_await(peer, PEER_CONNECTED, 1);
}

static void peer_free(struct peer *peer)
{
    loop_free(peer->loop);
    session_free(peer->session);
    pthread_cond_destroy(&peer->told);
    pthread_mutex_destroy(&peer->lock);
}

void peer_stop(struct peer *peer)
{
    loop_call(peer->loop, end, peer);
    tree_port_free(peer->port);
    client_stop(&peer->client);
    peer_free(peer);
}

static void drop_call(void *user, struct coord_exchange *exchange)
{
    (void) user;
    exchange->drop(exchange);
}

static void forget_channel(void *user, const char *channel)
{
    (void) user;
    (void) channel;
}

static void die(void *user)
{
    struct peer *peer = user;
    struct coord_port *door = (struct coord_port *) tree_port_door(peer->port);

    door->close(door->user);
    door->call = drop_call;
    door->subscribe = door->unsubscribe = forget_channel;
    session_stop(peer->session);
}

void peer_die(struct peer *peer)
{
    loop_call(peer->loop, die, peer);
    tree_port_free(peer->port);
    client_stop(&peer->client);
    peer_free(peer);
}
