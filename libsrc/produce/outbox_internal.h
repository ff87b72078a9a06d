/* outbox_internal.h - what outbox.c (places and waits) and send_request.c (requests) share.
 *
 * Thread: smq:io. */
#ifndef PRODUCE_OUTBOX_INTERNAL_H
#define PRODUCE_OUTBOX_INTERNAL_H

#include "base/hash.h"
#include "produce/outbox.h"
#include "store/store.h"

enum { REQUEST_SENDS_MAX = 500, REQUEST_BYTES_MAX = 1024 * 1024 };

/* READY waits for the end of the loop's turn; RESTING for `resume_ms`, after a failure. */
enum outbox_state { OUTBOX_EMPTY, OUTBOX_READY, OUTBOX_ON_WIRE, OUTBOX_RESTING };

/* Invariants: EMPTY has no queue, READY and RESTING have one and stand in the list of that name;
 * ON_WIRE has one request, and a queue behind it or not. */
struct outbox {
    TAILQ_ENTRY(outbox) link; /* READY, RESTING */
    struct outbox_topic *topic;
    struct send_list queue;
    enum outbox_state state;
    int32_t slot;
    int failures;      /* in a row */
    int64_t resume_ms; /* not on the wire before */
    char *why;         /* the last of them; NULL: none */
};
TAILQ_HEAD(outbox_list, outbox);

/* One topic as this producer sends to it.
 *
 * Invariant: while it is blocked every send of the topic that is not on the wire stands in
 * `unplaced`; while it is not, none does. */
struct outbox_topic {
    UT_hash_handle hh;
    TAILQ_ENTRY(outbox_topic) link; /* blocked */
    struct outboxes *all;           /* NULL: closed, goes with the end of the read */
    bool blocked;                   /* waits for a definition */
    bool reading;
    bool known; /* `topic` and `slots` are valid */
    bool newer; /* `next` replaces `topic` as soon as nothing is on the wire */
    struct topic topic, next;
    char stamp[TOPIC_STAMP_MAX];
    struct outbox **slots; /* NULL where nothing was sent yet */
    size_t on_wire;        /* requests */
    int64_t checked_ms;    /* when the definition was read last */
    int failures;          /* of reads, in a row */
    int64_t read_ms;       /* blocked, not reading: read again then; 0: when there is reason */
    int64_t expire_ms;     /* no deadline in `unplaced` is earlier */
    struct send_list unplaced;
    char name[TOPIC_NAME_MAX + 1];
};
TAILQ_HEAD(outbox_topic_list, outbox_topic);

/* One call of the send script, and the wait for replicas behind it.  Owns the sends in `batch`. */
struct request {
    LIST_ENTRY(request) link; /* on the wire, or spare */
    struct store_call call;
    struct redis_await await;
    struct outbox *outbox; /* NULL: closed meanwhile */
    struct store_slot slot;
    struct send_list batch;
    size_t count;
    bool repeated; /* all of its sends may be stored already; else none is */
};
LIST_HEAD(request_list, request);

struct outboxes {
    struct core *core;
    struct outboxes_options options;
    outboxes_ended_fn *ended_fn;
    void *user;
    struct outbox_topic *topics;
    struct outbox_topic *last; /* found last */
    struct outbox_topic_list blocked;
    struct outbox_list ready, resting;
    struct request_list wire, spare;
    size_t spare_count;
    struct message_ids ids;
    struct buf member;      /* of the send that is put into a request */
    struct send_list ended; /* to be reported at the end of this call from the loop */
    uv_timer_t timer;       /* for `blocked` and `resting`: runs until `wake_ms` */
    int64_t wake_ms;        /* INT64_MAX: it does not run */
    void (*closed)(void *user);
    void *closed_user;
};

/* --- outbox.c --- */

void outbox_set_state(struct outbox *outbox, enum outbox_state state);

/* What an outbox does next, now that it is not on the wire. */
void outbox_settle(struct outbox *outbox);

/* Begin or prolong the rest of an outbox after a failure; `why` is for people. */
void outbox_failed(struct outbox *outbox, const char *why);

/* No failure stands between it and the wire. */
void outbox_forgive(struct outbox *outbox);

/* End one send: report it later.  `text` is for people. */
void send_end(struct outboxes *all, struct send *send, smq_status status, const char *text);

/* Put `list` before what waits in the outbox, or in its blocked topic. */
void outbox_put_back(struct outbox *outbox, struct send_list *list);

/* Read the definition of the topic again: a slot refused the one that is known. */
void topic_block(struct outbox_topic *topic);

/* One request of the topic less is on the wire.  The topic and its outboxes may be gone then. */
void topic_request_ended(struct outbox_topic *topic);

/* What ends every turn: requests for what is ready, the timer, the report. */
void outboxes_turn(struct outboxes *all);

/* --- send_request.c --- */

/* Put the head of the outbox' queue on the wire. */
void request_begin(struct outbox *outbox, int64_t now_ms);

/* Every request on the wire ends without us: its sends end as UNKNOWN. */
void requests_abandon(struct outboxes *all);
void requests_free_spare(struct outboxes *all);

#endif
