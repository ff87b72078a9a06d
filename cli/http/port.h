/* port.h - a port that speaks HTTP: connections and their limits, requests, answers.
 *
 * It has a limit for connections, for the headers and the body of a request, and for the time that
 * a request or an answer takes, so a client can be slow or send too much, and others are served.
 *
 * Thread: main, but for what a request may be asked for and given. */
#ifndef SERVE_PORT_H
#define SERVE_PORT_H

#include <jansson.h>
#include <sys/types.h>

#include "cli/http/address.h"
#include "cli/http/answer.h"
#include "cli/text/exit.h"

struct port;
struct port_request;

enum port_method { PORT_GET, PORT_POST };

/* Answers the request by port_answer() or port_stream(), now or later.  Thread: the one that
 * serves all connections, so the call must not block. */
typedef void port_fn(struct port_request *request, void *user);

struct port_options {
    struct address address;
    port_fn *handle;
    void *user;
};

/* Opens the port.  On any other result than EXIT_DONE the error has been printed. */
enum exit_code port_begin(struct port **out, const struct port_options *options);

/* Where it listens, with the number that it got if 0 was asked for. */
void port_text(char out[ADDRESS_ROOM], const struct port *port);

/* Takes no new connections.  Then all requests must be answered, and all streams end. */
void port_quiesce(struct port *port);
void port_end(struct port *port);

/* === A request, until it is answered ==================================== */

enum port_method port_request_method(const struct port_request *request);
const char *port_request_path(const struct port_request *request);
const char *port_request_header(const struct port_request *request, const char *name);
const char *port_request_body(const struct port_request *request, size_t *size);

/* The parameters of its address as texts, to be freed; NULL: they cannot be used, and `why`. */
json_t *port_request_query(const struct port_request *request, char why[]);

/* Answers it, and takes the reference.  Thread: any. */
void port_answer(struct port_request *request, struct answer *answer);

/* === A stream =========================================================== */

struct port_stream;

/* What a stream sends.  Both run on the port's thread. */
struct port_source {
    /* Gives up to `size` bytes; 0: nothing now, and it has called port_stream_wait(); -1: the
     * end. */
    ssize_t (*read)(struct port_stream *stream, char *out, size_t size, void *user);
    void (*end)(struct port_stream *stream, void *user); /* the client has gone, or the end came */
    void *user;
};

/* Answers a request, within its handler, by a stream of events. */
void port_stream(struct port_request *request, const struct port_source *source);

/* Nothing is read from the source until it is woken.  Thread: the port's, in read(). */
void port_stream_wait(struct port_stream *stream);

/* Thread: any, once for each wait. */
void port_stream_wake(struct port_stream *stream);

#endif
