/* zk_probe.h - finding out that the servers refuse our session for good.
 *
 * A server does not let a session in that has seen a larger zxid than the server itself, as when
 * the ensemble has lost its data or an older copy of it was restored.  The client library then
 * connects again for ever, and cannot be told apart from one whose servers are away.  So when a
 * session has been without a connection for its time-out, a second handle begins another session:
 * once that has been connected for half a time-out while ours has not, ours is refused.
 *
 * Below: zk_log.h.  Thread: smq:coord. */
#ifndef COORD_ZK_PROBE_H
#define COORD_ZK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "coord/zk_log.h"

struct zk_probe_options {
    struct loop *loop;
    const char *servers;         /* kept by the caller */
    int64_t timeout_ms;          /* of the second session */
    void (*refused)(void *user); /* the servers let others in, and not our session */
    void *user;
};

/* Invariant: `handle` is NULL unless zk_probe_begin() was called and zk_probe_end() was not. */
struct zk_probe {
    struct zk_probe_options options;
    zhandle_t *handle;
    uint64_t number;    /* of the handle; events of earlier ones are dropped */
    int64_t timeout_ms; /* the agreed time-out of our session */
    uv_timer_t timer;
};

/* The probe must stay where it is until its loop has ended. */
void zk_probe_init(struct zk_probe *probe, const struct zk_probe_options *options);
void zk_probe_stop(struct zk_probe *probe);

/* Our session, whose agreed time-out is `timeout_ms`, has lost its connection. */
void zk_probe_begin(struct zk_probe *probe, int64_t timeout_ms);

/* Our session is connected again, or closed.  Blocks while the second handle is closed: 4.5 s at
 * most. */
void zk_probe_end(struct zk_probe *probe);

#endif
