/* resolve.h - the addresses of a server's name, found without blocking the loop.
 *
 * Each look-up has a thread of its own, which ends with the answer.  uv_getaddrinfo() is not used:
 * the threads that it starts never end, and a child of fork() that calls exit() crashes when libuv
 * tries to join them.
 *
 * Thread: the loop's. */
#ifndef REDIS_RESOLVE_H
#define REDIS_RESOLVE_H

#include <netdb.h>

#include "base/loop.h"

/* The receiver owns `found` and frees it with freeaddrinfo(); NULL: `why` is the reason. */
typedef void resolve_fn(struct addrinfo *found, const char *why, void *user);

/* Find the addresses for a TCP connection and call `done` once: before this returns when `host` is
 * an address itself, else later; until then the loop does not end. */
void resolve(struct loop *loop, const char *host, int port, resolve_fn *done, void *user);

#endif
