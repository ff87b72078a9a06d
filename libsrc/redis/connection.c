/* connection.c - one pipelined connection to one server.
 *
 * Thread: smq:io. */
#include "redis/connection.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "redis/greeting.h"
#include "redis/reply.h"
#include "redis/resolve.h"

enum { READ_SIZE = 64 * 1024, SCRIPTS_MAX = 64, KEEPALIVE_S = 15 };

/* SWITCHING: the socket of an address that failed closes, then the next one is tried. */
enum connection_state { RESOLVING, CONNECTING, SWITCHING, GREETING, READY, CLOSING };

/* Invariants: exchanges numbered up to `flushed` may have reached the server.  `found` is not NULL
 * while CONNECTING or SWITCHING, and `address` is then the one of its list that is tried. */
struct connection {
    struct connection_options options;
    enum connection_state state;
    struct loop *loop;
    uv_connect_t connect;
    uv_tcp_t tcp;
    uv_timer_t timer;     /* of connecting and greeting */
    uv_prepare_t prepare; /* runs while `out` has something to write */
    bool resolving;
    struct addrinfo *found, *address;
    int64_t connect_until_ms;
    int open_handles;
    struct buf out;
    TAILQ_HEAD(, exchange) exchanges;
    uint64_t sent, flushed;
    redisReader *reader;
    struct reply_room room; /* of the reply that is read */
    struct greeting {
        struct exchange exchange; /* first, so that it is found from it */
        struct connection *connection;
        bool info;
    } greeting[2];
    size_t greetings; /* replies still to come */
    int64_t heard_ms;
    char name[SERVER_TEXT_MAX];
    const void *scripts[SCRIPTS_MAX];
    size_t script_count;
    char read[READ_SIZE];
};

/* A write on its way; owns its bytes. */
struct writing {
    uv_write_t request;
    struct buf bytes;
};

static void connection_destroy(struct connection *connection)
{
    redisReaderFree(connection->reader);
    reply_room_fini(&connection->room);
    if (connection->found != NULL) {
        freeaddrinfo(connection->found);
    }
    buf_fini(&connection->out);
    free(connection);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;

    if (--connection->open_handles == 0 && !connection->resolving) {
        connection_destroy(connection);
    }
}

/* Call back every exchange that waits for a reply. */
static void drop_exchanges(struct connection *connection)
{
    struct exchange *exchange;

    while ((exchange = TAILQ_FIRST(&connection->exchanges)) != NULL) {
        TAILQ_REMOVE(&connection->exchanges, exchange, link);
        exchange->done(exchange, NULL, exchange->number <= connection->flushed);
    }
}

void connection_close(struct connection *connection)
{
    if (connection == NULL || connection->state == CLOSING) {
        return;
    }
    connection->state = CLOSING;
    if (!uv_is_closing((uv_handle_t *) &connection->tcp)) {
        uv_close((uv_handle_t *) &connection->tcp, on_handle_closed);
    }
    uv_close((uv_handle_t *) &connection->timer, on_handle_closed);
    uv_close((uv_handle_t *) &connection->prepare, on_handle_closed);
    drop_exchanges(connection);
}

static void fail(struct connection *connection, smq_status status, const char *what)
{
    char text[SERVER_TEXT_MAX + 304];

    if (connection->state == CLOSING) {
        return;
    }
    (void) snprintf(text, sizeof(text), "%s: %.300s", connection->name, what);
    connection_close(connection);
    connection->options.ended(connection, status, text, connection->options.user_data);
}

/* --- writing --------------------------------------------------------------------------------- */

static void on_written(uv_write_t *request, int status)
{
    struct writing *writing = request->data;
    struct connection *connection = request->handle->data;

    buf_fini(&writing->bytes);
    free(writing);
    if (status < 0 && status != UV_ECANCELED) {
        fail(connection, SMQ_UNAVAILABLE, uv_strerror(status));
    }
}

/* Write what was queued in this turn: at once what the socket takes, the rest when it can. */
static void flush(struct connection *connection)
{
    uv_buf_t bytes = uv_buf_init(connection->out.data, (unsigned) connection->out.len);
    int taken = 0;

    uv_prepare_stop(&connection->prepare);
    connection->flushed = connection->sent;
    if (uv_stream_get_write_queue_size((uv_stream_t *) &connection->tcp) == 0) {
        taken = uv_try_write((uv_stream_t *) &connection->tcp, &bytes, 1);
    }
    if (taken > 0) {
        buf_consume(&connection->out, (size_t) taken);
    }
    if (connection->out.len == 0) {
        return;
    }
    struct writing *writing = memory_new(sizeof(*writing));
    writing->bytes = connection->out;
    writing->request.data = writing;
    memset(&connection->out, 0, sizeof(connection->out));
    bytes = uv_buf_init(writing->bytes.data, (unsigned) writing->bytes.len);
    int failed =
        uv_write(&writing->request, (uv_stream_t *) &connection->tcp, &bytes, 1, on_written);
    if (failed != 0) {
        buf_fini(&writing->bytes);
        free(writing);
        fail(connection, SMQ_UNAVAILABLE, uv_strerror(failed));
    }
}

static void on_prepare(uv_prepare_t *prepare)
{
    flush(prepare->data);
}

void connection_push(struct connection *connection, const char *bytes, size_t len)
{
    if (connection->state == CLOSING) {
        return;
    }
    if (connection->out.len == 0) {
        uv_prepare_start(&connection->prepare, on_prepare);
    }
    buf_add(&connection->out, bytes, len);
}

void connection_send(struct connection *connection, const char *bytes, size_t len,
                     struct exchange *exchange)
{
    assert(connection->state != CLOSING);
    exchange->number = ++connection->sent;
    exchange->sent_ms = clock_now_ms();
    TAILQ_INSERT_TAIL(&connection->exchanges, exchange, link);
    connection_push(connection, bytes, len);
}

/* --- reading --------------------------------------------------------------------------------- */

static void take_reply(struct connection *connection, redisReply *reply)
{
    struct exchange *exchange = TAILQ_FIRST(&connection->exchanges);

    if (exchange != NULL) {
        TAILQ_REMOVE(&connection->exchanges, exchange, link);
        exchange->done(exchange, reply, true);
    } else if (connection->options.pushed != NULL) {
        connection->options.pushed(connection, reply, connection->options.user_data);
    } else {
        fail(connection, SMQ_UNAVAILABLE, "it sent a reply that nobody asked for");
    }
}

static void parse(struct connection *connection)
{
    while (connection->state != CLOSING) {
        struct exchange *exchange = TAILQ_FIRST(&connection->exchanges);
        void *reply = NULL;
        connection->room.max_elements = exchange != NULL ? exchange->max_elements : 8;
        if (redisReaderGetReply(connection->reader, &reply) != REDIS_OK) {
            fail(connection, SMQ_UNAVAILABLE, "it sent something that is no reply");
            return;
        }
        if (reply == NULL) {
            return;
        }
        take_reply(connection, reply);
        reply_room_clear(&connection->room);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct connection *connection = handle->data;

    (void) suggested;
    *buf = uv_buf_init(connection->read, READ_SIZE);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct connection *connection = stream->data;

    if (len < 0) {
        fail(connection, SMQ_UNAVAILABLE,
             len == UV_EOF ? "it closed the connection" : uv_strerror((int) len));
        return;
    }
    connection->heard_ms = clock_now_ms();
    if (redisReaderFeed(connection->reader, buf->base, (size_t) len) != REDIS_OK ||
        connection->reader->len > REPLY_UNREAD_MAX) {
        fail(connection, SMQ_UNAVAILABLE, "it sent more than any reply can hold");
        return;
    }
    parse(connection);
}

/* --- connecting ------------------------------------------------------------------------------ */

static void become_ready(struct connection *connection)
{
    connection->state = READY;
    uv_timer_stop(&connection->timer);
    connection->options.ready(connection, connection->options.user_data);
}

/* AUTH: any error means that we are not let in.  INFO: what kind of server is it? */
static void on_greeting(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct greeting *greeting = (struct greeting *) exchange;
    struct connection *connection = greeting->connection;
    char why[256];

    (void) written;
    if (reply == NULL) {
        return;
    }
    smq_status status = greeting->info ? greeting_check_info(why, sizeof(why), reply)
                                       : greeting_check_auth(why, sizeof(why), reply);
    if (status != SMQ_OK) {
        fail(connection, status, why);
        return;
    }
    if (greeting->info && why[0] != '\0') {
        events_log(connection->options.events, SMQ_LEVEL_WARN,
                   "%s: its version and eviction cannot be checked: %s", connection->name, why);
    }
    if (--connection->greetings == 0) {
        become_ready(connection);
    }
}

static void greet(struct connection *connection, bool info, const char **argv, int argc)
{
    struct greeting *greeting = &connection->greeting[connection->greetings++];
    char *bytes = NULL;
    long long len = redisFormatCommandArgv(&bytes, argc, argv, NULL);

    greeting->connection = connection;
    greeting->info = info;
    greeting->exchange.done = on_greeting;
    greeting->exchange.max_elements = 64;
    connection_send(connection, bytes, (size_t) len, &greeting->exchange);
    redisFreeCommand(bytes);
}

static void connect_to_address(struct connection *connection);

static void adopt(struct connection *connection, uv_handle_t *handle)
{
    handle->data = connection;
    connection->open_handles++;
}

/* The socket of a failed address has closed; perhaps the connection was given up meanwhile. */
static void on_switched(uv_handle_t *handle)
{
    struct connection *connection = handle->data;

    if (connection->state == CLOSING) {
        on_handle_closed(handle);
        return;
    }
    connection->open_handles--;
    (void) uv_tcp_init(loop_uv(connection->loop), &connection->tcp);
    adopt(connection, (uv_handle_t *) &connection->tcp);
    connect_to_address(connection);
}

/* On to the next address of the name, if there is one. */
static void address_failed(struct connection *connection, const char *why)
{
    if (connection->address->ai_next == NULL) {
        fail(connection, SMQ_UNAVAILABLE, why);
        return;
    }
    connection->address = connection->address->ai_next;
    connection->state = SWITCHING;
    uv_timer_stop(&connection->timer);
    uv_close((uv_handle_t *) &connection->tcp, on_switched);
}

static void on_timeout(uv_timer_t *timer)
{
    struct connection *connection = timer->data;

    if (connection->state == CONNECTING) {
        address_failed(connection, "no answer in time");
    } else {
        fail(connection, SMQ_UNAVAILABLE, "no answer in time");
    }
}

static void start_timer(struct connection *connection, int64_t share)
{
    int64_t left = connection->connect_until_ms - clock_now_ms();

    uv_timer_start(&connection->timer, on_timeout, (uint64_t) (left > 0 ? left / share : 0), 0);
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct connection *connection = connect->data;
    const struct connection_options *options = &connection->options;

    if (status == UV_ECANCELED) {
        return; /* the socket was closed by us */
    }
    if (status < 0) {
        address_failed(connection, uv_strerror(status));
        return;
    }
    start_timer(connection, 1);
    connection->state = GREETING;
    (void) uv_tcp_nodelay(&connection->tcp, 1);
    (void) uv_tcp_keepalive(&connection->tcp, 1, KEEPALIVE_S);
    (void) uv_read_start((uv_stream_t *) &connection->tcp, on_alloc, on_read);
    if (options->password[0] != '\0' && options->user[0] != '\0') {
        greet(connection, false, (const char *[]){"AUTH", options->user, options->password}, 3);
    } else if (options->password[0] != '\0') {
        greet(connection, false, (const char *[]){"AUTH", options->password}, 2);
    }
    if (options->check) {
        greet(connection, true, (const char *[]){"INFO"}, 1);
    }
    if (connection->greetings == 0) {
        become_ready(connection);
    }
}

/* An address gets its share of the time that is left, so that one behind which nobody answers does
 * not use up that of the others. */
static void connect_to_address(struct connection *connection)
{
    int64_t share = 1;

    for (const struct addrinfo *at = connection->address; at->ai_next != NULL; at = at->ai_next) {
        share++;
    }
    connection->state = CONNECTING;
    start_timer(connection, share);
    descriptors_reserve(); /* the application may have closed one since */
    int failed = uv_tcp_connect(&connection->connect, &connection->tcp,
                                connection->address->ai_addr, on_connected);
    if (failed != 0) {
        address_failed(connection, uv_strerror(failed));
    }
}

static void on_resolved(struct addrinfo *found, const char *why, void *user)
{
    struct connection *connection = user;

    connection->resolving = false;
    connection->found = found;
    connection->address = found;
    if (connection->state != CLOSING && found == NULL) {
        fail(connection, SMQ_UNAVAILABLE, why);
    } else if (connection->state != CLOSING) {
        connect_to_address(connection);
    } else if (connection->open_handles == 0) {
        connection_destroy(connection);
    }
}

/* Runs in the first turn, so that connection_new() itself never calls back. */
static void on_start(uv_timer_t *timer)
{
    struct connection *connection = timer->data;

    connection->connect_until_ms = clock_now_ms() + connection->options.connect_timeout_ms;
    start_timer(connection, 1);
    connection->resolving = true;
    resolve(connection->loop, connection->options.address.host, connection->options.address.port,
            on_resolved, connection);
}

struct connection *connection_new(struct loop *loop, const struct connection_options *options)
{
    struct connection *connection = memory_new(sizeof(*connection));

    connection->options = *options;
    connection->loop = loop;
    connection->state = RESOLVING;
    connection->heard_ms = clock_now_ms();
    connection->reader = reply_reader_new(&connection->room);
    if (connection->reader == NULL) {
        abort(); /* out of memory, as in base/memory.h */
    }
    TAILQ_INIT(&connection->exchanges);
    server_address_format(connection->name, &options->address);
    (void) uv_tcp_init(loop_uv(connection->loop), &connection->tcp);
    (void) uv_timer_init(loop_uv(connection->loop), &connection->timer);
    (void) uv_prepare_init(loop_uv(connection->loop), &connection->prepare);
    adopt(connection, (uv_handle_t *) &connection->tcp);
    adopt(connection, (uv_handle_t *) &connection->timer);
    adopt(connection, (uv_handle_t *) &connection->prepare);
    connection->connect.data = connection;
    uv_timer_start(&connection->timer, on_start, 0, 0);
    return connection;
}

int64_t connection_heard_ms(const struct connection *connection)
{
    return connection->heard_ms;
}

int64_t connection_silent_ms(const struct connection *connection)
{
    const struct exchange *oldest = TAILQ_FIRST(&connection->exchanges);

    if (oldest == NULL) {
        return 0;
    }
    return clock_now_ms() -
           (oldest->sent_ms > connection->heard_ms ? oldest->sent_ms : connection->heard_ms);
}

bool connection_is_idle(const struct connection *connection)
{
    return TAILQ_EMPTY(&connection->exchanges);
}

/* --- scripts --------------------------------------------------------------------------------- */

static size_t find_script(const struct connection *connection, const void *script)
{
    size_t i = 0;

    while (i < connection->script_count && connection->scripts[i] != script) {
        i++;
    }
    return i;
}

bool connection_knows(const struct connection *connection, const void *script)
{
    return find_script(connection, script) < connection->script_count;
}

void connection_learn(struct connection *connection, const void *script)
{
    if (!connection_knows(connection, script) && connection->script_count < SCRIPTS_MAX) {
        connection->scripts[connection->script_count++] = script;
    }
}

void connection_forget(struct connection *connection, const void *script)
{
    size_t at = find_script(connection, script);

    if (at < connection->script_count) {
        connection->scripts[at] = connection->scripts[--connection->script_count];
    }
}
