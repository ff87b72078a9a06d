/* gate.h - how many requests to one server may be in flight.  Messages that come while their slot
 * waits leave together, in one request.
 *
 * Each slot has at most one request of a kind in flight, but there are many slots.  When a server
 * is busy, requests only wait in it for each other, and each takes what its slot had when it left.
 * If it waits here instead, it takes all that has come until the server has time for it.
 *
 * Whether requests wait in the server is seen by the time of their replies, compared with the
 * shortest of the last seconds.  As long as they come as fast as that, nothing is bounded.
 *
 * Pure. */
#ifndef MODEL_GATE_H
#define MODEL_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* Who waits for a place.  Zeroed: it does not wait. */
struct gate_waiter {
    TAILQ_ENTRY(gate_waiter) link;
    struct gate *gate; /* at which it waits; NULL: it does not */
};
TAILQ_HEAD(gate_waiters, gate_waiter);

/* The requests of one kind to one server.  Times are microseconds of one clock. */
struct gate {
    int32_t in_flight;
    int64_t reply_us;            /* what a reply takes at present; 0: none has come */
    int64_t least_us, before_us; /* the shortest of this window, and of the one before; 0: none */
    int64_t window_us;           /* when this window began */
    struct gate_waiters waiting; /* the first one has waited longest */
};

/* How many may be in flight if a reply takes `reply_us`, and took `rest_us` without others; 0: it
 * is not known. */
int32_t gate_bound(int64_t rest_us, int64_t reply_us);

/* How many more may leave now? */
int32_t gate_places(const struct gate *gate);

/* May a request leave now: is there a place beside those of the waiters before it? */
bool gate_admits(const struct gate *gate, const struct gate_waiter *waiter);

/* It waits behind the others; it waits no more.  What waits behind it may have its place. */
void gate_wait(struct gate *gate, struct gate_waiter *waiter);
void gate_leave(struct gate_waiter *waiter);

/* A request has left, and does not wait any more; it has ended, `replied`: with a reply. */
void gate_sent(struct gate *gate);
void gate_ended(struct gate *gate, int64_t sent_us, int64_t now_us, bool replied);

/* The gates to all servers. */
struct gates {
    struct gate **all; /* by the number of the server; NULL: none yet */
    size_t count;
};

/* That of this server, made if there is none; it stays where it is until gates_fini(). */
struct gate *gates_get(struct gates *gates, size_t server);
void gates_fini(struct gates *gates);

#endif
