/* metric.h - every metric of a process: what counts it, and what it is called.  The counters of
 * core/metrics.h, Prometheus text and documents use the same rows.
 *
 * Pure. */
#ifndef MODEL_METRIC_H
#define MODEL_METRIC_H

#include <slotmq/metrics.h>
#include <slotmq/ops.h>

/* X(field of smq_metrics, who counts it, kind, unit, name as text, help text, label, its value), in
 * the order of the text.  Who counts it: IO, the thread smq:io alone; SHARED, any thread; WAIT, as
 * IO, in the array of waits; OTHER, the reader says. */
#define METRIC_ROWS(X)                                                                             \
    X(sent, IO, COUNTER, MESSAGES, "slotmq_messages_sent_total", "Messages stored anew.", "", "")  \
    X(merged, IO, COUNTER, MESSAGES, "slotmq_messages_merged_total",                               \
      "Sends that were merged with a waiting message.", "", "")                                    \
    X(send_failures, IO, COUNTER, MESSAGES, "slotmq_send_failures_total",                          \
      "Sends that were accepted and failed, or may have failed.", "", "")                          \
    X(send_duplicates, IO, COUNTER, MESSAGES, "slotmq_send_duplicates_total",                      \
      "Sends that were refused as duplicates.", "", "")                                            \
    X(claimed, IO, COUNTER, MESSAGES, "slotmq_messages_claimed_total",                             \
      "Messages claimed for handlers.", "", "")                                                    \
    X(done, IO, COUNTER, MESSAGES, "slotmq_messages_done_total", "Claims answered with done.", "", \
      "")                                                                                          \
    X(retried, IO, COUNTER, MESSAGES, "slotmq_messages_retried_total",                             \
      "Claims that failed and will be handled again.", "", "")                                     \
    X(rejected, IO, COUNTER, MESSAGES, "slotmq_messages_rejected_total",                           \
      "Claims answered with reject.", "", "")                                                      \
    X(released, IO, COUNTER, MESSAGES, "slotmq_messages_released_total",                           \
      "Claims released without using a retry.", "", "")                                            \
    X(dead, IO, COUNTER, MESSAGES, "slotmq_messages_dead_total",                                   \
      "Claims that became dead letters: rejected, failed without a retry left, or hung again.",    \
      "", "")                                                                                      \
    X(expired, IO, COUNTER, MESSAGES, "slotmq_messages_expired_total",                             \
      "Messages whose time to live had ended.", "", "")                                            \
    X(lease_lost, IO, COUNTER, MESSAGES, "slotmq_messages_lease_lost_total",                       \
      "Claims whose answer was not stored, or may not have been: their messages may come again.",  \
      "", "")                                                                                      \
    X(fenced, IO, COUNTER, COUNT, "slotmq_calls_fenced_total",                                     \
      "Calls that were refused because a slot has a newer owner.", "", "")                         \
    X(redirects, OTHER, COUNTER, COUNT, "slotmq_redis_redirects_total",                            \
      "Redirects (MOVED, ASK) that were followed.", "", "")                                        \
    X(reconnects, OTHER, COUNTER, COUNT, "slotmq_redis_reconnects_total",                          \
      "Connections to Redis that were made again after a loss.", "", "")                           \
    X(events_dropped, OTHER, COUNTER, COUNT, "slotmq_events_dropped_total",                        \
      "Events that were dropped because too many waited for the application.", "", "")             \
    X(slots_gained, IO, COUNTER, SLOTS, "slotmq_slots_gained_total",                               \
      "Slots of exclusive topics that this process took.", "", "")                                 \
    X(slots_lost, IO, COUNTER, SLOTS, "slotmq_slots_lost_total",                                   \
      "Slots of exclusive topics that this process gave up or lost.", "", "")                      \
    X(slots_not_released, SHARED, COUNTER, SLOTS, "slotmq_slots_not_released_total",               \
      "Slots granted to others because their owner did not release them in time; the assigner of " \
      "a fleet counts them.",                                                                      \
      "", "")                                                                                      \
    X(slots_unreplicated, IO, COUNTER, SLOTS, "slotmq_slots_unreplicated_total",                   \
      "Slots gained and begun with fewer replicas than takeover_replicas.", "", "")                \
    X(send_pending, SHARED, GAUGE, MESSAGES, "slotmq_sends_pending",                               \
      "Sends that wait for their receipt.", "", "")                                                \
    X(in_flight, IO, GAUGE, MESSAGES, "slotmq_messages_in_flight",                                 \
      "Messages claimed and not answered yet.", "", "")                                            \
    X(slots_owned, OTHER, GAUGE, SLOTS, "slotmq_slots_owned",                                      \
      "Slots of exclusive topics that this process owns.", "", "")                                 \
    X(redis_unreachable, OTHER, GAUGE, COUNT, "slotmq_redis_unreachable",                          \
      "1 while no Redis node has answered a consumer of exclusive topics for 10 s, else 0.", "",   \
      "")                                                                                          \
    X(handling_ms_sum, OTHER, COUNTER, MS, "", "", "", "")                                         \
    X(handling_count, OTHER, COUNTER, MESSAGES, "", "", "", "")                                    \
    X(handling_ms, OTHER, HISTOGRAM, MS, "slotmq_handling_seconds",                                \
      "Time from the claim of a message to its answer.", "", "")                                   \
    METRIC_WAIT(X, send)                                                                           \
    METRIC_WAIT(X, request)                                                                        \
    METRIC_WAIT(X, slot)                                                                           \
    METRIC_WAIT(X, pace)                                                                           \
    METRIC_WAIT(X, room)                                                                           \
    METRIC_WAIT(X, claim)                                                                          \
    METRIC_WAIT(X, handler)                                                                        \
    X(ticks, IO, COUNTER, MESSAGES, "slotmq_schedule_ticks_total",                                 \
      "Messages of schedules that this process has stored.", "", "")                               \
    X(ticks_late_ms, IO, COUNTER, MS, "slotmq_schedule_ticks_late_seconds_total",                  \
      "How late these messages were, all together.", "", "")
#define METRIC_WAIT(X, what)                                                                       \
    X(wait_##what##_us, WAIT, COUNTER, US, "slotmq_wait_seconds_total",                            \
      "For what messages have waited in this process, all together.", "for", #what)

extern const smq_number_info metric_table[];
extern const size_t metric_count;

#endif
