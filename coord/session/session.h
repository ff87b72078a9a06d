/* session.h - the session of a member, or of an operation of an operator, with the store of its
 * fleet, and the calls made in it.  The one door to that store: there is one kind of session for
 * each store, behind struct session_kind.
 *
 * A store is a tree of nodes, each with a text.  An ephemeral node belongs to the session that made
 * it, and ends with it.  Each write is done as a whole or not at all, and may check versions.
 *
 * A call that is made without a connection fails with SESSION_AWAY, and so does one whose outcome
 * is unknown.  When the session ends its calls in progress are dropped: `expired` is called, and
 * their functions are not.  Paths are relative to the root: "members/a"; "" is the root itself.
 * Paths with a leading '/' are absolute.
 *
 * Below: nothing of this folder.  Thread: smq:coord. */
#ifndef COORD_SESSION_SESSION_H
#define COORD_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "base/loop.h"

enum { SESSION_OPS_MAX = 3, SESSION_ROOT_MAX = 256 };

enum session_status {
    SESSION_OK,
    SESSION_NO_NODE,   /* the node does not exist */
    SESSION_EXISTS,    /* the node exists already */
    SESSION_CHANGED,   /* the node has another version */
    SESSION_NOT_EMPTY, /* the node has children */
    SESSION_DENIED,    /* a right is missing */
    SESSION_AWAY,      /* the store cannot be reached: whether the call was done is unknown */
    SESSION_FAILED     /* the store failed */
};

enum { SESSION_STATUSES = SESSION_FAILED + 1 };

/* What the status means, in a few words. */
const char *session_status_text(enum session_status status);

/* What is known of a node beside its text.  Numbers of changes grow in all of the store. */
struct session_stat {
    int64_t version;             /* of the text, for checks */
    int64_t czxid, mzxid, pzxid; /* the change that created it, wrote its text, its children */
    int64_t ctime, mtime;        /* when, in milliseconds since 1970 */
    int32_t writes;              /* how often the text was written, or 0 */
    int64_t owner;               /* the id of the session to which it belongs; 0: none */
};

/* The reply to a call; valid only during the callback. */
struct session_reply {
    enum session_status status;
    struct session_stat stat; /* get, a write of one operation */
    const char *data;         /* get */
    size_t len;
    char **names; /* children */
    size_t count;
    /* write: one per operation, valid only if the store replied */
    enum session_status errors[SESSION_OPS_MAX];
    struct session_stat stats[SESSION_OPS_MAX];
};

typedef void session_reply_fn(void *user, const struct session_reply *reply);

enum session_op_kind {
    SESSION_CHECK,
    SESSION_CREATE,
    SESSION_CREATE_EPHEMERAL,
    SESSION_SET,
    SESSION_DELETE,
    /* numbers of changes go above `above`, and the text is written as it is; only a store with
     * reigns does so, and it is AWAY while that is unsettled */
    SESSION_RAISE
};

struct session_op {
    enum session_op_kind kind;
    const char *path;
    const char *data;
    size_t len;
    int64_t version; /* CHECK, SET, DELETE, RAISE: that the node must have */
    int64_t above;   /* RAISE */
};

struct session_options {
    struct loop *loop;
    struct events *events; /* for what the kind has to say itself; may be NULL */
    const char *root;      /* kept by the caller */
    int64_t timeout_ms;
    /* it only reads, and sets no watch: Redis has no session then, and what is read may be from
     * before and after a failover */
    bool looks;
    void (*connected)(void *user); /* also called after a reconnect within the session */
    void (*disconnected)(void *user);
    /* the old session has ended with all its calls; a new one begins */
    void (*expired)(void *user);
    void (*refused)(void *user); /* expired, because the servers refuse this session */
    /* the store cannot be used, as `text` says, which stays valid; no further callback follows */
    void (*denied)(void *user, const char *text);
    /* a watch fired: read the node again; NULL: no call sets a watch */
    void (*changed)(void *user, const char *path);
    void *user;
};

struct session;

/* The functions of a kind; each does what the function of its name below says. */
struct session_kind {
    void (*start)(struct session *session);
    void (*stop)(struct session *session);
    void (*free)(struct session *session);
    void (*renew)(struct session *session);
    bool (*is_connected)(const struct session *session);
    bool (*is_closed)(const struct session *session);
    int64_t (*id)(const struct session *session);
    int64_t (*timeout)(const struct session *session);
    int64_t (*clock)(const struct session *session); /* NULL: clock_now_ms() */
    void (*get)(struct session *session, const char *path, bool watch, session_reply_fn *fn,
                void *user);
    void (*children)(struct session *session, const char *path, bool watch, session_reply_fn *fn,
                     void *user);
    void (*sync)(struct session *session, const char *path, session_reply_fn *fn, void *user);
    void (*write)(struct session *session, const struct session_op *ops, size_t count,
                  session_reply_fn *fn, void *user);
};

/* The first part of the struct of each kind, whose header has the function that makes it. */
struct session {
    const struct session_kind *kind;
    struct session_options options;
    /* The store may have lost its last writes, and begun anew with what is left: since this change;
     * 0: this kind of store loses none. */
    _Atomic int64_t reign; /* any thread */
    bool unsettled;        /* it did so a short time ago: members that live may still be missing */
    bool young;            /* it may have lost that a topic had an owner */
    int64_t grace_ms;      /* for how long it was still unsettled when it answered last */
};

/* Begin a session; the callbacks follow. */
void session_start(struct session *session, const struct session_options *options);

/* Close the session and drop all calls.  Blocks: 5 s at most. */
void session_stop(struct session *session);

/* Free a session that was stopped, or never started, after its loop has ended. */
void session_free(struct session *session);

/* End the session as if it had expired, and begin another. */
void session_renew(struct session *session);

/* Is the session connected, as far as this process knows? */
bool session_is_connected(const struct session *session);

/* Will no earlier call get a reply? */
bool session_is_closed(const struct session *session);

/* The id of the session at the store, which is the owner of its ephemeral nodes. */
int64_t session_id(const struct session *session);

/* The agreed timeout in milliseconds. */
int64_t session_timeout(const struct session *session);

/* The time by which members wait for one another, in milliseconds.  It stands still while the store
 * does not answer, or is unsettled, if others may not be able to say that they live then. */
int64_t session_clock_ms(const struct session *session);

/* DENIED: the node exists, nothing else is known of it, and no watch is set. */
void session_get(struct session *session, const char *path, bool watch, session_reply_fn *fn,
                 void *user);
void session_children(struct session *session, const char *path, bool watch, session_reply_fn *fn,
                      void *user);

/* Reads that are sent after this one see what was written before it, by anybody. */
void session_sync(struct session *session, const char *path, session_reply_fn *fn, void *user);

/* Send one or several write operations, which succeed or fail together. */
void session_write(struct session *session, const struct session_op *ops, size_t count,
                   session_reply_fn *fn, void *user);

#endif
