/* connection.h - one pipelined connection to one server: connect, secure by TLS, authenticate,
 * check, write, read.
 *
 * Thread: smq:io. */
#ifndef REDIS_CONNECTION_H
#define REDIS_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <hiredis/hiredis.h>

#include "base/event.h"
#include "base/loop.h"
#include "redis/credentials.h"
#include "redis/greeting.h"
#include "redis/servers.h"

struct connection;
struct tls;

/* One request in flight: called back exactly once, in the order of sending. */
struct exchange {
    /* `reply` is valid during the call; NULL: the connection ended before it came.  `written`: the
     * server may have received the request. */
    void (*done)(struct exchange *exchange, const redisReply *reply, bool written);
    size_t max_elements; /* limit for arrays in the reply */
    bool cut;            /* during the call, without a reply: the server ended the connection */
    uint64_t number;     /* private, as all below */
    int64_t sent_ms;
    TAILQ_ENTRY(exchange) link;
};

struct connection_options {
    struct server_address address;
    struct credentials *credentials; /* must outlive the connection */
    struct tls *tls;                 /* NULL: plaintext; must outlive the connection */
    int64_t connect_timeout_ms;
    bool check;               /* refuse old and evicting servers */
    enum greeting_mode *mode; /* set if they are checked; outlives the connection */
    struct events *events;
    int64_t *heard_ms; /* set whenever bytes come, by clock_now_ms(); outlives the connection */
    /* The connection is connected, authenticated and checked: send. */
    void (*ready)(struct connection *connection, void *user);
    /* The connection ended, for another reason than connection_close(); all exchanges have been
     * called back.  The connection must not be used when this returns. */
    void (*ended)(struct connection *connection, smq_status status, const char *text, void *user);
    /* A reply that no exchange waits for (pub/sub).  NULL: such replies end the connection. */
    void (*pushed)(struct connection *connection, const redisReply *reply, void *user);
    /* The connection should be replaced by one that authenticates anew; called again from time to
     * time until it is.  NULL: the connection itself authenticates again. */
    void (*renew)(struct connection *connection, void *user);
    void *user_data;
};

/* Begin to connect.  Never calls back before it returns. */
struct connection *connection_new(struct loop *loop, const struct connection_options *options);

/* Queue bytes; they are written at the end of this turn of the loop, or when several exchanges are
 * queued.  Only after `ready`. */
void connection_send(struct connection *connection, const char *bytes, size_t len,
                     struct exchange *exchange);

/* Queue bytes whose replies come to `pushed`. */
void connection_push(struct connection *connection, const char *bytes, size_t len);

/* Authenticate again, because the server says that the connection is not. */
void connection_renew(struct connection *connection);

/* When the last byte came, by clock_now_ms(). */
int64_t connection_heard_ms(const struct connection *connection);

/* For how long no byte has come although a reply is due; 0: none is due. */
int64_t connection_silent_ms(const struct connection *connection);

bool connection_is_idle(const struct connection *connection); /* no reply is due */

/* End a connection: exchanges are called back (reply NULL), `ended` is not.  The memory is freed
 * when the sockets are closed.  `connection` may be NULL. */
void connection_close(struct connection *connection);

#endif
