/* send.h - what producers send, and what the slot answers.
 *
 * Thread: smq:io. */
#ifndef STORE_SEND_H
#define STORE_SEND_H

#include "store/store.h"

struct store_message {
    const void *member; /* as in model/member.h */
    size_t member_len;
    const char *when; /* send_when() of model/send.h */
    /* keyed */
    const void *body; /* behind its headers, if it has any (model/headers.h) */
    size_t body_len, headers_len;
    int32_t max_retries; /* -1: that of the topic */
    int64_t ttl_ms;      /* -1: no limit */
};
/* Begin a call, add up to 1,000 messages, send it.  The messages have the send ids `sequence`,
 * `sequence` + 1, ... of that producer, which are larger than all that it has used in this slot; or
 * the call repeats messages of its last call there, with their ids, and gets the first answer.
 * `producer` NULL: the call is never repeated, and has no ids.
 * If the topic has groups, the messages are stored in the slot of each of them, or in none. */
void store_send_begin(struct store_call *call, const struct store_slot *slot,
                      const struct topic *topic, const char *producer, uint64_t sequence);
void store_send_add(struct store_call *call, const struct store_slot *slot,
                    const struct store_message *message);
void store_send(struct store_call *call, struct redis *redis, int64_t timeout_ms);
/* *results has one character per message: 'a' added, 'm' merged, 'f' refused because the slot is
 * full, 'd' refused as a duplicate, 'u' a repeat of which the first answer is not known any more;
 * valid only during `done`. */
bool store_send_read(const char **results, const struct store_result *result, size_t count);
/* The index of the group that has refused the message at `index`; -1: it is not known, or the topic
 * has no groups. */
int store_send_full(const struct store_result *result, size_t index);
/* REFUSED with status FULL, which refuses all messages: the index of the group that has no places
 * left; -1: the topic has no groups. */
int store_send_full_group(const struct store_result *result);

/* The last sequence that the slot remembers of a producer; 0: none. */
void store_sent(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                const struct topic *topic, const char *producer);
bool store_sent_read(uint64_t *last, const struct store_result *result);

#endif
