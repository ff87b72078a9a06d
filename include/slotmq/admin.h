/* admin.h - look at topics and slots; dead letters.
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
 * that a large topic makes slow. */

/* What a topic holds and has done, whole fleet.  Gauges, then counters. */
typedef struct smq_stats {
    size_t struct_size;
    uint64_t waiting, due; /* due is a part of waiting          */
    uint64_t claimed, resting, dead;
    int64_t oldest_due_age_ms; /* lag: now - due of the oldest due  */
    int64_t next_due_at_ms;    /* 0: nothing waits                  */
    uint64_t sent, merged, done, retried, rejected, expired, released;
    uint64_t lease_lost; /* claims whose process died or hung */
} smq_stats;
#define SMQ_STATS_INIT SMQ_INIT(smq_stats)

SMQ_API smq_status smq_topic_stats(smq_stats *out, smq_client *client, const char *topic,
                                   smq_error *err);

typedef bool smq_message_fn(const smq_message_info *message, void *user);

/* Visit the dead letters slot by slot, in each slot the oldest death first.
 * Not a snapshot: what moves during the visit may be missed or seen twice. */
SMQ_API smq_status smq_dead_each(smq_client *client, const char *topic, smq_message_fn *visit,
                                 void *user, smq_error *err);

/* Send all dead letters back to where they were, with all retries and their
 * own time or priority.  *count (may be NULL) is also set on failure. */
SMQ_API smq_status smq_dead_requeue(uint64_t *count, smq_client *client, const char *topic,
                                    smq_error *err);

typedef struct smq_slot_info {
    size_t struct_size;
    const char *topic;
    int32_t slot;
    const char *owner; /* member name; "" for none, or a shared topic   */
    const char *token;
    smq_stats stats;
} smq_slot_info;

/* Valid during the visit. */
typedef bool smq_slot_fn(const smq_slot_info *slot, void *user);

SMQ_API smq_status smq_topic_slots(smq_client *client, const char *topic, smq_slot_fn *visit,
                                   void *user, smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_ADMIN_H */
