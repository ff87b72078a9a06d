/* statistic.c - see statistic.h.
 *
 * Pure. */
#include "model/statistic.h"

#include <string.h>

#define NUMBER(member, what, of)                                                                   \
    .struct_size = sizeof(smq_number_info), .name = #member,                                       \
    .offset = offsetof(smq_stats, member), .kind = SMQ_NUMBER_##what, .unit = SMQ_UNIT_##of
#define ROW(member, what, of, family, text)                                                        \
    {                                                                                              \
        .info = {                                                                                  \
            NUMBER(member, what, of),                                                              \
            .metric = (family),                                                                    \
            .help = (text),                                                                        \
            .label = "",                                                                           \
            .label_value = ""                                                                      \
        }                                                                                          \
    }
#define AGE(member, family, text)                                                                  \
    {                                                                                              \
        .info = {NUMBER(member, GAUGE, MS), .metric = (family), .help = (text), .label = "",       \
                 .label_value = ""},                                                               \
        .sum = STATISTIC_LONGEST                                                                   \
    }
#define DEAD(why)                                                                                  \
    {                                                                                              \
        .info = {                                                                                  \
            NUMBER(dead_##why, COUNTER, MESSAGES),                                                 \
            .metric = "slotmq_topic_dead_letters_total",                                           \
            .help = "Messages that became dead letters, by cause.",                                \
            .label = "cause",                                                                      \
            .label_value = #why                                                                    \
        }                                                                                          \
    }

const struct statistic statistic_table[] = {
    ROW(waiting, GAUGE, MESSAGES, "slotmq_topic_messages_waiting", "Messages waiting, due or not."),
    ROW(due, GAUGE, MESSAGES, "slotmq_topic_messages_due",
        "Messages that could be handled now: they wait and are due, or are stalled."),
    ROW(claimed, GAUGE, MESSAGES, "slotmq_topic_messages_claimed", "Messages claimed."),
    ROW(stalled, GAUGE, MESSAGES, "slotmq_topic_messages_stalled",
        "Messages claimed whose lease has ended: their process died or hangs."),
    ROW(resting, GAUGE, MESSAGES, "slotmq_topic_messages_resting",
        "Messages resting after a failure."),
    ROW(dead, GAUGE, MESSAGES, "slotmq_topic_messages_dead", "Dead letters."),
    AGE(oldest_due_age_ms, "slotmq_topic_oldest_due_age_seconds",
        "Lag: how long the oldest due message has been due; fifo, priority: since the "
        "first send of the message that is claimed next; priority, inline: unknown."),
    AGE(oldest_claim_age_ms, "slotmq_topic_oldest_claim_age_seconds",
        "How long the oldest claim has been in work, at least."),
    AGE(stalled_age_ms, "slotmq_topic_stalled_age_seconds",
        "How long ago the lease of the message ended that has been stalled for longest."),
    AGE(tick_late_ms, "slotmq_topic_tick_late_seconds",
        "How long the tick of a schedule has been due that nobody makes."),
    {.info = {NUMBER(next_due_at_ms, GAUGE, TIME_MS), .metric = "", .help = "", .label = "",
              .label_value = ""},
     .sum = STATISTIC_EARLIEST},
    ROW(sent, COUNTER, MESSAGES, "slotmq_topic_messages_sent_total", "Messages stored anew."),
    ROW(merged, COUNTER, MESSAGES, "slotmq_topic_messages_merged_total",
        "Messages that were merged with a waiting or dead one."),
    ROW(done, COUNTER, MESSAGES, "slotmq_topic_messages_done_total", "Claims answered with done."),
    ROW(retried, COUNTER, MESSAGES, "slotmq_topic_messages_retried_total",
        "Claims that failed and will be handled again."),
    ROW(rejected, COUNTER, MESSAGES, "slotmq_topic_messages_rejected_total",
        "Claims that became dead letters by their answer."),
    ROW(expired, COUNTER, MESSAGES, "slotmq_topic_messages_expired_total",
        "Messages whose time to live had ended."),
    ROW(released, COUNTER, MESSAGES, "slotmq_topic_messages_released_total",
        "Claims released without using a retry."),
    ROW(lease_lost, COUNTER, MESSAGES, "slotmq_topic_messages_lease_lost_total",
        "Claims whose process died or hung."),
    DEAD(rejected),
    DEAD(failed),
    DEAD(crashed),
    DEAD(timed_out),
    DEAD(expired),
    DEAD(bodiless),
    ROW(duplicates, COUNTER, MESSAGES, "slotmq_topic_duplicates_total",
        "Sends that were refused as duplicates."),
    ROW(slots_paused, GAUGE, SLOTS, "slotmq_topic_slots_paused",
        "Slots that are paused: all of a paused topic."),
    ROW(slots_damaged, GAUGE, SLOTS, "slotmq_topic_slots_damaged",
        "Slots of which Redis lost a part; their messages are not counted."),
    ROW(slots_silent, GAUGE, SLOTS, "slotmq_topic_slots_silent",
        "Slots that did not answer; their messages are not counted."),
};
const size_t statistic_count = sizeof(statistic_table) / sizeof(statistic_table[0]);

int64_t statistic_get(const struct statistic *statistic, const smq_stats *stats)
{
    int64_t value;

    memcpy(&value, (const char *) stats + statistic->info.offset, sizeof(value));
    return value;
}

void statistic_set(const struct statistic *statistic, smq_stats *stats, int64_t value)
{
    memcpy((char *) stats + statistic->info.offset, &value, sizeof(value));
}

int64_t statistic_longest(int64_t a, int64_t b)
{
    if (a == SMQ_AGE_UNKNOWN || b == SMQ_AGE_UNKNOWN) {
        return SMQ_AGE_UNKNOWN;
    }
    return a > b ? a : b;
}

static int64_t statistic_both(enum statistic_sum how, int64_t a, int64_t b)
{
    switch (how) {
    case STATISTIC_LONGEST:
        return statistic_longest(a, b);
    case STATISTIC_EARLIEST:
        return a == 0 || (b != 0 && b < a) ? b : a;
    case STATISTIC_ADD:
        break;
    }
    return (int64_t) ((uint64_t) a + (uint64_t) b);
}

void statistic_add_slot(smq_stats *topic, const smq_stats *slot)
{
    for (size_t i = 0; i < statistic_count; i++) {
        const struct statistic *statistic = &statistic_table[i];

        statistic_set(statistic, topic,
                      statistic_both(statistic->sum, statistic_get(statistic, topic),
                                     statistic_get(statistic, slot)));
    }
}
