/* proxy.h - a proxy between clients and one server (Redis or ZooKeeper): it makes the network slow,
 * and keeps replies back or loses them when the test says so.
 *
 * Connections that carry subscriptions of Redis are never kept back or cut: what they bring
 * overtakes the others.  Only proxy_silence() and proxy_deafen() are about them, too.
 *
 * Thread: any; the inside is a thread of its own. */
#ifndef SUPPORT_PROXY_H
#define SUPPORT_PROXY_H

#include <stdbool.h>
#include <stdint.h>

struct proxy;

/* Listen on a free port of 127.0.0.1 and pass everything on to `port`. */
struct proxy *proxy_start(int port);
void proxy_stop(struct proxy *proxy);
const char *proxy_address(const struct proxy *proxy); /* "127.0.0.1:12345" */

/* From now on every byte takes `one_way_ms` in each direction: half a round trip. */
void proxy_delay(struct proxy *proxy, int64_t one_way_ms);

/* Count round trips from now on: how often a client said something more after it was given a reply.
 * proxy_round_trips() is the largest count of one connection. */
void proxy_count(struct proxy *proxy);
int proxy_round_trips(struct proxy *proxy);

/* Keep replies back from now on.  When a client closes a connection, its server does not learn that
 * before the proxy lets go of what it keeps, so what the client has sent is still executed. */
void proxy_hold(struct proxy *proxy);

/* Keep everything back from now on, requests and subscriptions too, as a network that loses all
 * packets. */
void proxy_silence(struct proxy *proxy);

/* The same from the first request on that contains `text`; proxy_has_kept() then says so. */
void proxy_silence_from(struct proxy *proxy, const char *text);

/* Lose what connections bring that carry subscriptions now.  They stay open, and their requests
 * still arrive; those that are opened later bring everything. */
void proxy_deafen(struct proxy *proxy);

/* Let go of what was kept back, and keep nothing back and lose nothing any more. */
void proxy_release(struct proxy *proxy);

/* Forget what was kept back, and cut the connections: the replies are lost. */
void proxy_cut(struct proxy *proxy);

/* Has a reply been kept back, or the request with the text? */
bool proxy_has_kept(struct proxy *proxy);

#endif
