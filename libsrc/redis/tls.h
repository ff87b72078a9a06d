/* tls.h - TLS of connections to Redis: OpenSSL between the bytes of a socket and those of Redis'
 * protocol.  It opens no socket itself.
 *
 * Versions below TLS 1.2 and connections without a trusted certificate are refused; there is no way
 * back to plaintext.
 *
 * Thread: smq:io, except tls_check(). */
#ifndef REDIS_TLS_H
#define REDIS_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include <slotmq/core.h>

#include "base/buf.h"
#include "base/event.h"
#include "redis/redis.h"
#include "redis/servers.h"

struct tls;        /* what the connections of one client share: settings, sessions */
struct tls_stream; /* one connection */

/* Can the files be used?  Thread: any.  Fails: INVALID. */
smq_status tls_check(const struct redis_tls *settings, smq_error *err);

/* `settings` is copied. */
struct tls *tls_new(const struct redis_tls *settings, struct events *events);

/* All streams must have been freed.  NULL: nothing. */
void tls_free(struct tls *tls);

/* The client is ready.  From now on certificates that one side refuses, and files that cannot be
 * used, may be the midst of a change: they are UNAVAILABLE, and an ERROR event says so, once an
 * episode.  NULL: nothing. */
void tls_begin(struct tls *tls);

/* Begin a connection to this server; the first bytes for it can be taken at once.  The files are
 * read again if they have changed.  NULL: they cannot be used now; `err` says why. */
struct tls_stream *tls_stream_new(struct tls *tls, const struct server_address *server,
                                  smq_error *err);
void tls_stream_free(struct tls_stream *stream); /* NULL: nothing */

/* The server is who it should be, and what is sent from now on is encrypted. */
bool tls_stream_is_secure(const struct tls_stream *stream);

/* Give it bytes that came from the socket; the bytes of the server that they make are added to
 * `plain`.  Fails, also with some bytes added: UNAVAILABLE; before tls_begin() also BAD_SERVER (it
 * does not speak TLS, its certificate cannot be trusted or is of another server) and DENIED (it
 * does not accept the client's certificate).  Nothing may be received or sent after that. */
smq_status tls_stream_receive(struct tls_stream *stream, const char *bytes, size_t len,
                              struct buf *plain, smq_error *err);

/* Encrypt bytes for the server.  Only after it is secure. */
smq_status tls_stream_send(struct tls_stream *stream, const char *bytes, size_t len,
                           smq_error *err);

/* Add what is to be written to the socket to `wire`.  There may also be something after receiving,
 * and after receiving has failed. */
void tls_stream_take(struct tls_stream *stream, struct buf *wire);

#endif
