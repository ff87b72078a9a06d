/* zk_probe.h - finding out that the servers refuse a session for good.
 *
 * A server refuses a session that has seen a larger zxid than the server itself, as after the
 * ensemble has lost its data or was restored from an older copy.  The client library then keeps
 * connecting for ever, as it does when the servers cannot be reached.  So when a session had no
 * connection for its time-out, a second handle begins another session.  If that has been connected
 * for half a time-out while the first has not, the first session is refused.
 *
 * Below: zk_log.h.  Thread: smq:coord. */
#ifndef COORD_ZK_ZK_PROBE_H
#define COORD_ZK_ZK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "base/loop.h"

struct zk_probe_options {
    struct loop *loop;
    const char *servers;         /* kept by the caller */
    int64_t timeout_ms;          /* time-out of the second session */
    void (*refused)(void *user); /* the servers accept other sessions, and not the first one */
    void *user;
};

/* Invariant: `handle` is NULL except between zk_probe_begin() and zk_probe_end(). */
struct zk_probe {
    struct zk_probe_options options;
    zhandle_t *handle;
    uint64_t number;    /* of the handle; events of earlier handles are dropped */
    int64_t timeout_ms; /* the agreed time-out of the first session */
    uv_timer_t timer;
};

/* The probe must not move in memory until its loop has ended. */
void zk_probe_init(struct zk_probe *probe, const struct zk_probe_options *options);
void zk_probe_stop(struct zk_probe *probe);

/* The first session, whose agreed time-out is `timeout_ms`, has lost its connection. */
void zk_probe_begin(struct zk_probe *probe, int64_t timeout_ms);

/* The first session is connected again, or closed.  Blocks while the second handle is closed: 4.5 s
 * at most. */
void zk_probe_end(struct zk_probe *probe);

#endif
