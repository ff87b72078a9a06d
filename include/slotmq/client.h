/* client.h - the client: connections, membership in a fleet, and events, which are also the log.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_CLIENT_H
#define SLOTMQ_CLIENT_H

#include <slotmq/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The connections of a process to Redis and ZooKeeper, and its membership in a fleet. */
typedef struct smq_client smq_client;

/* === Events (also the log) ============================================== */

typedef enum smq_level {
    SMQ_LEVEL_DEFAULT, /* means SMQ_LEVEL_INFO */
    SMQ_LEVEL_ERROR,   /* an operator must act */
    SMQ_LEVEL_WARN,    /* something was lost, refused, late or abandoned */
    SMQ_LEVEL_INFO,    /* slots and connections were gained or lost */
    SMQ_LEVEL_DEBUG,   /* every retry, redirect and attempt to reconnect */
    SMQ_LEVEL_TRACE    /* every message; this level costs speed */
} smq_level;

/* The name of a level, as "info"; "unknown" if there is no such level. */
SMQ_API const char *smq_level_name(smq_level level);

/* X(name, value, level, id).  Values and ids never change.
 *
 *   LOG                      a line of text that has no kind of its own
 *   DONE                     an answer `done` is stored
 *   DEAD                     a message became a dead letter, also by a reject
 *   EXPIRED                  the time to live of messages ended before they were claimed
 *   OVERDUE                  the handler time-out of a message has passed
 *   LEASE_LOST               a claim ended, and its answer is not certainly stored
 *   FENCED                   Redis refused a call, because the slot has a newer owner
 *   SLOT_GAINED, SLOT_LOST   one slot
 *   ASSIGNED                 how many slots of a topic were gained and lost, reported when no slot
 *                            has changed for a moment, and while they change every second
 *   PAUSED, RESUMED          a topic was paused or resumed; once per topic
 *   CONNECTED, DISCONNECTED  a node of Redis, or ZooKeeper
 *   SESSION_LOST             the session with ZooKeeper has ended
 *   STOPPED                  a consumer ended because of an error
 *   DAMAGED, REPAIRED        a slot or a topic
 *   NOT_RELEASED             a member of the fleet did not release slots in time, and others get
 *                            them; `slot` is the first.  Only the assigner of the fleet reports it
 */
#define SMQ_EVENT_MAP(X)                                                                           \
    X(SMQ_EVENT_LOG, 0, INFO, "log")                                                               \
    X(SMQ_EVENT_SENT, 1, TRACE, "sent")                                                            \
    X(SMQ_EVENT_CLAIMED, 2, TRACE, "claimed")                                                      \
    X(SMQ_EVENT_DONE, 3, TRACE, "done")                                                            \
    X(SMQ_EVENT_RELEASED, 4, DEBUG, "released")                                                    \
    X(SMQ_EVENT_RETRIED, 5, DEBUG, "retried")                                                      \
    X(SMQ_EVENT_DEAD, 6, WARN, "dead")                                                             \
    X(SMQ_EVENT_EXPIRED, 7, WARN, "expired")                                                       \
    X(SMQ_EVENT_OVERDUE, 8, WARN, "overdue")                                                       \
    X(SMQ_EVENT_LEASE_LOST, 9, WARN, "lease_lost")                                                 \
    X(SMQ_EVENT_FENCED, 10, WARN, "fenced")                                                        \
    X(SMQ_EVENT_SLOT_GAINED, 11, DEBUG, "slot_gained")                                             \
    X(SMQ_EVENT_SLOT_LOST, 12, DEBUG, "slot_lost")                                                 \
    X(SMQ_EVENT_PAUSED, 13, WARN, "paused")                                                        \
    X(SMQ_EVENT_RESUMED, 14, INFO, "resumed")                                                      \
    X(SMQ_EVENT_CONNECTED, 15, INFO, "connected")                                                  \
    X(SMQ_EVENT_DISCONNECTED, 16, WARN, "disconnected")                                            \
    X(SMQ_EVENT_SESSION_LOST, 17, WARN, "session_lost")                                            \
    X(SMQ_EVENT_STOPPED, 18, ERROR, "stopped")                                                     \
    X(SMQ_EVENT_DAMAGED, 19, ERROR, "damaged")                                                     \
    X(SMQ_EVENT_REPAIRED, 20, INFO, "repaired")                                                    \
    X(SMQ_EVENT_NOT_RELEASED, 21, WARN, "not_released")                                            \
    X(SMQ_EVENT_ASSIGNED, 22, INFO, "assigned")

typedef enum smq_event_kind {
#define SMQ_X(name, value, level, id) name = value,
    SMQ_EVENT_MAP(SMQ_X)
#undef SMQ_X
} smq_event_kind;

/* An event is valid only during the callback, or until the next poll of the client.  Fields that do
 * not apply to its kind are NULL, in numbers 0, and -1 in `slot`. */
typedef struct smq_event {
    size_t struct_size;
    smq_event_kind kind;
    smq_level level;
    const char *id;    /* of the kind, as "slot_lost" */
    const char *text;  /* one line for people; a log needs nothing else */
    smq_status status; /* the cause */
    const char *topic;
    int32_t slot;
    const char *token;
    const char *message_id; /* hex-escaped, cut at 64 bytes */
    int32_t attempt;
    /* ASSIGNED: gained and lost since the event before it, and owned now; a slot that is being
     * given up is still owned. */
    int32_t slots_gained, slots_lost, slots_owned;
    /* RETRIED, DEAD: why the attempt failed, of which SMQ_REASON_MAX bytes are kept, with control
     * characters hex-escaped.  NULL: its answer gave no reason. */
    const char *reason;
} smq_event;

/* Thread: smq:call.  At most 10,000 events wait for the callback, or for a poll.  A further one
 * drops the oldest; a LOG event in their place says how many were dropped, and events_dropped
 * counts all.  So events serve logs and alarms; they do not replace answers or receipts. */
typedef void smq_event_fn(const smq_event *event, void *user);

/* === Client ============================================================= */

/* What the owners of slots do while ZooKeeper, or the tree of a fleet in Redis, does not answer.
 * Tokens protect the messages in Redis in both cases. */
typedef enum smq_coordination_loss {
    SMQ_COORDINATION_LOSS_CONTINUE, /* owners keep their slots and continue to consume */
    SMQ_COORDINATION_LOSS_STOP /* once its membership is uncertain an owner claims nothing more,
                        begins no handler, and requeues the messages that were not begun */
} smq_coordination_loss;

/* Through what the processes of a fleet agree on who owns which slot of an exclusive topic. */
typedef enum smq_coordination {
    SMQ_COORDINATION_AUTO, /* ZooKeeper, if `zookeeper` is given; else as REDIS */
    SMQ_COORDINATION_REDIS /* a tree in the Redis of the topics, at `root` */
} smq_coordination;

/* What a callback gives: a user and a password. */
typedef struct smq_credentials smq_credentials;

/* Give the user (NULL: the one that the option redis names, else the default user) and the
 * password, which are copied, and the time in milliseconds from now for which they are valid (0:
 * without an end).  Only inside the callback; the last call counts.  Fails: INVALID. */
SMQ_API smq_status smq_credentials_set(smq_credentials *credentials, const char *user,
                                       const char *password, int64_t valid_ms, smq_error *err);

/* Asked before each authentication at Redis, and again when three quarters of the valid time have
 * passed: then all connections authenticate anew, without a pause.  Calls smq_credentials_set() and
 * returns SMQ_OK; any other status means that there are no credentials now, and it is asked again.
 * Thread: one of its own, one call at a time.  It may block, within connect_timeout_ms; the end of
 * the client waits for it. */
typedef smq_status smq_credentials_fn(smq_credentials *credentials, void *user);

typedef struct smq_client_options {
    size_t struct_size;
    /* Required: "host:port,host:port", "redis://user:password@host:port,...", or the same with
     * rediss:// for TLS, to all nodes of the cluster and never without it.  The default port is
     * 6379.  Or a Unix socket: "/path", "unix://user:password@/path"; that of a cluster's node is
     * used to find the others, which must announce addresses.  Sentinel is not supported: use Redis
     * Cluster, or a name that always leads to the master. */
    const char *redis;
    /* "host:port,.../root"; the default port is 2181, the default root /slotmq.  NULL: the fleet is
     * in Redis. */
    const char *zookeeper;
    const char *zookeeper_auth; /* digest "user:password"; better: zookeeper_auth_file */
    /* Name of this member; default host-pid-random.  A process that restarts under a fixed name
     * gets its former slots back. */
    const char *name;
    int64_t connect_timeout_ms;                 /* for smq_client_new(); default 5000 */
    int64_t request_timeout_ms;                 /* for the reply to one command; default 3000 */
    int64_t session_timeout_ms;                 /* of the session with the fleet; default 10000;
                                                   a fleet in Redis takes a smaller range */
    smq_coordination_loss on_coordination_loss; /* default SMQ_COORDINATION_LOSS_CONTINUE */
    smq_event_fn *event;                        /* default: no events */
    smq_level event_level; /* events below this level are not reported; default INFO */
    void *event_user;      /* passed to `event` */
    /* For rediss:// servers.  A file of PEM certificates that are trusted, or a folder of them with
     * the names by which OpenSSL finds them (openssl rehash FOLDER); default: the system's.  The
     * files of these three options, also those in the folder, are read again when they have changed
     * and the client connects; the system's are read once. */
    const char *tls_ca;
    const char *tls_cert; /* file of the client's PEM certificate; default: none */
    const char *tls_key;  /* file of its private key, PEM without a passphrase */
    const char *tls_name; /* name that the servers' certificates must have; default: their host */
    /* File whose first line is the password of Redis; its user is that of "redis://user@host:port",
     * or the default user.  It is read before each authentication and twice a second: when it has
     * changed all connections authenticate anew. */
    const char *redis_password_file;
    const char *zookeeper_auth_file; /* file whose first line is zookeeper_auth; read at the
                                        beginning of each session */
    smq_credentials_fn *credentials; /* in the place of a password for Redis */
    void *credentials_user;          /* passed to `credentials` */
    bool poll_events; /* events wait until smq_client_poll_events() takes them; not with `event` */
    const struct smq_hooks *hooks; /* slotmq/hooks.h, copied; default: none */
    smq_coordination coordination; /* default SMQ_COORDINATION_AUTO */
    /* Of a fleet in Redis, default "/slotmq".  All members with one root are one fleet, for all
     * their topics, so give each application a root of its own. */
    const char *root;
} smq_client_options;
#define SMQ_CLIENT_OPTIONS_INIT SMQ_INIT(smq_client_options)
#define SMQ_CLIENT_OPTIONS(...) SMQ_WITH(smq_client_options, __VA_ARGS__)

/* Called when memory for the library itself cannot be had; `size` bytes were asked for, 0: the
 * number is not known.  true: memory was freed, the library tries again.  false: the process is
 * aborted. The function may also end the process in its own way.  Thread: any; it must not call the
 * library. */
typedef bool smq_no_memory_fn(size_t size, void *user);

/* What the library does to its process.  The defaults suit most programs. */
typedef struct smq_process_settings {
    size_t struct_size;
    /* Do not open the descriptors 0, 1 and 2 when they are closed.  Then the program itself keeps
     * them open: a connection that gets such a number ends the process when it is closed. */
    bool leave_descriptors;
    /* Default: the process is aborted when memory for the library itself cannot be had.  Calls
     * whose size the caller chooses fail with NO_MEMORY instead. */
    smq_no_memory_fn *no_memory;
    void *user; /* passed to it */
} smq_process_settings;
#define SMQ_PROCESS_SETTINGS_INIT SMQ_INIT(smq_process_settings)
#define SMQ_PROCESS_SETTINGS(...) SMQ_WITH(smq_process_settings, __VA_ARGS__)

/* Set them for the whole process, before the first client is made.  Fails: INVALID. */
SMQ_API smq_status smq_process_set(const smq_process_settings *settings, smq_error *err);

/* Connect to Redis.  One client per process is enough.  The client connects to ZooKeeper with its
 * first consumer of an exclusive topic; sending never needs ZooKeeper.
 * If one of the descriptors 0, 1 and 2 of the process is closed, the call opens it on a file that
 * can be neither read nor written, so that no connection gets its number; smq_process_set() can
 * prevent that.
 * Blocks: connect_timeout_ms.  Fails: UNAVAILABLE, DENIED, BAD_SERVER. */
SMQ_API smq_status smq_client_new(smq_client **out, const smq_client_options *options,
                                  smq_error *err);

/* Of a client with poll_events: take up to `capacity` events, the oldest first, and set *count to
 * their number.  out[] gets pointers, which are valid until the next poll of the client or
 * smq_client_free(); so one thread polls at a time.  If none comes in time the call returns SMQ_OK,
 * and *count is 0.
 * Blocks: timeout_ms; 0 does not block.  Fails: INVALID (the client has no poll_events). */
SMQ_API smq_status smq_client_poll_events(smq_client *client, const smq_event **out,
                                          size_t capacity, size_t *count, int64_t timeout_ms,
                                          smq_error *err);

/* A descriptor that is readable (level-triggered) while a poll would return events.  The
 * application may only wait for it; it must not read, write or close it.  It is closed by
 * smq_client_free(), or later, when the last handle made from the client is freed.
 * Returns -1 if the client is NULL, has no poll_events, or was made before fork(). */
SMQ_API int smq_client_fd(const smq_client *client);

/* Drop the caller's reference.  Threads and connections end when the client and all handles made
 * from it are freed, so the order of the _free() calls does not matter.
 * Blocks: the last of them, while the client deletes a topic with expires_ms, up to
 * request_timeout_ms per round trip. */
SMQ_API void smq_client_free(smq_client *client);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_CLIENT_H */
