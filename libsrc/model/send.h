/* send.h - checks a message against its topic, and prepares the arguments of the script `send`.
 *
 * Pure. */
#ifndef MODEL_SEND_H
#define MODEL_SEND_H

#include <slotmq/message.h>

#include "model/topic.h"

/* A message to send, or one to restore.  Its pointers belong to the caller. */
struct message {
    smq_bytes body, key, id;
    bool made; /* the library made the id */
    int64_t priority, delay_ms, due_at_ms;
    int64_t ttl_ms;
    int32_t max_retries;
    const smq_header *headers;
    size_t header_count;
    size_t added;  /* the last of the headers, which a hook has added: layout inline drops them */
    bool restored; /* only then the others are set */
    int32_t attempt;
    int64_t sent_at_ms, expires_at_ms;
};

/* Check what does not depend on the topic: lengths, delay together with due time, ranges.  Fails:
 * INVALID, TOO_BIG. */
smq_status send_check(const struct message *message, smq_error *err);

enum { SEND_WHEN_MAX = 48, SEND_RESTORED_MAX = 144 };

/* The arguments that depend on the topic. */
struct send_place {
    int32_t slot;
    int32_t max_retries; /* keyed: the message's own limit; -1: that of the topic */
    int64_t ttl_ms;      /* keyed; -1: no limit */
    /* argument of the script: "+MS" (relative), "MS" (absolute), a priority, alone or with "@+MS"
     * or "@MS" behind it, or "0" for fifo */
    char when[SEND_WHEN_MAX];
    bool whole; /* all of the message is in its member (model/whole.h) */
};

/* Does the library have to make an id for the message? */
bool send_lacks_id(const struct topic *topic, const struct message *message);

/* `message` has passed send_check() and has an id if it needs one.  Fails: INVALID (range, empty),
 * WRONG_TYPE, TOO_BIG. */
smq_status send_place(struct send_place *out, const struct topic *topic,
                      const struct message *message, smq_error *err);

/* The argument `when` of the script: that of the place, or for a message that is restored, in
 * `scratch`, the place and what was stored: "PLACE/ATTEMPTS/FIRST/EXPIRY" (lua/send.lua). */
const char *send_when(char scratch[SEND_RESTORED_MAX], const struct send_place *place,
                      const struct message *message);

/* The slot of a message, which has an id if it needs one. */
int32_t send_slot(const struct topic *topic, const struct message *message);

/* Append the member of a message that is whole; `stored`: its headers and its body. */
void send_member_whole(struct buf *out, const struct send_place *place,
                       const struct message *message, smq_bytes stored, size_t headers_len);

/* The member of any other message in the sorted sets of its slot.  *out points into the message or
 * into `scratch`, which is overwritten. */
void send_member(const void **out, size_t *len, struct buf *scratch, const struct topic *topic,
                 const struct message *message);

#endif
