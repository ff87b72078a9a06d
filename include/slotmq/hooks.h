/* hooks.h - functions of the application around sends, handlers and answers, for tracing.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_HOOKS_H
#define SLOTMQ_HOOKS_H

#include <slotmq/delivery.h>
#include <slotmq/message.h>
#include <slotmq/producer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hooks are functions that a client calls around what its producers and consumers do, so that a
 * tracer needs no line in each handler and at each send.  They see all topics of the client.  A
 * hook that begins something may return a pointer of its own, a span, and the hook of its end gets
 * that.  What a hook is shown is valid only during the call.  A hook must not wait: it runs in the
 * way of messages.  It may call functions that do not block; a send of its own is seen by hooks as
 * any other.  It answers no delivery, and frees no handle. */

/* === Sends ============================================================== */

/* The headers that a message gets on its way. */
typedef struct smq_hook_headers smq_hook_headers;

/* Add a header; name and value are copied.  Only inside smq_send_begin_fn.  The bounds of
 * smq_message.headers hold for all headers of the message together.  A topic of layout inline has
 * no headers: there the send goes on without those that were added.
 * Fails: INVALID (the name is not allowed, or the message has it already: what the application has
 * set stays), TOO_BIG, NO_MEMORY; then the message is as before. */
SMQ_API smq_status smq_hook_headers_add(smq_hook_headers *headers, const char *name,
                                        smq_bytes value, smq_error *err);

/* A message is about to be sent; of a batch each one.  `message` has what was given: topic, body,
 * key, id, priority, due time and headers; the slot is -1.  Sends that are refused for their
 * arguments are not shown, and smq_restore() is not either: it stores a message as it was.
 * Returns the span, or NULL.
 * Thread: the one that sends, before its call does anything else. */
typedef void *smq_send_begin_fn(const smq_message_info *message, smq_hook_headers *headers,
                                void *user);

/* The send has ended: once for each begin, before the application gets the receipt.  `message` has
 * the slot, the id also if the library made it, and the headers with those that were added.
 * Thread: the one that sends, if its call waits or is refused; else smq:call. */
typedef void smq_send_end_fn(const smq_message_info *message, const smq_receipt *receipt,
                             void *span, void *user);

/* === Processing ========================================================= */

/* The application is about to get a message.  Returns the span, or NULL.
 * Thread: smq:work-N, before the call of the handler; of a batch each one.  Of a consumer without
 * handlers: the one that polls, before the poll returns. */
typedef void *smq_process_begin_fn(const smq_message_info *message, void *user);

/* With handlers: the handler has returned `verdict`.  Without them: the message is being answered
 * with it.  Once for each begin, unless a message that was polled is never answered.
 * Thread: the one of the begin, after the handler; of a consumer without handlers the one that
 * answers. */
typedef void smq_process_end_fn(const smq_message_info *message, smq_verdict verdict, void *span,
                                void *user);

/* === Answers ============================================================ */

/* What became of an answer. */
typedef struct smq_settlement {
    size_t struct_size;
    smq_verdict verdict; /* SMQ_DONE, SMQ_RETRY, SMQ_REJECT or SMQ_RELEASE */
    /* SMQ_OK: it is stored.  LEASE_LOST, FENCED, CLOSED: it came too late, and the message is
     * delivered again.  UNKNOWN: it is not known whether it is stored. */
    smq_status status;
    bool dead;          /* the message became a dead letter by it */
    const char *reason; /* that was given with it, or NULL */
} smq_settlement;

/* An answer of the application was stored, or was refused: once for each, unless the process ends
 * before.  With handlers that can be before or after the end of the processing.  What the library
 * answers by itself, as after a handler time-out, is not shown.
 * Thread: smq:call; if the answer is refused at once, the one that answers. */
typedef void smq_settled_fn(const smq_message_info *message, const smq_settlement *settlement,
                            void *user);

/* Functions that are NULL are not called. */
typedef struct smq_hooks {
    size_t struct_size;
    smq_send_begin_fn *send_begin;
    smq_send_end_fn *send_end;
    smq_process_begin_fn *process_begin;
    smq_process_end_fn *process_end;
    smq_settled_fn *settled;
    /* Passed to all of them.  It stays valid until the client and all handles made from it are
     * freed, and until the last delivery is answered. */
    void *user;
} smq_hooks;
#define SMQ_HOOKS_INIT SMQ_INIT(smq_hooks)
#define SMQ_HOOKS(...) SMQ_WITH(smq_hooks, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_HOOKS_H */
