/* message.h - what is sent, and what is seen of a stored message.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_MESSAGE_H
#define SLOTMQ_MESSAGE_H

#include <slotmq/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What to send.  The body: in layout inline 1 byte .. 64 KiB, in layout keyed
 * up to the topic's max_body, also empty.  A key that equals the id (layout
 * inline: the body) is as good as none.  The same struct names a stored message in
 * smq_message_...() and smq_filter: there key and id (layout inline: key and body) must be what was
 * sent. */
typedef struct smq_message {
    size_t struct_size;
    smq_bytes body;
    smq_bytes key;       /* 1 .. 1024 bytes; messages of one key are handled
                            one at a time.  None: the id is the key, in
                            layout inline the body                        */
    smq_bytes id;        /* layout keyed; 1 .. 1024 bytes.  None: the library
                            makes one                                     */
    int64_t priority;    /* priority topics; larger is more urgent        */
    int64_t delay_ms;    /* time topics: due this long after the send;
                            SMQ_NONE: at once, in any topic; 0: the topic's
                            delay, which range_merge then must have;
                            fixed_time: see due_at_ms                     */
    int64_t due_at_ms;   /* fixed_time: due then, past or 0: at once; not
                            with delay_ms                                 */
    int64_t ttl_ms;      /* layout keyed: not handled after it, 1 .. 2^43;
                            0: the topic's; SMQ_NONE: none                */
    int32_t max_retries; /* layout keyed: 1 .. 63; 0: the topic's;
                            SMQ_NONE: one delivery                      */
} smq_message;
#define SMQ_MESSAGE_INIT SMQ_INIT(smq_message)
#define SMQ_MESSAGE(...) SMQ_WITH(smq_message, __VA_ARGS__)

/* === A message seen ===================================================== */

typedef enum smq_state {
    SMQ_STATE_WAITING = 1, /* in the store, due or not yet                         */
    SMQ_STATE_CLAIMED = 2, /* with a consumer                                      */
    SMQ_STATE_RESTING = 4, /* failed; waits for its back-off                       */
    SMQ_STATE_DEAD = 8     /* given up; waits for a person                         */
} smq_state;

/* Deliveries, dead letters and stored messages are all shown as this.  Read
 * only; grows at the end.  Absent: NULL, "" or 0. */
typedef struct smq_message_info {
    size_t struct_size;
    const char *topic;
    int32_t slot;
    smq_state state;
    smq_bytes body;
    smq_bytes key;         /* as it was sent; without one it is in layout
                              keyed the id, in layout inline none        */
    smq_bytes id;          /* layout inline: the body                    */
    int64_t priority;      /* priority topics                            */
    int64_t due_at_ms;     /* time topics: due; resting: end of the
                              back-off                                   */
    int64_t sent_at_ms;    /* first send; layout keyed                   */
    int64_t expires_at_ms; /* end of its time to live; layout keyed      */
    int64_t lease_at_ms;   /* claimed: end of the lease, as of this call */
    int64_t dead_at_ms;
    int32_t attempt; /* deliveries that counted, this one included: 1 is
                        the first, 0 none yet; a release does not
                        count                                          */
    int32_t retries_left;
    const char *token;  /* fencing token of the slot's owner: 24 hex
                           digits, newer is larger by strcmp(); "" when
                           the topic is shared                            */
    const char *reason; /* stored ones: why it failed last, at most 200
                           bytes; "" when nobody said, and in deliveries  */
    const char *cursor; /* visits: pass it as filter.cursor to go on here */
} smq_message_info;

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_MESSAGE_H */
