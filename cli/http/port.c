/* port.c - a port that speaks HTTP, by libmicrohttpd.
 *
 * Thread: port_access() and all that it calls run on the thread of libmicrohttpd, port_sweep() on
 * port:sweep, port_answer() on any; the rest on main. */
#include "cli/http/port.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/http/query.h"
#include "cli/http/thread.h"
#include "cli/text/moment.h"
#include "cli/text/say.h"

enum {
    PORT_CONNECTIONS_MAX = 1200,
    PORT_ADDRESS_PART = 2,          /* of the connections: the most of one address */
    PORT_FILES_OTHERS = 200,        /* descriptors for Redis, ZooKeeper and programs */
    PORT_MEMORY = 32 * 1024,        /* of a connection: the headers of a request, too */
    PORT_BODY_MAX = 256 * 1024,     /* of a request */
    PORT_IDLE_S = 10,               /* neither side sends anything */
    PORT_REQUEST_MS = 30 * 1000,    /* from the first byte of a request to its last */
    PORT_ANSWER_MS = 5 * 60 * 1000, /* of an answer that is no stream */
    PORT_STREAM_BLOCK = 16 * 1024
};

enum port_state {
    PORT_RECEIVING, /* a request, or it is idle */
    PORT_ANSWERING,
    PORT_STREAMING
};

/* A connection, as long as libmicrohttpd has it. */
struct port_connection {
    LIST_ENTRY(port_connection) entry;
    int fd;
    enum port_state state;
    int64_t since_ms; /* in this state */
};

struct port {
    struct MHD_Daemon *daemon;
    MHD_socket listener;
    struct port_options options;
    pthread_t sweeper;
    pthread_mutex_t lock;
    pthread_cond_t ends;
    /* guarded by lock */
    LIST_HEAD(, port_connection) connections;
    bool ending;
};

struct port_request {
    struct port *port;
    struct MHD_Connection *connection;
    struct port_connection *of;
    enum port_method method;
    char *path;
    char *body; /* owned */
    size_t size;
    bool too_large, handled, queued;
    /* guarded by the port's lock */
    struct answer *answer;
    bool suspended;
};

struct port_stream {
    struct MHD_Connection *connection;
    struct port_source source;
};

/* === Connections ======================================================== */

static void port_enter(struct port *port, struct port_connection *of, enum port_state state)
{
    pthread_mutex_lock(&port->lock);
    of->state = state;
    of->since_ms = moment_ms();
    pthread_mutex_unlock(&port->lock);
}

static void port_on_connection(void *cls, struct MHD_Connection *connection, void **context,
                               enum MHD_ConnectionNotificationCode code)
{
    struct port *port = cls;
    struct port_connection *of = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        of = say_alloc(1, sizeof(*of));
        of->fd = info ? info->connect_fd : -1;
        of->since_ms = moment_ms();
        *context = of;
        pthread_mutex_lock(&port->lock);
        LIST_INSERT_HEAD(&port->connections, of, entry);
        pthread_mutex_unlock(&port->lock);
    } else if (of) {
        pthread_mutex_lock(&port->lock);
        LIST_REMOVE(of, entry);
        pthread_mutex_unlock(&port->lock);
        free(of);
    }
}

static bool port_is_late(const struct port_connection *of, int64_t now_ms)
{
    const int64_t ms = now_ms - of->since_ms;

    return (of->state == PORT_RECEIVING && ms > PORT_REQUEST_MS) ||
           (of->state == PORT_ANSWERING && ms > PORT_ANSWER_MS);
}

/* The descriptor stays open until libmicrohttpd, which sees that the connection ended, says so.
 * Call it with the lock. */
static void port_end_late(struct port *port)
{
    const int64_t now_ms = moment_ms();
    struct port_connection *of = NULL;

    LIST_FOREACH(of, &port->connections, entry)
    {
        if (of->fd >= 0 && port_is_late(of, now_ms)) {
            (void) shutdown(of->fd, SHUT_RDWR);
        }
    }
}

/* Once a second, ends connections whose request or answer takes too long. */
static void *port_sweep(void *arg)
{
    struct port *port = arg;
    struct timespec until;

    pthread_mutex_lock(&port->lock);
    while (!port->ending) {
        port_end_late(port);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        (void) pthread_cond_timedwait(&port->ends, &port->lock, &until);
    }
    pthread_mutex_unlock(&port->lock);
    return NULL;
}

/* === Answers ============================================================ */

/* What every answer has: it is not kept, not shown in a frame, loads nothing from elsewhere, and no
 * other site may read it. */
static const char *const port_headers[][2] = {
    {"Cache-Control", "no-store"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
};

static void port_add_headers(struct MHD_Response *response, unsigned status, const char *type,
                             const char *allow)
{
    for (size_t i = 0; i < sizeof(port_headers) / sizeof(port_headers[0]); i++) {
        (void) MHD_add_response_header(response, port_headers[i][0], port_headers[i][1]);
    }
    (void) MHD_add_response_header(response, "Content-Type", type);
    if (status == MHD_HTTP_UNAUTHORIZED) {
        (void) MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    }
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE || status == MHD_HTTP_TOO_MANY_REQUESTS) {
        (void) MHD_add_response_header(response, "Retry-After", "2");
    }
    if (allow) {
        (void) MHD_add_response_header(response, "Allow", allow);
    }
}

static void port_on_sent(void *answer)
{
    answer_unref(answer);
}

static enum MHD_Result port_queue(struct MHD_Connection *connection, struct answer *answer)
{
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        answer->size, answer->body, port_on_sent, answer);

    if (!response) {
        answer_unref(answer);
        return MHD_NO;
    }
    port_add_headers(response, answer->status, answer->type, answer->allow);
    const enum MHD_Result queued = MHD_queue_response(connection, answer->status, response);
    MHD_destroy_response(response);
    return queued;
}

void port_answer(struct port_request *request, struct answer *answer)
{
    struct port *port = request->port;

    pthread_mutex_lock(&port->lock);
    request->answer = answer;
    if (request->suspended) {
        request->suspended = false;
        MHD_resume_connection(request->connection);
    }
    pthread_mutex_unlock(&port->lock);
}

/* === Streams ============================================================ */

static ssize_t port_read_stream(void *cls, uint64_t position, char *out, size_t size)
{
    struct port_stream *stream = cls;
    const ssize_t got = stream->source.read(stream, out, size, stream->source.user);

    (void) position;
    return got < 0 ? MHD_CONTENT_READER_END_OF_STREAM : got;
}

static void port_free_stream(void *cls)
{
    struct port_stream *stream = cls;

    stream->source.end(stream, stream->source.user);
    free(stream);
}

void port_stream(struct port_request *request, const struct port_source *source)
{
    struct port_stream *stream = say_alloc(1, sizeof(*stream));

    *stream = (struct port_stream){.connection = request->connection, .source = *source};
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, PORT_STREAM_BLOCK, port_read_stream, stream, port_free_stream);
    if (!response) {
        port_free_stream(stream);
        port_answer(request, answer_problem(503, SMQ_NO_MEMORY, "out of memory"));
        return;
    }
    port_add_headers(response, MHD_HTTP_OK, "text/event-stream", NULL);
    port_enter(request->port, request->of, PORT_STREAMING);
    request->queued = MHD_queue_response(request->connection, MHD_HTTP_OK, response) == MHD_YES;
    MHD_destroy_response(response);
}

void port_stream_wait(struct port_stream *stream)
{
    MHD_suspend_connection(stream->connection);
}

void port_stream_wake(struct port_stream *stream)
{
    MHD_resume_connection(stream->connection);
}

/* === Requests =========================================================== */

enum port_method port_request_method(const struct port_request *request)
{
    return request->method;
}

const char *port_request_path(const struct port_request *request)
{
    return request->path;
}

const char *port_request_header(const struct port_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *port_request_body(const struct port_request *request, size_t *size)
{
    *size = request->size;
    return request->body;
}

struct port_pairs {
    json_t *query;
    char *why;
};

static enum MHD_Result port_on_pair(void *cls, enum MHD_ValueKind kind, const char *name,
                                    size_t name_size, const char *value, size_t value_size)
{
    const struct port_pairs *pairs = cls;

    (void) kind;
    return query_add(pairs->query, name, name_size, value, value_size, pairs->why) ? MHD_YES
                                                                                   : MHD_NO;
}

json_t *port_request_query(const struct port_request *request, char why[])
{
    struct port_pairs pairs = {.query = json_object(), .why = why};

    why[0] = '\0';
    (void) MHD_get_connection_values_n(request->connection, MHD_GET_ARGUMENT_KIND, port_on_pair,
                                       &pairs);
    if (why[0] != '\0') {
        json_decref(pairs.query);
        return NULL;
    }
    return pairs.query;
}

static struct port_request *port_request_new(struct port *port, struct MHD_Connection *connection,
                                             const char *url)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct port_request *request = say_alloc(1, sizeof(*request));

    request->port = port;
    request->connection = connection;
    request->of = info->socket_context;
    request->path = strdup(url);
    if (!request->path) {
        say_no_memory();
    }
    return request;
}

static void port_request_free(struct port_request *request)
{
    answer_unref(request->answer);
    free(request->path);
    free(request->body);
    free(request);
}

static void port_on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
                              enum MHD_RequestTerminationCode code)
{
    struct port_request *request = *con_cls;

    (void) connection;
    (void) code;
    if (request) {
        port_enter(cls, request->of, PORT_RECEIVING);
        port_request_free(request);
        *con_cls = NULL;
    }
}

static enum MHD_Result port_on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    (void) kind;
    (void) value;
    *(int *) cls += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0 ? 1 : 0;
    return MHD_YES;
}

/* What can be refused before the body comes.  NULL: nothing. */
static struct answer *port_refuse(struct port_request *request, const char *method)
{
    int hosts = 0;
    const char *length = port_request_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);

    (void) MHD_get_connection_values(request->connection, MHD_HEADER_KIND, port_on_header, &hosts);
    if (hosts != 1) {
        return answer_problem(400, SMQ_INVALID, "a request has one Host, and this one has %d",
                              hosts);
    }
    if (strcmp(method, MHD_HTTP_METHOD_POST) == 0) {
        request->method = PORT_POST;
    } else if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
               strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        struct answer *answer =
            answer_problem(405, SMQ_INVALID, "only GET, HEAD and POST are known here");
        answer->allow = "GET, HEAD, POST";
        return answer;
    }
    if (length && strtoull(length, NULL, 10) > PORT_BODY_MAX) {
        return answer_problem(413, SMQ_TOO_BIG, "a body may have %d bytes", PORT_BODY_MAX);
    }
    return NULL;
}

static void port_take(struct port_request *request, const char *bytes, size_t size)
{
    if (request->too_large || size > PORT_BODY_MAX - request->size) {
        request->too_large = true;
        return;
    }
    char *grown = realloc(request->body, request->size + size);
    if (!grown) {
        say_no_memory();
    }
    memcpy(grown + request->size, bytes, size);
    request->body = grown;
    request->size += size;
}

/* The request is whole: hands it over, and sends the answer if there is one already. */
static enum MHD_Result port_proceed(struct port_request *request)
{
    struct port *port = request->port;

    if (!request->handled) {
        request->handled = true;
        port_enter(port, request->of, PORT_ANSWERING);
        if (request->too_large) {
            port_answer(request, answer_problem(413, SMQ_TOO_BIG, "a body may have %d bytes",
                                                PORT_BODY_MAX));
        } else {
            port->options.handle(request, port->options.user);
        }
    }
    if (request->queued) {
        return MHD_YES;
    }
    pthread_mutex_lock(&port->lock);
    struct answer *answer = request->answer;
    request->answer = NULL;
    if (!answer) {
        request->suspended = true;
        MHD_suspend_connection(request->connection);
    }
    pthread_mutex_unlock(&port->lock);
    return answer ? port_queue(request->connection, answer) : MHD_YES;
}

static enum MHD_Result port_access(void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_size, void **con_cls)
{
    struct port_request *request = *con_cls;

    (void) version;
    if (!request) {
        request = port_request_new(cls, connection, url);
        *con_cls = request;
        struct answer *refused = port_refuse(request, method);
        return refused ? port_queue(connection, refused) : MHD_YES;
    }
    if (*upload_size > 0) {
        port_take(request, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    return port_proceed(request);
}

/* Paths are compared as they were sent, and parameters are decoded by query_add(). */
static size_t port_leave_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
    (void) cls;
    (void) connection;
    return strlen(text);
}

/* === Begin and end ====================================================== */

/* How many connections there may be: each takes a descriptor. */
static unsigned port_connections(void)
{
    struct rlimit files;
    const rlim_t wanted = PORT_CONNECTIONS_MAX + PORT_FILES_OTHERS;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return 64;
    }
    if (files.rlim_cur < wanted && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
        (void) setrlimit(RLIMIT_NOFILE, &files);
    }
    if (files.rlim_cur >= wanted) {
        return PORT_CONNECTIONS_MAX;
    }
    return files.rlim_cur > (rlim_t) 2 * PORT_FILES_OTHERS
               ? (unsigned) files.rlim_cur - PORT_FILES_OTHERS
               : (unsigned) files.rlim_cur / 2;
}

/* -1: errno says why. */
static int port_listen(const struct address *address)
{
    const int fd = socket(address->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;

    if (fd < 0) {
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, (const struct sockaddr *) &address->at, address->size) != 0 ||
        listen(fd, SOMAXCONN) != 0) {
        const int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

/* Its threads leave the signals to main. */
static struct MHD_Daemon *port_start(struct port *port)
{
    const unsigned connections = port_connections();
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, port_access, port,
        MHD_OPTION_LISTEN_SOCKET, port->listener, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, connections / PORT_ADDRESS_PART,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) PORT_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned) PORT_IDLE_S, MHD_OPTION_NOTIFY_COMPLETED, port_on_completed, port,
        MHD_OPTION_NOTIFY_CONNECTION, port_on_connection, port, MHD_OPTION_UNESCAPE_CALLBACK,
        port_leave_escapes, NULL, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

static void port_end_sweep(struct port *port)
{
    pthread_mutex_lock(&port->lock);
    port->ending = true;
    pthread_cond_signal(&port->ends);
    pthread_mutex_unlock(&port->lock);
    (void) pthread_join(port->sweeper, NULL);
}

enum exit_code port_begin(struct port **out, const struct port_options *options)
{
    struct port *port = say_alloc(1, sizeof(*port));
    char text[ADDRESS_ROOM];

    port->options = *options;
    pthread_mutex_init(&port->lock, NULL);
    pthread_cond_init(&port->ends, NULL);
    LIST_INIT(&port->connections);
    address_text(text, &options->address);
    port->listener = port_listen(&options->address);
    if (port->listener < 0) {
        const enum exit_code code =
            say_error(EXIT_IO, "cannot listen on %s: %s", text, strerror(errno));
        free(port);
        return code;
    }
    if (!thread_begin(&port->sweeper, "port:sweep", port_sweep, port)) {
        close(port->listener);
        free(port);
        return say_error(EXIT_TEMPORARY, "cannot listen on %s: no thread can be started", text);
    }
    port->daemon = port_start(port);
    if (!port->daemon) {
        port_end_sweep(port);
        close(port->listener);
        free(port);
        return say_error(EXIT_IO, "cannot listen on %s: libmicrohttpd refuses it", text);
    }
    *out = port;
    return EXIT_DONE;
}

void port_text(char out[ADDRESS_ROOM], const struct port *port)
{
    struct address address = {.size = sizeof(address.at)};

    if (getsockname(port->listener, (struct sockaddr *) &address.at, &address.size) != 0) {
        address = port->options.address;
    }
    address_text(out, &address);
}

void port_quiesce(struct port *port)
{
    (void) MHD_quiesce_daemon(port->daemon);
}

void port_end(struct port *port)
{
    port_end_sweep(port);
    MHD_stop_daemon(port->daemon);
    close(port->listener);
    pthread_mutex_destroy(&port->lock);
    pthread_cond_destroy(&port->ends);
    free(port);
}
