/* resolve.h - the addresses of a server's name, found without blocking the loop.
 *
 * Each look-up has a thread of its own, which ends with the result.  uv_getaddrinfo() is not used:
 * the threads that it starts never end, and a child of fork() that calls exit() crashes when libuv
 * tries to join them.
 *
 * Thread: the loop's. */
#ifndef REDIS_RESOLVE_H
#define REDIS_RESOLVE_H

#include <netdb.h>

#include "base/loop.h"

/* The callback owns `found` and frees it with freeaddrinfo(); if it is NULL `why` is the reason. */
typedef void resolve_fn(struct addrinfo *found, const char *why, void *user);

/* Find the addresses for a TCP connection and call `done` once: before this returns if `host` is an
 * address, else later.  Until then the loop does not end. */
void resolve(struct loop *loop, const char *host, int port, resolve_fn *done, void *user);

#endif
