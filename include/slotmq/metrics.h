/* metrics.h - what this process has done: counters, gauges, a histogram; also as Prometheus text.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_METRICS_H
#define SLOTMQ_METRICS_H

#include <slotmq/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* === Metrics of this process ============================================ */

#define SMQ_HISTOGRAM_SIZE 20 /* upper bounds 1 ms * 2^i; the last: infinity */

/* Of everything that was made from one client, since smq_client_new().
 * claimed = done + retried + dead + released + lease_lost, as soon as nothing
 * is in flight and all answers are stored. */
typedef struct smq_metrics {
    size_t struct_size;
    uint64_t sent;          /* stored anew                               */
    uint64_t merged;        /* stored by merging with a waiting message; a
                               repeat after a lost reply that cannot tell
                               which of the two it was counts as neither */
    uint64_t send_failures; /* accepted, but not stored for certain      */
    uint64_t claimed;
    uint64_t done;
    uint64_t retried;  /* failed, to be handled again               */
    uint64_t rejected; /* dead by a reject; a part of dead          */
    uint64_t released;
    uint64_t dead;       /* rejected, failed with no retry left, hung again */
    uint64_t expired;    /* found with their time to live over        */
    uint64_t lease_lost; /* ended without an answer stored for certain */
    uint64_t fenced;     /* calls refused: the slot has a newer owner */
    uint64_t redirects;  /* MOVED and ASK that were followed          */
    uint64_t reconnects; /* connections to Redis made once more       */
    uint64_t events_dropped;
    uint64_t slots_gained, slots_lost; /* of exclusive topics        */

    uint64_t send_pending; /* gauge: sends without their receipt        */
    uint64_t in_flight;    /* gauge: claimed and not answered           */
    uint64_t slots_owned;  /* gauge: slots_gained - slots_lost          */

    uint64_t handling_ms_sum; /* from claim to answer                      */
    uint64_t handling_count;
    uint64_t handling_ms[SMQ_HISTOGRAM_SIZE]; /* not cumulative             */
} smq_metrics;
#define SMQ_METRICS_INIT SMQ_INIT(smq_metrics)
#define SMQ_METRICS(...) SMQ_WITH(smq_metrics, __VA_ARGS__)

/* A snapshot; does not reset.  Each number is right, but work goes on while
 * they are read: they need not add up. */
SMQ_API smq_status smq_client_metrics(smq_client *client, smq_metrics *out, smq_error *err);

/* Prometheus text (format 0.0.4): the above, and behind it, if `topics`
 * ("a,b", or "*" for all) is given, what those topics hold and have done in
 * the whole fleet, with the label topic.  docs/METRICS.md lists the names.
 * Give *out back with smq_free().
 * Blocks: with topics, request_timeout_ms per round trip.  Fails: INVALID
 * (a name), NO_TOPIC. */
SMQ_API smq_status smq_metrics_text(smq_client *client, const char *topics, char **out,
                                    smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_METRICS_H */
