/* resolve.h - the addresses of a server's name, found without keeping the loop.
 *
 * On a thread of its own that ends with the answer, and not with uv_getaddrinfo(): the threads
 * which that starts stay, and a child of fork() that calls exit() dies in libuv's attempt to join
 * them.
 *
 * Thread: the loop's. */
#ifndef REDIS_RESOLVE_H
#define REDIS_RESOLVE_H

#include <netdb.h>

#include "base/loop.h"

/* `found` is the receiver's, for freeaddrinfo(); NULL: `why` says why there is none. */
typedef void resolve_fn(struct addrinfo *found, const char *why, void *user);

/* Find the addresses for a TCP connection and call `done` once: before this returns when `host` is
 * an address itself, else later; until then the loop does not end. */
void resolve(struct loop *loop, const char *host, int port, resolve_fn *done, void *user);

#endif
