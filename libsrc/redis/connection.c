/* connection.c - one pipelined connection to one server.
 *
 * Thread: smq:io. */
#include "redis/connection.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "redis/greeting.h"
#include "redis/redirect.h"
#include "redis/reply.h"
#include "redis/resolve.h"
#include "redis/states.h"
#include "redis/tls.h"

enum { READ_SIZE = 64 * 1024, KEEPALIVE_S = 15, NEXT_TO_SECRET = 1024 };
enum { EARLY = 8 }; /* commands that are written before the turn of the loop ends: decision 77 */

/* Invariants: `state` changes in connection_enter() alone.  Exchanges numbered up to `flushed` may
 * have reached the server.  `found` is not NULL while CONNECTING or SWITCHING, unless it is a unix
 * socket, and `address` is then the one of its list that is tried. */
struct connection {
    struct connection_options options;
    enum connection_state state;
    struct loop *loop;
    uv_connect_t connect;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe; /* of a unix socket */
    } socket;
    uv_timer_t timer;     /* limits connecting and greeting */
    uv_prepare_t prepare; /* runs while `out` has something to write */
    bool resolving;
    struct addrinfo *found, *address;
    int64_t connect_until_ms, timeout_ms; /* all of it; what `timer` waits for */
    int open_handles;
    struct buf out;
    bool secret;               /* a password is in `out`, or was written from there */
    struct tls_stream *stream; /* NULL: plaintext, or not connected yet */
    struct buf plain;          /* what came through `stream` */
    TAILQ_HEAD(, exchange) exchanges;
    uint64_t sent, flushed;
    bool cut; /* the server has ended it */
    redisReader *reader;
    struct reply_room room; /* memory of the reply that is being read */
    struct greeting {
        struct exchange exchange;
        struct connection *connection;
        bool info;
    } greeting[2];
    size_t greetings; /* replies that are still to come */
    struct credentials_login login;
    struct exchange renewal;
    bool renewing; /* the reply to `renewal` is due */
    int64_t heard_ms;
    bool heard; /* the server has sent at least one byte */
    char name[SERVER_TEXT_MAX];
    char read[READ_SIZE];
};

/* A write in flight; owns its bytes. */
struct writing {
    uv_write_t request;
    struct buf bytes;
    bool secret; /* they hold a password */
};

static bool connection_is_unix(const struct connection *connection)
{
    return server_address_is_unix(&connection->options.address);
}

static void connection_check(const struct connection *connection)
{
    enum connection_state state = connection->state;
    bool trying = state == CONNECTION_CONNECTING || state == CONNECTION_SWITCHING;
    const struct addrinfo *at = connection->found;

    while (at != NULL && at != connection->address) {
        at = at->ai_next;
    }
    assert(!trying || at != NULL || connection_is_unix(connection));
    assert(!connection->resolving || state == CONNECTION_RESOLVING || state == CONNECTION_CLOSING);
    assert(connection->flushed <= connection->sent);
    assert(state >= CONNECTION_GREETING || TAILQ_EMPTY(&connection->exchanges));
    assert(state != CONNECTION_READY || connection->greetings == 0);
    assert(!connection->renewing || state == CONNECTION_READY);
}

/* The one place where a state changes. */
static void connection_enter(struct connection *connection, enum connection_state state)
{
    assert(states_connection_may(connection->state, state));
    connection->state = state;
    CHECK(connection_check(connection));
}

/* Free bytes that were written, or will not be. */
static void connection_free_bytes(struct buf *bytes, bool secret)
{
    if (secret && bytes->data != NULL) {
        explicit_bzero(bytes->data, bytes->size);
    }
    buf_fini(bytes);
}

static void connection_destroy(struct connection *connection)
{
    redisReaderFree(connection->reader);
    reply_room_fini(&connection->room);
    if (connection->found != NULL) {
        freeaddrinfo(connection->found);
    }
    tls_stream_free(connection->stream);
    connection_free_bytes(&connection->out, connection->secret);
    buf_fini(&connection->plain);
    free(connection);
}

static void connection_on_handle_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;

    if (--connection->open_handles == 0 && !connection->resolving) {
        connection_destroy(connection);
    }
}

/* Call back every exchange that waits for a reply. */
static void connection_drop_exchanges(struct connection *connection)
{
    struct exchange *exchange;

    while ((exchange = TAILQ_FIRST(&connection->exchanges)) != NULL) {
        TAILQ_REMOVE(&connection->exchanges, exchange, link);
        exchange->cut = connection->cut;
        exchange->done(exchange, NULL, exchange->number <= connection->flushed);
    }
}

void connection_close(struct connection *connection)
{
    if (connection == NULL || connection->state == CONNECTION_CLOSING) {
        return;
    }
    connection->renewing = false;
    credentials_leave(&connection->login);
    connection_enter(connection, CONNECTION_CLOSING);
    if (!uv_is_closing(&connection->socket.handle)) {
        uv_close(&connection->socket.handle, connection_on_handle_closed);
    }
    uv_close((uv_handle_t *) &connection->timer, connection_on_handle_closed);
    uv_close((uv_handle_t *) &connection->prepare, connection_on_handle_closed);
    connection_drop_exchanges(connection);
}

static void connection_fail(struct connection *connection, smq_status status, const char *what)
{
    char text[SERVER_TEXT_MAX + 304];

    if (connection->state == CONNECTION_CLOSING) {
        return;
    }
    (void) snprintf(text, sizeof(text), "%s: %.300s", connection->name, what);
    connection_close(connection);
    connection->options.ended(connection, status, text, connection->options.user_data);
}

/* --- writing --------------------------------------------------------------------------------- */

static void connection_take(struct connection *connection, const char *bytes, size_t len);

/* The server takes nothing more.  What it has replied before it closed the connection may say
 * why. */
static void connection_write_failed(struct connection *connection, const char *why)
{
    uv_os_fd_t descriptor;
    ssize_t len;

    while (connection->state != CONNECTION_CLOSING &&
           uv_fileno(&connection->socket.handle, &descriptor) == 0 &&
           (len = recv(descriptor, connection->read, READ_SIZE, MSG_DONTWAIT)) > 0) {
        connection_take(connection, connection->read, (size_t) len);
    }
    connection->cut = true;
    connection_fail(connection, SMQ_UNAVAILABLE, why);
}

static void connection_on_written(uv_write_t *request, int status)
{
    struct writing *writing = request->data;
    struct connection *connection = request->handle->data;

    connection_free_bytes(&writing->bytes, writing->secret);
    free(writing);
    if (status < 0 && status != UV_ECANCELED) {
        connection_write_failed(connection, greeting_cut(status, connection->heard));
    }
}

/* Replace what is queued by what TLS makes of it.  false: the connection has ended. */
static bool connection_encrypt(struct connection *connection)
{
    smq_error err;

    if (tls_stream_send(connection->stream, connection->out.data, connection->out.len, &err) !=
        SMQ_OK) {
        connection_fail(connection, err.status, err.text);
        return false;
    }
    if (connection->secret) {
        explicit_bzero(connection->out.data, connection->out.size);
        connection->secret = false;
    }
    buf_clear(&connection->out);
    tls_stream_take(connection->stream, &connection->out);
    return true;
}

/* Write what the socket takes now. */
static void connection_write(struct connection *connection)
{
    uv_buf_t bytes = uv_buf_init(connection->out.data, (unsigned) connection->out.len);
    int taken = 0;

    connection->flushed = connection->sent;
    if (bytes.len > 0 && uv_stream_get_write_queue_size(&connection->socket.stream) == 0) {
        taken = uv_try_write(&connection->socket.stream, &bytes, 1);
    }
    if (taken > 0) {
        buf_consume(&connection->out, (size_t) taken);
    }
}

/* Write what was queued in this turn: what the socket takes now, the rest when it is writable. */
static void connection_flush(struct connection *connection)
{
    uv_prepare_stop(&connection->prepare);
    if (connection->stream != NULL && !connection_encrypt(connection)) {
        return;
    }
    connection_write(connection);
    if (connection->out.len == 0) {
        if (connection->secret) {
            explicit_bzero(connection->out.data, connection->out.size);
            connection->secret = false;
        }
        return;
    }
    struct writing *writing = memory_new(sizeof(*writing));
    writing->bytes = connection->out;
    writing->secret = connection->secret;
    connection->secret = false;
    writing->request.data = writing;
    memset(&connection->out, 0, sizeof(connection->out));
    uv_buf_t bytes = uv_buf_init(writing->bytes.data, (unsigned) writing->bytes.len);
    int failed =
        uv_write(&writing->request, &connection->socket.stream, &bytes, 1, connection_on_written);
    if (failed != 0) {
        connection_free_bytes(&writing->bytes, writing->secret);
        free(writing);
        connection_fail(connection, SMQ_UNAVAILABLE, uv_strerror(failed));
    }
}

static void connection_on_prepare(uv_prepare_t *prepare)
{
    connection_flush(prepare->data);
}

void connection_push(struct connection *connection, const char *bytes, size_t len)
{
    if (connection->state == CONNECTION_CLOSING) {
        return;
    }
    if (connection->out.len == 0) {
        uv_prepare_start(&connection->prepare, connection_on_prepare);
    }
    buf_add(&connection->out, bytes, len);
}

void connection_send(struct connection *connection, const char *bytes, size_t len,
                     struct exchange *exchange)
{
    assert(connection->state != CONNECTION_CLOSING);
    exchange->number = ++connection->sent;
    exchange->sent_ms = clock_now_ms();
    TAILQ_INSERT_TAIL(&connection->exchanges, exchange, link);
    connection_push(connection, bytes, len);
    if (connection->sent - connection->flushed == EARLY && connection->stream == NULL &&
        !connection->secret && connection->state == CONNECTION_READY) {
        connection_write(connection); /* the server begins before all are rendered */
    }
}

/* --- reading --------------------------------------------------------------------------------- */

static void connection_on_reply(struct connection *connection, redisReply *reply)
{
    struct exchange *exchange = TAILQ_FIRST(&connection->exchanges);
    char why[256];

    if (exchange != NULL && redirect_ends_connection(reply)) {
        connection->flushed = exchange->number; /* the server reads nothing that came after it */
        (void) snprintf(why, sizeof(why), "%s", reply->str);
        TAILQ_REMOVE(&connection->exchanges, exchange, link);
        exchange->done(exchange, reply, true);
        connection_fail(connection, SMQ_UNAVAILABLE, why);
    } else if (exchange != NULL) {
        TAILQ_REMOVE(&connection->exchanges, exchange, link);
        exchange->done(exchange, reply, true);
    } else if (connection->options.pushed != NULL) {
        connection->options.pushed(connection, reply, connection->options.user_data);
    } else {
        connection_fail(connection, SMQ_UNAVAILABLE, "it sent a reply without a request");
    }
}

static void connection_parse(struct connection *connection)
{
    while (connection->state != CONNECTION_CLOSING) {
        struct exchange *exchange = TAILQ_FIRST(&connection->exchanges);
        void *reply = NULL;
        connection->room.max_elements = exchange != NULL ? exchange->max_elements : 8;
        if (redisReaderGetReply(connection->reader, &reply) != REDIS_OK) {
            connection_fail(connection, SMQ_UNAVAILABLE, "it sent bytes that are no reply");
            return;
        }
        if (reply == NULL) {
            return;
        }
        connection_on_reply(connection, reply);
        reply_room_clear(&connection->room);
    }
}

static void connection_feed(struct connection *connection, const char *bytes, size_t len)
{
    if (redisReaderFeed(connection->reader, bytes, len) != REDIS_OK ||
        connection->reader->len > REPLY_UNREAD_MAX) {
        connection_fail(connection, SMQ_UNAVAILABLE, "it sent more than any reply can hold");
        return;
    }
    connection_parse(connection);
}

static void connection_begin_greeting(struct connection *connection);

/* What came before the end of the connection is read first, as without TLS. */
static void connection_decrypt(struct connection *connection, const char *bytes, size_t len)
{
    smq_error err;
    smq_status status;

    buf_clear(&connection->plain);
    status = tls_stream_receive(connection->stream, bytes, len, &connection->plain, &err);
    connection_flush(connection);
    if (connection->state == CONNECTION_SECURING && tls_stream_is_secure(connection->stream)) {
        connection_begin_greeting(connection);
    }
    if (connection->plain.len > 0 && connection->state != CONNECTION_CLOSING) {
        connection_feed(connection, connection->plain.data, connection->plain.len);
    }
    if (status != SMQ_OK) {
        connection_fail(connection, err.status, err.text);
    }
}

static void connection_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct connection *connection = handle->data;

    (void) suggested;
    *buf = uv_buf_init(connection->read, READ_SIZE);
}

static void connection_take(struct connection *connection, const char *bytes, size_t len)
{
    connection->heard = true;
    connection->heard_ms = *connection->options.heard_ms = clock_now_ms();
    if (connection->stream != NULL) {
        connection_decrypt(connection, bytes, len);
    } else {
        connection_feed(connection, bytes, len);
    }
}

static void connection_on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct connection *connection = stream->data;

    if (len < 0) {
        connection->cut = true;
        connection_fail(connection, SMQ_UNAVAILABLE, greeting_cut((int) len, connection->heard));
        return;
    }
    connection_take(connection, buf->base, (size_t) len);
}

/* --- connecting ------------------------------------------------------------------------------ */

static void connection_become_ready(struct connection *connection)
{
    connection_enter(connection, CONNECTION_READY);
    uv_timer_stop(&connection->timer);
    credentials_accepted(&connection->login);
    connection->options.ready(connection, connection->options.user_data);
}

/* The server refuses the client.  Returns the status with which the connection ends. */
static smq_status connection_refused(struct connection *connection, const char *why)
{
    char text[SERVER_TEXT_MAX + 304];

    (void) snprintf(text, sizeof(text), "%s: %.300s", connection->name, why);
    return credentials_refused(connection->options.credentials, text);
}

/* The reply of AUTH, where any error ends the connection; or of INFO, which tells the kind of
 * server. */
static void connection_on_greeting(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct greeting *greeting = OWNER_OF(exchange, struct greeting, exchange);
    struct connection *connection = greeting->connection;
    char why[256];

    (void) written;
    if (reply == NULL) {
        return;
    }
    smq_status status = greeting->info ? greeting_check_info(why, sizeof(why), reply)
                                       : greeting_check_auth(why, sizeof(why), reply);
    if (status != SMQ_OK) {
        status = status == SMQ_DENIED ? connection_refused(connection, why) : status;
        connection_fail(connection, status, why);
        return;
    }
    if (greeting->info) {
        *connection->options.mode = greeting_mode(reply);
    }
    if (greeting->info && why[0] != '\0') {
        events_log(connection->options.events, SMQ_LEVEL_WARN,
                   "%s: its version and eviction cannot be checked: %s", connection->name, why);
    }
    if (--connection->greetings == 0) {
        connection_become_ready(connection);
    }
}

static struct exchange *connection_add_greeting(struct connection *connection, bool info)
{
    struct greeting *greeting = &connection->greeting[connection->greetings++];

    greeting->connection = connection;
    greeting->info = info;
    greeting->exchange.done = connection_on_greeting;
    greeting->exchange.max_elements = 64;
    return &greeting->exchange;
}

/* Queue AUTH.  The buffer has room for what follows in this turn, so that it does not move and
 * leave a copy behind. */
static void connection_send_auth(struct connection *connection, struct exchange *exchange,
                                 const struct credentials_pair *pair)
{
    const bool named = pair->user[0] != '\0';
    const char *argv[] = {"AUTH", named ? pair->user : pair->password, pair->password};
    char *bytes = NULL;
    long long len = redisFormatCommandArgv(&bytes, named ? 3 : 2, argv, NULL);

    (void) buf_room(&connection->out, (size_t) len + NEXT_TO_SECRET);
    connection->secret = true;
    connection_send(connection, bytes, (size_t) len, exchange);
    explicit_bzero(bytes, (size_t) len);
    redisFreeCommand(bytes);
}

/* --- authenticating again -------------------------------------------------------------------- */

/* A connection whose AUTH is refused stays what it was; it tries again later. */
static void connection_on_renewed(struct exchange *exchange, const redisReply *reply, bool written)
{
    struct connection *connection = OWNER_OF(exchange, struct connection, renewal);
    char why[256];

    (void) written;
    if (reply == NULL) {
        return;
    }
    connection->renewing = false;
    switch (greeting_check_auth(why, sizeof(why), reply)) {
    case SMQ_OK:
        credentials_accepted(&connection->login);
        break;
    case SMQ_DENIED:
        (void) connection_refused(connection, why);
        break;
    default:
        break;
    }
}

void connection_renew(struct connection *connection)
{
    if (connection->state != CONNECTION_READY || connection->renewing) {
        return;
    }
    if (connection->options.renew != NULL) {
        connection->options.renew(connection, connection->options.user_data);
        return;
    }
    credentials_ask(&connection->login);
}

static void connection_on_renew(struct credentials_login *login)
{
    connection_renew(OWNER_OF(login, struct connection, login));
}

static void connection_send_renewal(struct connection *connection,
                                    const struct credentials_pair *pair, const char *why)
{
    if (pair == NULL) {
        (void) connection_refused(connection, why);
        return;
    }
    if (pair->password[0] == '\0' || connection->renewing) {
        return;
    }
    connection->renewing = true;
    connection->renewal.done = connection_on_renewed;
    connection->renewal.max_elements = 1;
    connection_send_auth(connection, &connection->renewal, pair);
}

/* --- connecting, continued ------------------------------------------------------------------- */

static void connection_try_address(struct connection *connection);

static void connection_adopt(struct connection *connection, uv_handle_t *handle)
{
    handle->data = connection;
    connection->open_handles++;
}

/* The socket of a failed address has closed; perhaps the connection was closed in the meantime. */
static void connection_on_switched(uv_handle_t *handle)
{
    struct connection *connection = handle->data;

    if (connection->state == CONNECTION_CLOSING) {
        connection_on_handle_closed(handle);
        return;
    }
    connection->open_handles--;
    (void) uv_tcp_init(loop_uv(connection->loop), &connection->socket.tcp);
    connection_adopt(connection, &connection->socket.handle);
    connection_try_address(connection);
}

/* Try the next address of the name, if there is one. */
static void connection_address_failed(struct connection *connection, const char *why)
{
    if (connection->address == NULL || connection->address->ai_next == NULL) {
        connection_fail(connection, SMQ_UNAVAILABLE, why);
        return;
    }
    connection->address = connection->address->ai_next;
    connection_enter(connection, CONNECTION_SWITCHING);
    uv_timer_stop(&connection->timer);
    uv_close(&connection->socket.handle, connection_on_switched);
}

static void connection_on_timeout(uv_timer_t *timer)
{
    struct connection *connection = timer->data;

    if (loop_polled_ms(connection->loop) < connection->timeout_ms) {
        uv_timer_start(timer, connection_on_timeout, 1, 0);
    } else if (connection->state == CONNECTION_CONNECTING) {
        connection_address_failed(connection, "no reply in time");
    } else if (connection->state == CONNECTION_SECURING) {
        connection_fail(connection, SMQ_UNAVAILABLE,
                        "no answer to TLS in time; perhaps it does not speak TLS on this port");
    } else {
        connection_fail(connection, SMQ_UNAVAILABLE, "no reply in time");
    }
}

static void connection_start_timer(struct connection *connection, int64_t share)
{
    int64_t now_ms = clock_now_ms(), left = connection->connect_until_ms - now_ms;
    int64_t ms = left > 0 ? left / share : 0;

    connection->timeout_ms = now_ms + ms;
    uv_timer_start(&connection->timer, connection_on_timeout, (uint64_t) ms, 0);
}

static void connection_greet(struct connection *connection, const struct credentials_pair *pair,
                             const char *why)
{
    if (pair == NULL) {
        connection_fail(connection, connection_refused(connection, why), why);
        return;
    }
    if (pair->password[0] != '\0') {
        connection_send_auth(connection, connection_add_greeting(connection, false), pair);
    }
    if (connection->options.check) {
        connection_send(connection, "*1\r\n$4\r\nINFO\r\n", strlen("*1\r\n$4\r\nINFO\r\n"),
                        connection_add_greeting(connection, true));
    }
    if (connection->greetings == 0) {
        connection_become_ready(connection);
    }
}

static void connection_on_answered(struct credentials_login *login,
                                   const struct credentials_pair *pair, const char *why)
{
    struct connection *connection = OWNER_OF(login, struct connection, login);

    if (connection->state == CONNECTION_GREETING) {
        connection_greet(connection, pair, why);
    } else {
        connection_send_renewal(connection, pair, why);
    }
}

/* The server is asked as soon as it can hear. */
static void connection_begin_greeting(struct connection *connection)
{
    connection_enter(connection, CONNECTION_GREETING);
    credentials_ask(&connection->login);
}

static void connection_begin_securing(struct connection *connection)
{
    smq_error err;

    connection_enter(connection, CONNECTION_SECURING);
    connection->stream =
        tls_stream_new(connection->options.tls, &connection->options.address, &err);
    if (connection->stream == NULL) {
        connection_fail(connection, SMQ_UNAVAILABLE, err.text);
        return;
    }
    connection_flush(connection);
}

static void connection_on_connected(uv_connect_t *connect, int status)
{
    struct connection *connection = connect->data;

    if (status == UV_ECANCELED) {
        return; /* this client closed the socket */
    }
    if (status < 0) {
        connection_address_failed(connection, uv_strerror(status));
        return;
    }
    connection_start_timer(connection, 1);
    if (!connection_is_unix(connection)) {
        (void) uv_tcp_nodelay(&connection->socket.tcp, 1);
        (void) uv_tcp_keepalive(&connection->socket.tcp, 1, KEEPALIVE_S);
    }
    (void) uv_read_start(&connection->socket.stream, connection_on_alloc, connection_on_read);
    if (connection->options.tls != NULL) {
        connection_begin_securing(connection);
    } else {
        connection_begin_greeting(connection);
    }
}

/* Each address gets an equal share of the time that is left, so that an address where no server
 * answers does not use up the time of the others. */
static void connection_try_address(struct connection *connection)
{
    int64_t share = 1;

    for (const struct addrinfo *at = connection->address; at->ai_next != NULL; at = at->ai_next) {
        share++;
    }
    connection_enter(connection, CONNECTION_CONNECTING);
    connection_start_timer(connection, share);
    descriptors_reserve(); /* the application may have closed one of them */
    int failed = uv_tcp_connect(&connection->connect, &connection->socket.tcp,
                                connection->address->ai_addr, connection_on_connected);
    if (failed != 0) {
        connection_address_failed(connection, uv_strerror(failed));
    }
}

static void connection_on_resolved(struct addrinfo *found, const char *why, void *user)
{
    struct connection *connection = user;

    connection->resolving = false;
    connection->found = found;
    connection->address = found;
    if (connection->state == CONNECTION_CLOSING) {
        if (connection->open_handles == 0) {
            connection_destroy(connection);
        }
        return;
    }
    if (found == NULL) {
        connection_fail(connection, SMQ_UNAVAILABLE, why);
        return;
    }
    connection_try_address(connection);
}

static void connection_try_path(struct connection *connection)
{
    connection_enter(connection, CONNECTION_CONNECTING);
    descriptors_reserve();
    uv_pipe_connect(&connection->connect, &connection->socket.pipe,
                    connection->options.address.host, connection_on_connected);
}

/* The timer runs this in the first turn, so that connection_new() itself never calls back. */
static void connection_on_start(uv_timer_t *timer)
{
    struct connection *connection = timer->data;

    connection->connect_until_ms = clock_now_ms() + connection->options.connect_timeout_ms;
    connection_start_timer(connection, 1);
    if (connection_is_unix(connection)) {
        connection_try_path(connection);
        return;
    }
    connection->resolving = true;
    resolve(connection->loop, connection->options.address.host, connection->options.address.port,
            connection_on_resolved, connection);
}

struct connection *connection_new(struct loop *loop, const struct connection_options *options)
{
    struct connection *connection = memory_new(sizeof(*connection));

    connection->options = *options;
    connection->loop = loop;
    connection->heard_ms = clock_now_ms();
    while ((connection->reader = reply_reader_new(&connection->room)) == NULL) {
        memory_lacks(0);
    }
    TAILQ_INIT(&connection->exchanges);
    server_address_format(connection->name, &options->address);
    if (connection_is_unix(connection)) {
        (void) uv_pipe_init(loop_uv(connection->loop), &connection->socket.pipe, 0);
    } else {
        (void) uv_tcp_init(loop_uv(connection->loop), &connection->socket.tcp);
    }
    (void) uv_timer_init(loop_uv(connection->loop), &connection->timer);
    (void) uv_prepare_init(loop_uv(connection->loop), &connection->prepare);
    connection_adopt(connection, &connection->socket.handle);
    connection_adopt(connection, (uv_handle_t *) &connection->timer);
    connection_adopt(connection, (uv_handle_t *) &connection->prepare);
    connection->connect.data = connection;
    connection->login.answered = connection_on_answered;
    connection->login.renew = connection_on_renew;
    credentials_join(options->credentials, &connection->login);
    uv_timer_start(&connection->timer, connection_on_start, 0, 0);
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
