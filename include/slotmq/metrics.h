/* metrics.h - metrics of this process: counters, gauges, a histogram; also as Prometheus text.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_METRICS_H
#define SLOTMQ_METRICS_H

#include <slotmq/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* === Metrics of this process ============================================ */

#define SMQ_HISTOGRAM_SIZE 20 /* bucket i ends at 1 ms * 2^i, the last one at infinity */

/* Counts the work of all handles that were made from one client, since smq_client_new().
 * claimed = done + retried + dead + released + lease_lost, once nothing is in flight and all
 * answers are stored. */
typedef struct smq_metrics {
    size_t struct_size;
    uint64_t sent;            /* sends that added a message */
    uint64_t merged;          /* sends that merged with a waiting message */
    uint64_t send_failures;   /* other sends that were accepted, and are not certainly stored */
    uint64_t send_duplicates; /* sends that the window of ids of their topic has refused */
    uint64_t claimed;
    uint64_t done;
    uint64_t retried;  /* failed attempts after which the message is delivered again */
    uint64_t rejected; /* messages that are dead because of a reject; a part of `dead` */
    uint64_t released;
    uint64_t dead;       /* rejected, failed without a retry left, or handler hung once more */
    uint64_t expired;    /* messages whose time to live ended before they were claimed */
    uint64_t lease_lost; /* claims that ended without an answer that is certainly stored */
    uint64_t fenced;     /* calls that Redis refused because the slot has a newer owner */
    uint64_t redirects;  /* MOVED and ASK replies that were followed */
    uint64_t reconnects; /* connections to Redis that were made again */
    uint64_t events_dropped;
    uint64_t slots_gained, slots_lost; /* of exclusive topics */
    /* Slots that were granted to others because their owner did not release them in time.  Only the
     * process that is the assigner of its fleet counts them, also those of other processes. */
    uint64_t slots_not_released;
    uint64_t slots_unreplicated; /* gained, and begun with fewer replicas than takeover_replicas */

    /* Gauges. */
    uint64_t send_pending; /* sends that have no receipt yet */
    uint64_t in_flight;    /* messages that are claimed and not answered */
    uint64_t slots_owned;  /* slots_gained - slots_lost */
    /* 1 while no Redis node has answered for 10 s, in a process that consumes exclusive topics */
    uint64_t redis_unreachable;

    /* Histogram of the time from claim to answer; its buckets are not cumulative. */
    uint64_t handling_ms_sum;
    uint64_t handling_count;
    uint64_t handling_ms[SMQ_HISTOGRAM_SIZE];

    /* For what messages have waited in this process, one after the other: sums of microseconds, of
     * all sends and of all claims.  A message that is pushed to the owner of its slot waits for no
     * call.  A slot that is not idle is not told of messages; how long these wait for its next call
     * is an estimate, as if they came evenly. */
    uint64_t wait_send_us;    /* sends, until the request with them leaves */
    uint64_t wait_request_us; /* sends, from then until its reply */
    uint64_t wait_slot_us;    /* claims, while their slot has another call or messages in flight */
    uint64_t wait_pace_us;    /* claims, while the call waits to leave together with other calls */
    uint64_t wait_room_us;    /* claims, while max_in_flight or a rate limit allows no call */
    uint64_t wait_claim_us;   /* claims, from when the call leaves until its reply */
    uint64_t wait_handler_us; /* claims, from then or from their push until a handler begins */
    /* Messages of schedules that this process has stored, and how late they were, all together. */
    uint64_t ticks;
    uint64_t ticks_late_ms;
} smq_metrics;
#define SMQ_METRICS_INIT SMQ_INIT(smq_metrics)
#define SMQ_METRICS(...) SMQ_WITH(smq_metrics, __VA_ARGS__)

/* Read the metrics; this resets none.  Each number is exact, but threads count while they are read,
 * so the numbers need not add up. */
SMQ_API smq_status smq_client_metrics(smq_client *client, smq_metrics *out, smq_error *err);

/* The metrics of the client as Prometheus text (format 0.0.4), and how many sends a full topic or
 * group has refused, with the label topic.  If `topics` is not NULL ("a,b", or
 * "*" for all) the stats of those topics follow, with the label topic; these are of the whole
 * fleet.  docs/METRICS.md lists the names.  Free *out with smq_free().
 * Blocks: with topics, request_timeout_ms per round trip; else it does not block.
 * Fails: INVALID (a name is not valid), NO_TOPIC. */
SMQ_API smq_status smq_metrics_text(smq_client *client, const char *topics, char **out,
                                    smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_METRICS_H */
