/* client.h - connections and membership of one process; events, which are also the log.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_CLIENT_H
#define SLOTMQ_CLIENT_H

#include <slotmq/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smq_client smq_client; /* connections, membership */

/* === Events (also the log) ============================================== */

typedef enum smq_level {
    SMQ_LEVEL_DEFAULT, /* as SMQ_LEVEL_INFO                                  */
    SMQ_LEVEL_ERROR,   /* somebody must act                                  */
    SMQ_LEVEL_WARN,    /* something was lost, refused, late or given up      */
    SMQ_LEVEL_INFO,    /* slots come and go, connections too                 */
    SMQ_LEVEL_DEBUG,   /* every retry, redirect, reconnect attempt           */
    SMQ_LEVEL_TRACE    /* every message; costs speed                         */
} smq_level;

/* X(name, value, level, id): ids are stable. */
#define SMQ_EVENT_MAP(X)                                                                           \
    X(SMQ_EVENT_LOG, 0, INFO, "log") /* text only        */                                        \
    X(SMQ_EVENT_SENT, 1, TRACE, "sent")                                                            \
    X(SMQ_EVENT_CLAIMED, 2, TRACE, "claimed")                                                      \
    X(SMQ_EVENT_DONE, 3, TRACE, "done") /* committed        */                                     \
    X(SMQ_EVENT_RELEASED, 4, DEBUG, "released")                                                    \
    X(SMQ_EVENT_RETRIED, 5, DEBUG, "retried")                                                      \
    X(SMQ_EVENT_DEAD, 6, WARN, "dead")       /* or rejected      */                                \
    X(SMQ_EVENT_EXPIRED, 7, WARN, "expired") /* time to live     */                                \
    X(SMQ_EVENT_OVERDUE, 8, WARN, "overdue") /* handler time-out */                                \
    X(SMQ_EVENT_LEASE_LOST, 9, WARN, "lease_lost")                                                 \
    X(SMQ_EVENT_FENCED, 10, WARN, "fenced")                                                        \
    X(SMQ_EVENT_SLOT_GAINED, 11, INFO, "slot_gained")                                              \
    X(SMQ_EVENT_SLOT_LOST, 12, INFO, "slot_lost")                                                  \
    X(SMQ_EVENT_PAUSED, 13, WARN, "paused") /* once a topic */                                     \
    X(SMQ_EVENT_RESUMED, 14, INFO, "resumed")                                                      \
    X(SMQ_EVENT_CONNECTED, 15, INFO, "connected") /* node or ensemble */                           \
    X(SMQ_EVENT_DISCONNECTED, 16, WARN, "disconnected")                                            \
    X(SMQ_EVENT_SESSION_LOST, 17, WARN, "session_lost")                                            \
    X(SMQ_EVENT_STOPPED, 18, ERROR, "stopped") /* worker gave up   */                              \
    X(SMQ_EVENT_DAMAGED, 19, ERROR, "damaged") /* slot, or topic   */                              \
    X(SMQ_EVENT_REPAIRED, 20, INFO, "repaired")

typedef enum smq_event_kind {
#define SMQ_X(name, value, level, id) name = value,
    SMQ_EVENT_MAP(SMQ_X)
#undef SMQ_X
} smq_event_kind;

/* Valid during the callback.  NULL, -1 or 0 where it does not apply. */
typedef struct smq_event {
    size_t struct_size;
    smq_event_kind kind;
    smq_level level;
    const char *id;    /* "slot_lost"                                   */
    const char *text;  /* one line for people; enough for a log         */
    smq_status status; /* why                                           */
    const char *topic;
    int32_t slot;
    const char *token;
    const char *message_id; /* hex-escaped, cut at 64 bytes                  */
    int32_t attempt;
} smq_event;

/* Thread: smq:call.  Events that find its queue full are counted and dropped;
 * they are for eyes and alarms, never a substitute for answers or receipts. */
typedef void smq_event_fn(const smq_event *event, void *user);

/* === Client ============================================================= */

/* What owners do while ZooKeeper is away.  Tokens protect Redis either way. */
typedef enum smq_zk_loss {
    SMQ_ZK_LOSS_CONTINUE, /* go on with the slots owned                      */
    SMQ_ZK_LOSS_STOP      /* claim and begin no more once the membership is
                             uncertain; what was not begun is given back     */
} smq_zk_loss;

typedef struct smq_client_options {
    size_t struct_size;
    const char *redis;          /* required.  "host:port,host:port", or
                                   "redis://user:password@host:port,...";
                                   a port may be left out: 6379               */
    const char *zookeeper;      /* "host:port,.../root"; default port 2181,
                                   root /slotmq.  NULL: standalone, one
                                   process owns each exclusive topic and
                                   others wait as hot standby                 */
    const char *zookeeper_auth; /* digest "user:password"                    */
    const char *name;           /* of this member.  Default host-pid-random;
                                   a fixed name gets its slots back           */
    int64_t connect_timeout_ms; /* smq_client_new(); default 5000            */
    int64_t request_timeout_ms; /* one command; default 3000                 */
    int64_t session_timeout_ms; /* ZooKeeper; default 10000                  */
    smq_zk_loss on_zk_loss;     /* default SMQ_ZK_LOSS_CONTINUE              */
    smq_event_fn *event;        /* default: nobody is told                   */
    smq_level event_level;      /* default SMQ_LEVEL_INFO                    */
    void *event_user;
} smq_client_options;
#define SMQ_CLIENT_OPTIONS_INIT SMQ_INIT(smq_client_options)
#define SMQ_CLIENT_OPTIONS(...) SMQ_WITH(smq_client_options, __VA_ARGS__)

/* Connect to Redis.  Where descriptor 0, 1 or 2 of the process is closed, it is opened so that it
 * cannot be read or written: else a connection would take its place.
 * One client a process is enough.  ZooKeeper is joined by
 * the first worker or consumer of an exclusive topic, never for sending.
 * Blocks: connect_timeout_ms.  Fails: UNAVAILABLE, DENIED, BAD_SERVER. */
SMQ_API smq_status smq_client_new(smq_client **out, const smq_client_options *options,
                                  smq_error *err);

/* Drop your reference.  Threads and connections end with the last handle made
 * from the client, so the order of the _free() calls does not matter. */
SMQ_API void smq_client_free(smq_client *client);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_CLIENT_H */
