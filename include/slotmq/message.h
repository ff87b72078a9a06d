/* message.h - a message to send, and what can be read of a stored one.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_MESSAGE_H
#define SLOTMQ_MESSAGE_H

#include <slotmq/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SMQ_HEADERS_MAX       64   /* headers of one message, at most */
#define SMQ_HEADERS_BYTES_MAX 8192 /* bytes of all their names and values, at most */

/* A header: something about a message that is not a part of its body, as the `traceparent` of a
 * trace.  The name has printable ASCII characters without blanks and '=', and case matters.  Names
 * that begin with "slotmq-" are kept for slotmq.  The value may be any bytes, also none.  The
 * headers of a message keep their order, and no two of them have the same name. */
typedef struct smq_header {
    const char *name;
    smq_bytes value;
} smq_header;

/* A message to send.
 *
 * Fields without a layout or type apply to all topics; the others are refused elsewhere. */
typedef struct smq_message {
    size_t struct_size;
    /* Layout inline: 1 byte .. 64 KiB.  Layout keyed: up to max_body of the topic, also empty. */
    smq_bytes body;
    /* 1 .. 1024 bytes.  Messages of one key are handled one at a time.  Default: the id, in layout
     * inline the body.  To pass that value as the key is the same as to pass none. */
    smq_bytes key;
    /* Layout keyed: 1 .. 1024 bytes.  Without an id the library makes one, and without a key as
     * well it gives such messages to the slots in turn. */
    smq_bytes id;
    /* Priority topics: larger is more urgent. */
    int64_t priority;
    /* All topics but fifo: the message is due this long after the send; 0: at once.  In a priority
     * topic it takes its place by its priority when it is due.  SMQ_TOPIC_DELAY: in a range_merge
     * topic its delay_ms, if it has one, else at once; this is allowed in any topic. */
    int64_t delay_ms;
    /* Fixed_time and priority topics: when the message is due.  A time in the past or 0: due at
     * once; a negative one is refused.  Give either this or delay_ms. */
    int64_t due_at_ms;
    /* Layout keyed: the message expires this long after the send, 1 .. 2^43.  0: the ttl_ms of the
     * topic.  SMQ_NONE: the message does not expire. */
    int64_t ttl_ms;
    /* Layout keyed: retries before the message is dead, 1 .. 63.  0: the max_retries of the topic.
     * SMQ_NONE: no retry, so the message is delivered once. */
    int32_t max_retries;
    /* Layout keyed: the headers.  They stay with the message over retries, death and requeue.  They
     * are no part of its identity: when two sends merge, the message gets body and headers of the
     * later one. */
    const smq_header *headers;
    size_t header_count;
} smq_message;
#define SMQ_MESSAGE_INIT SMQ_INIT(smq_message)
#define SMQ_MESSAGE(...) SMQ_WITH(smq_message, __VA_ARGS__)

/* A message that was stored, to be stored again by smq_restore(): made of an smq_message_info, or
 * of a line of `slotmq peek --json`.  Without the fields that its topic does not have. */
typedef struct smq_message_copy {
    size_t struct_size;
    smq_bytes body, key, id; /* as in smq_message */
    int64_t priority;        /* priority topics */
    /* All topics but fifo: when it is due, also if that has passed; 0: at once. */
    int64_t due_at_ms;
    int64_t sent_at_ms;        /* layout keyed: time of the first send; 0: now */
    int64_t expires_at_ms;     /* layout keyed: end of its time to live; 0: it does not expire */
    int32_t max_retries;       /* as in smq_message */
    int32_t attempt;           /* deliveries that failed, each of which used a retry; 0 .. 63 */
    const smq_header *headers; /* as in smq_message */
    size_t header_count;
} smq_message_copy;
#define SMQ_MESSAGE_COPY_INIT SMQ_INIT(smq_message_copy)
#define SMQ_MESSAGE_COPY(...) SMQ_WITH(smq_message_copy, __VA_ARGS__)

/* === A stored message =================================================== */

/* Names a stored message: by the key and id, in layout inline by the key and body, that were sent.
 * Give the key only if the message was sent with one. */
typedef struct smq_message_ref {
    size_t struct_size;
    smq_bytes key;
    smq_bytes id;   /* layout keyed */
    smq_bytes body; /* layout inline */
} smq_message_ref;
#define SMQ_MESSAGE_REF_INIT SMQ_INIT(smq_message_ref)
#define SMQ_MESSAGE_REF(...) SMQ_WITH(smq_message_ref, __VA_ARGS__)

typedef enum smq_state {
    SMQ_STATE_WAITING = 1, /* it waits to be claimed, due or not yet */
    SMQ_STATE_CLAIMED = 2, /* a consumer has it */
    SMQ_STATE_RESTING = 4, /* it failed or was released, and its delay is not over */
    SMQ_STATE_DEAD = 8     /* it is a dead letter, until a person requeues or purges it */
} smq_state;

/* The name of one state, as "waiting"; "unknown" if there is no such state. */
SMQ_API const char *smq_state_name(smq_state state);

#define SMQ_TRIES_MAX 5 /* tries that are kept of a message, at most */

/* How a try of a message ended without it being done. */
typedef enum smq_try_how {
    SMQ_TRY_RETRIED = 1,  /* it was answered with a retry; of a dead letter: without one left */
    SMQ_TRY_REJECTED = 2, /* it was rejected */
    SMQ_TRY_LOST = 3,     /* its consumer died, hung or lost the slot */
    SMQ_TRY_TIMED_OUT = 4 /* its handler took too long */
} smq_try_how;

/* The name of one way, as "timed_out"; "unknown" if there is no such way. */
SMQ_API const char *smq_try_how_name(smq_try_how how);

typedef struct smq_try {
    smq_try_how how;
    int64_t at_ms; /* 0: not known, as of the first try if its consumer died */
    /* That was given with the answer, or "".  Of tries before the last the first 100 bytes. */
    const char *reason;
} smq_try;

/* Describes a delivery, a dead letter or a stored message.  It is read only, and later versions add
 * fields at its end.  A field without a value is NULL, "" or 0. */
typedef struct smq_message_info {
    size_t struct_size;
    const char *topic;
    int32_t slot;
    smq_state state;
    smq_bytes body;
    /* As it was sent.  A message without a key: in layout keyed its id, in layout inline none. */
    smq_bytes key;
    smq_bytes id;     /* in layout inline the body */
    int64_t priority; /* priority topics */
    /* When it is due, in topics with times; resting: the end of its rest; priority topics: when a
     * waiting message is due that is not due yet. */
    int64_t due_at_ms;
    int64_t sent_at_ms;    /* time of the first send; layout keyed */
    int64_t expires_at_ms; /* end of its time to live; layout keyed */
    int64_t lease_at_ms;   /* claimed: end of the lease when this was read */
    int64_t dead_at_ms;    /* dead: when it became a dead letter */
    /* Number of this delivery, of a stored message that of the last one: 1 is the first, 0 means
     * that it was not delivered yet.  Deliveries that were released do not count. */
    int32_t attempt;
    int32_t retries_left;
    /* Fencing token of the slot's owner: 24 hex digits, of which a newer one is larger by strcmp().
     * "" in a shared topic. */
    const char *token;
    /* Stored messages: why the message failed last, at most SMQ_REASON_MAX bytes.  "" if no reason
     * was given, and in deliveries. */
    const char *reason;
    /* Visits: pass it as filter.cursor to continue behind this message. */
    const char *cursor;
    const smq_header *headers; /* layout keyed */
    size_t header_count;
    /* An earlier delivery was answered with retry, or ended without an answer because its handler
     * hung or its process died; of the latter the consumer may not have seen the message.  Of a
     * message that waits or rests: its next delivery has it.  Releases do not count. */
    bool redelivered;
    /* Stored messages: how the last tries ended, the newest first.  A requeue begins anew. */
    const smq_try *tries;
    size_t try_count;
    /* Stored messages that are claimed: when, by the clock of Redis, and the name of the process;
     * 0 and "" if that is not known.  Consumers note both of their oldest claim of a slot when they
     * renew its lease.  In a topic that is not shared, the process of all claims of the owner of
     * the slot is known. */
    int64_t claimed_at_ms;
    const char *claimed_by;
    bool whole; /* format 5: it is one entry of a sorted set, with all that belongs to it */
} smq_message_info;

/* The header of that name; NULL: the message has none.  It lives as long as `info`.
 * Thread: any.  Does not block. */
SMQ_API const smq_header *smq_header_get(const smq_message_info *info, const char *name);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_MESSAGE_H */
