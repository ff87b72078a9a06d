/* proxy.h - stands between a client and one Redis server, and delays or loses its replies when the
 * test says so.
 *
 * Connections that carry subscriptions are never touched: what they bring overtakes the others.
 *
 * Thread: any; the inside is a thread of its own. */
#ifndef QUEUE_PROXY_H
#define QUEUE_PROXY_H

#include <stdbool.h>

struct proxy;

/* Listen on a free port of 127.0.0.1 and pass everything on to `port`. */
struct proxy *proxy_start(int port);
void proxy_stop(struct proxy *proxy);
const char *proxy_address(const struct proxy *proxy); /* "127.0.0.1:12345" */

/* Keep replies back from now on. */
void proxy_hold(struct proxy *proxy);

/* Let go of what was kept back, and keep nothing back any more. */
void proxy_release(struct proxy *proxy);

/* Forget what was kept back, and cut the connections: the replies are lost. */
void proxy_cut(struct proxy *proxy);

/* Has a reply been kept back? */
bool proxy_has_kept(struct proxy *proxy);

#endif
