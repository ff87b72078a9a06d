/* tree_call.h - the calls that wait to be sent to the tree, or for its reply, and the nodes that
 * belong to the session.
 *
 * Below: session.h, tree_exchange.h, tree_text.h.  Thread: smq:coord. */
#ifndef COORD_TREE_TREE_CALL_H
#define COORD_TREE_TREE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/queue.h>

#include "coord/session/session.h"
#include "coord/tree/tree_exchange.h"

enum tree_call_kind { TREE_CALL_GET, TREE_CALL_LIST, TREE_CALL_SYNC, TREE_CALL_WRITE };

struct tree_call {
    TAILQ_ENTRY(tree_call) link;
    enum tree_call_kind kind;
    char *path;                 /* GET, LIST */
    enum session_status status; /* SYNC: of its reply */
    bool watch;
    session_reply_fn *fn;
    void *user;
    struct session_op ops[SESSION_OPS_MAX]; /* WRITE: with paths and data of their own */
    size_t op_count;
};

TAILQ_HEAD(tree_calls, tree_call);

struct tree_call *tree_call_new(enum tree_call_kind kind, session_reply_fn *fn, void *user);
void tree_call_free(struct tree_call *call);
void tree_calls_free(struct tree_calls *calls);

/* Copy an operation into a call. */
void tree_call_add_op(struct tree_call *call, const struct session_op *op);

/* Add the operands of the call to an exchange. */
void tree_call_encode(struct tree_exchange *exchange, const struct tree_call *call);

/* The reply to a call, out of `words` of which each read has one and each operation has one;
 * *names is freed with it by tree_reply_fini().  A reply of another form is FAILED. */
struct session_reply tree_call_reply(const struct tree_call *call, enum tree_verdict verdict,
                                     int64_t last, const struct coord_word *words, size_t count);
void tree_reply_fini(struct session_reply *reply);

/* --- nodes of the session, as it knows them --- */

/* A node below "members/": with it the session resumes in another reign. */
struct tree_own {
    SLIST_ENTRY(tree_own) link;
    char *path;
    int64_t czxid;
    char *data;
    size_t len;
};

SLIST_HEAD(tree_owns, tree_own);

/* Note what the reply to a call says of such nodes of session `id`. */
void tree_owns_note(struct tree_owns *owns, const struct tree_call *call,
                    const struct session_reply *reply, int64_t id);
void tree_owns_encode(struct tree_exchange *exchange, const struct tree_owns *owns);
void tree_owns_free(struct tree_owns *owns);

#endif
