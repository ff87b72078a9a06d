/* admin.h - inspect topics, slots and messages; edit messages; requeue dead letters.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_ADMIN_H
#define SLOTMQ_ADMIN_H

#include <slotmq/client.h>
#include <slotmq/message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* === Inspecting, editing, dead letters ================================== */

/* Every function below blocks for up to request_timeout_ms per round trip, uses no command of Redis
 * that gets slow in a large topic, and fails with NO_TOPIC if the topic does not exist. */

/* How many messages a topic holds, and what the whole fleet has done with it so far. */
typedef struct smq_stats {
    size_t struct_size;
    /* Gauges.  `due`: messages that could be handled now, because they wait and their time has
     * come, or are stalled. */
    uint64_t waiting, due;
    uint64_t claimed, resting, dead;
    /* The lag: how long a message could have been handled already, the longest of all slots.  0: no
     * message is due.  A stalled message counts from the same time as before its claim; if no time
     * is stored, from its claim.
     * range_merge, fixed_time: since the time of the oldest due message, also after a retry.
     * fifo; priority, layout keyed: since the first send of the message that is claimed next.
     * priority, layout inline: SMQ_AGE_UNKNOWN while a message is due, because no time is stored.
     * A message whose time has not come adds nothing to it, in any topic. */
    int64_t oldest_due_age_ms;
    int64_t next_due_at_ms; /* 0: no message waits */
    /* Counters. */
    uint64_t sent, merged, done, retried, rejected, expired, released;
    uint64_t lease_lost; /* claims that ended because their process died or hung */
    /* Gauges.  Damaged and silent slots are missing from all numbers above. */
    uint64_t slots_paused;  /* all slots of a paused topic; 0 or 1 in the stats of one slot */
    uint64_t slots_damaged; /* Redis lost a part of them; see smq_topic_repair() */
    uint64_t slots_silent;  /* their nodes did not reply */
    /* Counters: every message that became a dead letter, by the cause of its death. */
    uint64_t dead_rejected;  /* by an answer */
    uint64_t dead_failed;    /* a retry was asked for, and none was left */
    uint64_t dead_crashed;   /* its process died or hung, with no retry left */
    uint64_t dead_timed_out; /* its handler took too long, with no retry left */
    uint64_t dead_expired;   /* its time to live had ended, in a topic with expired_to_dead */
    uint64_t dead_bodiless;  /* its body is missing in Redis */
    uint64_t duplicates;     /* counter: sends that dedup_window_ms has refused */
    /* Gauges of what is in work. */
    uint64_t stalled; /* claims whose lease has ended, because their process died or hangs: a part
                         of `claimed` and of `due` */
    int64_t stalled_age_ms; /* how long ago the first of their leases ended; 0: none has */
    /* How long the oldest claim has been in work, at least: consumers note when it was made each
     * time that they renew its lease.  Of a consumer of an earlier version the time is known since
     * it last renewed a lease.  0: nothing is claimed. */
    int64_t oldest_claim_age_ms;
    /* How long the tick of a schedule has been due that nobody makes; 0: none is, or the topic is
     * paused. */
    int64_t tick_late_ms;
} smq_stats;
#define SMQ_AGE_UNKNOWN (-1)
#define SMQ_STATS_INIT  SMQ_INIT(smq_stats)
#define SMQ_STATS(...)  SMQ_WITH(smq_stats, __VA_ARGS__)

/* Read the stats of a topic.  Slots that are damaged or whose nodes do not reply are left out, and
 * counted in slots_damaged and slots_silent.
 * Fails: NO_TOPIC, DAMAGED (the definition of the topic is lost), UNAVAILABLE (no slot could be
 * read). */
SMQ_API smq_status smq_topic_stats(smq_client *client, const char *topic, smq_stats *out,
                                   smq_error *err);

/* Find one message.  If the message is stored more than once, the waiting copy is
 * found, else the claimed one, else the resting one, else the dead one.
 * Free *out with smq_message_info_free().  If `out` is NULL the call only tells whether the message
 * exists.
 * Fails: NO_MESSAGE, INVALID (`which` has neither id nor body). */
SMQ_API smq_status smq_message_get(smq_client *client, const char *topic,
                                   const smq_message_ref *which, smq_message_info **out,
                                   smq_error *err);
SMQ_API void smq_message_info_free(smq_message_info *info);

/* Count the waiting messages that come before this one: in all slots those with a strictly better
 * priority or time, in its own slot also the equal ones that come first.  In a priority topic those
 * that are due come before those that are not, and these are in the order of their times.  In a
 * fifo topic only its own slot counts. Fails: NO_MESSAGE (also if the message rests or is dead),
 * IN_WORK (it is claimed). */
SMQ_API smq_status smq_message_rank(smq_client *client, const char *topic,
                                    const smq_message_ref *which, uint64_t *out, smq_error *err);

/* Remove one message: the waiting copy, else the resting one, else the dead one.
 * Fails: NO_MESSAGE, IN_WORK (the message is claimed, and no copy of it waits). */
SMQ_API smq_status smq_message_remove(smq_client *client, const char *topic,
                                      const smq_message_ref *which, smq_error *err);

/* Give a waiting message the priority, delay_ms or due_at_ms of `place`, as a new send would, which
 * in a priority topic gives it both; the other fields of `place` do not count.  The message keeps
 * the number of its used retries. Fails: NO_MESSAGE (also if the message rests or is dead), IN_WORK
 * (it is claimed), WRONG_TYPE (the topic has no such field, as every fifo topic), INVALID (a value
 * is out of range), FULL (as for a send). */
SMQ_API smq_status smq_message_reschedule(smq_client *client, const char *topic,
                                          const smq_message_ref *which, const smq_message *place,
                                          smq_error *err);

/* Selects messages.  A message must meet all conditions that are given. */
typedef struct smq_filter {
    size_t struct_size;
    unsigned states;              /* smq_state values, or-ed; the default of visits is WAITING */
    const smq_message_ref *which; /* only this message */
    const char *contains;         /* text that body, key or id contains */
    const char *reason;           /* text that the reason of the last failure contains */
    int64_t older_than_ms; /* time since the message was due or became dead; since its first send
                              if it has no due time */
    uint64_t limit;        /* number of messages at most; default no limit */
    int64_t rate_per_s;    /* messages per second of a bulk edit; default no limit */
    const char *cursor;    /* continue a visit behind the message that had this cursor */
    /* A header that the message has, with this value.  Fails in layout inline: WRONG_TYPE. */
    const smq_header *header;
    const char *reason_is; /* the whole reason of the last failure; "": none was given.  Not
                              together with `reason` */
} smq_filter;
#define SMQ_FILTER_INIT SMQ_INIT(smq_filter)
#define SMQ_FILTER(...) SMQ_WITH(smq_filter, __VA_ARGS__)

/* Runs on the calling thread during the visit.  `message` is valid only during the callback.
 * Returning false ends the visit, and the call returns SMQ_OK. */
typedef bool smq_message_fn(const smq_message_info *message, void *user);

/* Visit messages slot by slot.  In each slot the waiting messages come first, then the claimed, the
 * resting and the dead ones: waiting and claimed messages in the order of consumption, resting ones
 * by the end of their rest, dead ones by the time of their death.  If `filter` is NULL all waiting
 * messages are visited.
 * A visit is not a snapshot: a message that moves during the visit may be missed or seen twice.
 * Slots that are damaged or whose nodes do not reply are left out.  All others are visited, then
 * the call fails with DAMAGED or UNAVAILABLE.
 * Fails: INVALID (also a cursor that no visit of this topic returned), WRONG_TYPE (older_than_ms in
 * a topic whose messages have no time). */
SMQ_API smq_status smq_message_each(smq_client *client, const char *topic, const smq_filter *filter,
                                    smq_message_fn *visit, void *user, smq_error *err);

/* Called from time to time during a bulk edit, on the calling thread.  Returning false stops the
 * edit.  `changed` is exact; `total` is an estimate of how many will have changed at the end, or 0:
 * not known, because the filter has more than states and limits, and how many messages pass it
 * shows only when all were looked at. */
typedef bool smq_progress_fn(uint64_t changed, uint64_t total, void *user);

/* Requeue dead letters: each waits again with its own time, priority or place, with all its retries
 * and without a time to live.  Messages that become dead during the call stay dead.
 * filter.states is ignored.  If `filter` is NULL all dead letters are requeued.  *count, if `count`
 * is not NULL, is the number of messages that were certainly requeued; it is also set on failure.
 * Fails: UNKNOWN (all messages were tried, but replies were lost; `err` says for how many messages
 * the outcome is unknown; repeat the call). */
SMQ_API smq_status smq_dead_requeue(smq_client *client, const char *topic, const smq_filter *filter,
                                    uint64_t *count, smq_progress_fn *progress, void *user,
                                    smq_error *err);

/* Delete messages for ever.  filter.states must be given, without SMQ_STATE_CLAIMED.  *count is set
 * as by smq_dead_requeue().
 * Fails: INVALID (no states, or claimed messages), UNKNOWN (as smq_dead_requeue()). */
SMQ_API smq_status smq_topic_purge(smq_client *client, const char *topic, const smq_filter *filter,
                                   uint64_t *count, smq_progress_fn *progress, void *user,
                                   smq_error *err);

typedef struct smq_slot_info {
    size_t struct_size;
    const char *topic;
    int32_t slot;
    const char *owner; /* name of the member; "" if the slot has no owner or the topic is shared */
    const char *token;
    smq_stats stats;
    smq_status status; /* SMQ_OK, or why the slot could not be read, as DAMAGED */
    const char *why;   /* one line that explains `status`; "" for SMQ_OK */
    /* The oldest claim, as its consumer has noted it with a renewal; without a note the texts are
     * "", and the numbers 0. */
    const char *claimed_by; /* name of the process */
    int64_t claimed_at_ms;  /* when it was claimed, by the clock of Redis */
    smq_bytes key, id;      /* as in smq_message_info; a long message: "" */
    int32_t attempt;
} smq_slot_info;

/* Runs on the calling thread during the visit.  `slot` is valid only during the callback.
 * Returning false ends the visit, and the call returns SMQ_OK. */
typedef bool smq_slot_fn(const smq_slot_info *slot, void *user);

/* Visit the slots of a topic in the order of their numbers. */
SMQ_API smq_status smq_topic_slots(smq_client *client, const char *topic, smq_slot_fn *visit,
                                   void *user, smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_ADMIN_H */
