/* peer.h - a session with a tree in Redis under test, and what it reports.
 *
 * Thread: main; the session lives on loops of its own. */
#ifndef TEST_COORD_PEER_H
#define TEST_COORD_PEER_H

#include <pthread.h>

#include "base/loop.h"
#include "coord/session/session.h"
#include "redis/client.h"

enum { PEER_DATA_MAX = 256, PEER_CHANGES_MAX = 64 };

enum peer_event { PEER_CONNECTED, PEER_DISCONNECTED, PEER_EXPIRED, PEER_DENIED, PEER_EVENTS };

struct peer {
    struct client client;
    struct tree_port *port;
    struct loop *loop;
    struct session *session;
    struct session_options options;
    pthread_mutex_t lock;
    pthread_cond_t told;
    /* guarded by `lock` */
    int events[PEER_EVENTS];
    char changes[PEER_CHANGES_MAX][PEER_DATA_MAX];
    int change_count, told_count;
};

/* A reply; `text` has the data, or the sorted names with a space behind each. */
struct peer_reply {
    enum session_status status;
    struct session_stat stat;
    enum session_status errors[SESSION_OPS_MAX];
    char text[PEER_DATA_MAX];
};

/* Begin a session with the tree of `root`; and wait until it is connected. */
void peer_begin(struct peer *peer, const char *redis, const char *root, int64_t timeout_ms);
void peer_start(struct peer *peer, const char *redis, const char *root, int64_t timeout_ms);
void peer_stop(struct peer *peer);

/* End it without a word to Redis, as when the process dies. */
void peer_die(struct peer *peer);

struct peer_reply peer_get(struct peer *peer, const char *path, bool watch);
struct peer_reply peer_list(struct peer *peer, const char *path, bool watch);
struct peer_reply peer_write(struct peer *peer, const struct session_op *ops, size_t count);

/* One operation that must be done. */
struct peer_reply peer_do(struct peer *peer, enum session_op_kind kind, const char *path,
                          const char *data, int64_t version);

/* The reign of the tree; 0: its grace is not over. */
int64_t peer_reign(struct peer *peer);

/* Wait until it has reported an event so often; until a watch has fired for a path, which is then
 * forgotten. */
void peer_await(struct peer *peer, enum peer_event event, int count);
int peer_events(struct peer *peer, enum peer_event event);
void peer_await_change(struct peer *peer, const char *path);

/* How much it has reported; wait until it has reported more. */
int peer_told(struct peer *peer);
void peer_await_told(struct peer *peer, int told);

#endif
