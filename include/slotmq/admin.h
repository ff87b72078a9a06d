/* admin.h - look at topics, slots and messages; edit messages; dead letters.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_ADMIN_H
#define SLOTMQ_ADMIN_H

#include <slotmq/client.h>
#include <slotmq/message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* === Looking, editing, dead letters ===================================== */

/* All of these block up to request_timeout_ms per round trip, use no command
 * that a large topic makes slow, and fail with NO_TOPIC. */

/* What a topic holds and has done, whole fleet.  Gauges, then counters. */
typedef struct smq_stats {
    size_t struct_size;
    uint64_t waiting, due; /* due is a part of waiting          */
    uint64_t claimed, resting, dead;
    int64_t oldest_due_age_ms; /* lag: for how long the oldest due message has been
                                  due; fifo: since it was first sent.  0: nothing is
                                  due.  SMQ_AGE_UNKNOWN: priority keeps no times  */
    int64_t next_due_at_ms;    /* 0: nothing waits                  */
    uint64_t sent, merged, done, retried, rejected, expired, released;
    uint64_t lease_lost;   /* claims whose process died or hung            */
    uint64_t slots_paused; /* gauge; of a paused topic all, of a slot 0, 1 */
    /* gauges: slots of which nothing is in the numbers above                */
    uint64_t slots_damaged; /* Redis lost a part of them: smq_topic_repair() */
    uint64_t slots_silent;  /* they did not answer                           */
} smq_stats;
#define SMQ_AGE_UNKNOWN (-1)
#define SMQ_STATS_INIT  SMQ_INIT(smq_stats)
#define SMQ_STATS(...)  SMQ_WITH(smq_stats, __VA_ARGS__)

/* Slots that are damaged or do not answer are left out, and counted.
 * Fails: NO_TOPIC, DAMAGED (the definition is lost), UNAVAILABLE (no slot
 * answers). */
SMQ_API smq_status smq_topic_stats(smq_client *client, const char *topic, smq_stats *out,
                                   smq_error *err);

/* Find one message by key and id (inline: key and body; a key only if it was sent
 * with one); give it back to smq_message_info_free().  `out` may be NULL: does
 * it exist?  If it is there more than once: the waiting one, else the claimed,
 * the resting, the dead one.
 * Fails: NO_MESSAGE, INVALID (nothing names it). */
SMQ_API smq_status smq_message_get(smq_client *client, const char *topic, const smq_message *which,
                                   smq_message_info **out, smq_error *err);
SMQ_API void smq_message_info_free(smq_message_info *info);

/* How many waiting messages come before it: those of the topic with a strictly
 * better priority or time, and those before it in its own slot; fifo: its own slot only.
 * Fails: NO_MESSAGE (also when it rests or is dead), IN_WORK (claimed). */
SMQ_API smq_status smq_message_rank(smq_client *client, const char *topic, const smq_message *which,
                                    uint64_t *out, smq_error *err);

/* Remove it: the waiting one, else the resting, the dead one.
 * Fails: NO_MESSAGE, IN_WORK (claimed, and none waits). */
SMQ_API smq_status smq_message_remove(smq_client *client, const char *topic,
                                      const smq_message *which, smq_error *err);

/* Give a waiting message the priority, delay_ms or due_at_ms in `which`, as a
 * send would; retries used stay.
 * Fails: NO_MESSAGE (also when it rests or is dead), IN_WORK (claimed),
 * WRONG_TYPE (also fifo), INVALID (out of range), FULL (as a send). */
SMQ_API smq_status smq_message_reschedule(smq_client *client, const char *topic,
                                          const smq_message *which, smq_error *err);

/* Which messages.  All given conditions must hold. */
typedef struct smq_filter {
    size_t struct_size;
    unsigned states;          /* smq_state, or-ed; visits: default WAITING   */
    const smq_message *which; /* just this one                               */
    const char *contains;     /* in body, key or id                          */
    const char *reason;       /* in the reason of the last failure           */
    int64_t older_than_ms;    /* since it was due, or died; of what has no due
                                 time: since it was first sent               */
    uint64_t limit;           /* at most so many; default all                */
    int64_t rate_per_s;       /* bulk edits; default as fast as it goes      */
    const char *cursor;       /* go on after this one                        */
} smq_filter;
#define SMQ_FILTER_INIT SMQ_INIT(smq_filter)
#define SMQ_FILTER(...) SMQ_WITH(smq_filter, __VA_ARGS__)

typedef bool smq_message_fn(const smq_message_info *message, void *user);

/* Visit messages, slot by slot, in each slot first what waits, then what is
 * claimed, rests, is dead, each in the order of consumption, rests by their
 * end, and deaths by their time.  `filter` NULL: all that waits.
 * This is not a snapshot: a message that moves during the visit may be missed or
 * seen twice.
 * Slots that are damaged or do not answer are left out: all others are visited,
 * then it fails as they do: DAMAGED, UNAVAILABLE.
 * Fails: INVALID (also a cursor that no visit of this topic gave), WRONG_TYPE
 * (older_than_ms where messages have no time). */
SMQ_API smq_status smq_message_each(smq_client *client, const char *topic, const smq_filter *filter,
                                    smq_message_fn *visit, void *user, smq_error *err);

/* Called now and then during bulk edits, on the calling thread; false stops
 * them.  `changed` for certain; `total` is a guess. */
typedef bool smq_progress_fn(uint64_t changed, uint64_t total, void *user);

/* Send dead letters back to where they were, with their own time, priority or
 * place, all retries and no time to live.  What dies meanwhile stays dead.
 * *count (may be NULL) is also set on failure: of those requeued for certain.
 * filter.states is ignored; `filter` NULL: all.
 * Fails: UNKNOWN (all was tried, but a reply was lost, and nobody knows of as
 * many as `err` says; do it again). */
SMQ_API smq_status smq_dead_requeue(smq_client *client, const char *topic, const smq_filter *filter,
                                    uint64_t *count, smq_progress_fn *progress, void *user,
                                    smq_error *err);

/* Delete messages for ever.  filter.states must be given; with SMQ_STATE_CLAIMED it
 * fails: INVALID.  *count and UNKNOWN: as for smq_dead_requeue(). */
SMQ_API smq_status smq_topic_purge(smq_client *client, const char *topic, const smq_filter *filter,
                                   uint64_t *count, smq_progress_fn *progress, void *user,
                                   smq_error *err);

typedef struct smq_slot_info {
    size_t struct_size;
    const char *topic;
    int32_t slot;
    const char *owner; /* member name; "" for none, or a shared topic   */
    const char *token;
    smq_stats stats;
    smq_status status; /* not SMQ_OK: why nothing is known of it, as DAMAGED */
    const char *why;   /* in one line; "" for SMQ_OK                         */
} smq_slot_info;

/* Valid during the visit. */
typedef bool smq_slot_fn(const smq_slot_info *slot, void *user);

/* Visit the slots of a topic, in their order. */
SMQ_API smq_status smq_topic_slots(smq_client *client, const char *topic, smq_slot_fn *visit,
                                   void *user, smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_ADMIN_H */
