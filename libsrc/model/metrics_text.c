/* metrics_text.c - metrics as Prometheus text.  Names, types and help texts are in tables, in the
 * order of the text.
 *
 * Pure. */
#include "model/metrics_text.h"

#include <inttypes.h>
#include <string.h>

enum metric_unit { UNIT_COUNT, UNIT_MS };

/* One number of smq_metrics, smq_stats or metrics_owners. */
struct family {
    const char *name, *type, *help;
    size_t offset;
    enum metric_unit unit; /* MS: written in seconds */
    const char *cause;     /* a second label; NULL: none.  Rows of one name follow each other. */
};

#define PROCESS(member) offsetof(smq_metrics, member), UNIT_COUNT, NULL
#define TOPIC(member)   offsetof(smq_stats, member), UNIT_COUNT, NULL
#define OWNERS(member)  offsetof(struct metrics_owners, member), UNIT_COUNT, NULL
#define DEAD(name)                                                                                 \
    "slotmq_topic_dead_letters_total", "counter", "Messages that became dead letters, by cause.",  \
        offsetof(smq_stats, dead_##name), UNIT_COUNT, #name

static const struct family process_families[] = {
    {"slotmq_messages_sent_total", "counter", "Messages stored anew.", PROCESS(sent)},
    {"slotmq_messages_merged_total", "counter", "Sends that were merged with a waiting message.",
     PROCESS(merged)},
    {"slotmq_send_failures_total", "counter",
     "Sends that were accepted and failed, or may have failed.", PROCESS(send_failures)},
    {"slotmq_send_duplicates_total", "counter", "Sends that were refused as duplicates.",
     PROCESS(send_duplicates)},
    {"slotmq_messages_claimed_total", "counter", "Messages claimed for handlers.",
     PROCESS(claimed)},
    {"slotmq_messages_done_total", "counter", "Claims answered with done.", PROCESS(done)},
    {"slotmq_messages_retried_total", "counter", "Claims that failed and will be handled again.",
     PROCESS(retried)},
    {"slotmq_messages_rejected_total", "counter", "Claims answered with reject.",
     PROCESS(rejected)},
    {"slotmq_messages_released_total", "counter", "Claims released without using a retry.",
     PROCESS(released)},
    {"slotmq_messages_dead_total", "counter",
     "Claims that became dead letters: rejected, failed without a retry left, or hung again.",
     PROCESS(dead)},
    {"slotmq_messages_expired_total", "counter", "Messages whose time to live had ended.",
     PROCESS(expired)},
    {"slotmq_messages_lease_lost_total", "counter",
     "Claims whose answer was not stored, or may not have been: their messages may come again.",
     PROCESS(lease_lost)},
    {"slotmq_calls_fenced_total", "counter",
     "Calls that were refused because a slot has a newer owner.", PROCESS(fenced)},
    {"slotmq_redis_redirects_total", "counter", "Redirects (MOVED, ASK) that were followed.",
     PROCESS(redirects)},
    {"slotmq_redis_reconnects_total", "counter",
     "Connections to Redis that were made again after a loss.", PROCESS(reconnects)},
    {"slotmq_events_dropped_total", "counter",
     "Events that were dropped because too many waited for the application.",
     PROCESS(events_dropped)},
    {"slotmq_slots_gained_total", "counter", "Slots of exclusive topics that this process took.",
     PROCESS(slots_gained)},
    {"slotmq_slots_lost_total", "counter",
     "Slots of exclusive topics that this process gave up or lost.", PROCESS(slots_lost)},
    {"slotmq_slots_not_released_total", "counter",
     "Slots granted to others because their owner did not release them in time; the assigner of a "
     "fleet counts them.",
     PROCESS(slots_not_released)},
    {"slotmq_slots_unreplicated_total", "counter",
     "Slots gained and begun with fewer replicas than takeover_replicas.",
     PROCESS(slots_unreplicated)},
    {"slotmq_sends_pending", "gauge", "Sends that wait for their receipt.", PROCESS(send_pending)},
    {"slotmq_messages_in_flight", "gauge", "Messages claimed and not answered yet.",
     PROCESS(in_flight)},
    {"slotmq_slots_owned", "gauge", "Slots of exclusive topics that this process owns.",
     PROCESS(slots_owned)},
    {"slotmq_redis_unreachable", "gauge",
     "1 while no Redis node has answered a consumer of exclusive topics for 10 s, else 0.",
     PROCESS(redis_unreachable)},
};

static const struct family topic_families[] = {
    {"slotmq_topic_messages_waiting", "gauge", "Messages waiting, due or not.", TOPIC(waiting)},
    {"slotmq_topic_messages_due", "gauge", "Messages waiting and due.", TOPIC(due)},
    {"slotmq_topic_messages_claimed", "gauge", "Messages claimed.", TOPIC(claimed)},
    {"slotmq_topic_messages_resting", "gauge", "Messages resting after a failure.", TOPIC(resting)},
    {"slotmq_topic_messages_dead", "gauge", "Dead letters.", TOPIC(dead)},
    {"slotmq_topic_oldest_due_age_seconds", "gauge",
     "Lag: how long the oldest due message has been due; fifo, priority: since the first send of "
     "the message that is claimed next; priority, inline: unknown.",
     offsetof(smq_stats, oldest_due_age_ms), UNIT_MS, NULL},
    {"slotmq_topic_messages_sent_total", "counter", "Messages stored anew.", TOPIC(sent)},
    {"slotmq_topic_messages_merged_total", "counter",
     "Messages that were merged with a waiting or dead one.", TOPIC(merged)},
    {"slotmq_topic_duplicates_total", "counter", "Sends that were refused as duplicates.",
     TOPIC(duplicates)},
    {"slotmq_topic_messages_done_total", "counter", "Claims answered with done.", TOPIC(done)},
    {"slotmq_topic_messages_retried_total", "counter",
     "Claims that failed and will be handled again.", TOPIC(retried)},
    {"slotmq_topic_messages_rejected_total", "counter",
     "Claims that became dead letters by their answer.", TOPIC(rejected)},
    {"slotmq_topic_messages_expired_total", "counter", "Messages whose time to live had ended.",
     TOPIC(expired)},
    {"slotmq_topic_messages_released_total", "counter", "Claims released without using a retry.",
     TOPIC(released)},
    {"slotmq_topic_messages_lease_lost_total", "counter", "Claims whose process died or hung.",
     TOPIC(lease_lost)},
    {DEAD(rejected)},
    {DEAD(failed)},
    {DEAD(crashed)},
    {DEAD(timed_out)},
    {DEAD(expired)},
    {DEAD(bodiless)},
    {"slotmq_topic_slots_paused", "gauge", "Slots that are paused: all of a paused topic.",
     TOPIC(slots_paused)},
    {"slotmq_topic_slots_damaged", "gauge",
     "Slots of which Redis lost a part; their messages are not counted.", TOPIC(slots_damaged)},
    {"slotmq_topic_slots_silent", "gauge",
     "Slots that did not answer; their messages are not counted.", TOPIC(slots_silent)},
};

/* Only exclusive topics have a sample of these. */
static const struct family owner_families[] = {
    {"slotmq_topic_owners", "gauge",
     "Processes that own slots of an exclusive topic; shared topics have no sample.",
     OWNERS(owners)},
    {"slotmq_topic_slots_unowned", "gauge",
     "Slots of an exclusive topic that no process owns; shared topics have no sample.",
     OWNERS(unowned)},
};

static void metrics_text_add_head(struct buf *out, const char *name, const char *type,
                                  const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Append a time in seconds, always with a point, because the locale may use a comma. */
static void metrics_text_add_ms(struct buf *out, uint64_t ms)
{
    buf_printf(out, "%" PRIu64 ".%03u", ms / 1000, (unsigned) (ms % 1000));
}

static void metrics_text_add_value(struct buf *out, const struct family *family,
                                   const void *numbers)
{
    uint64_t value;

    memcpy(&value, (const char *) numbers + family->offset, sizeof(value));
    if (family->unit == UNIT_MS) {
        metrics_text_add_ms(out, value);
    } else {
        buf_printf(out, "%" PRIu64, value);
    }
    buf_add(out, "\n", 1);
}

static bool metrics_text_is_known(const struct family *family, const struct metrics_topic *topic)
{
    return !topic->unreadable && (family->offset != offsetof(smq_stats, oldest_due_age_ms) ||
                                  topic->stats.oldest_due_age_ms != SMQ_AGE_UNKNOWN);
}

static void metrics_text_add_labels(struct buf *out, const char *value, const char *cause)
{
    buf_printf(out, "{topic=\"");
    for (; *value != '\0'; value++) {
        if (*value == '\n') {
            buf_add(out, "\\n", 2);
            continue;
        }
        if (*value == '\\' || *value == '"') {
            buf_add(out, "\\", 1);
        }
        buf_add(out, value, 1);
    }
    buf_add(out, "\"", 1);
    if (cause != NULL) {
        buf_printf(out, ",cause=\"%s\"", cause);
    }
    buf_add(out, "} ", 2);
}

static void metrics_text_add_histogram(struct buf *out, const smq_metrics *metrics)
{
    static const char name[] = "slotmq_handling_seconds";
    uint64_t count = 0;

    metrics_text_add_head(out, name, "histogram",
                          "Time from the claim of a message to its answer.");
    for (size_t i = 0; i < SMQ_HISTOGRAM_SIZE; i++) {
        count += metrics->handling_ms[i];
        buf_printf(out, "%s_bucket{le=\"", name);
        if (i < SMQ_HISTOGRAM_SIZE - 1) {
            metrics_text_add_ms(out, UINT64_C(1) << i);
        } else {
            buf_printf(out, "+Inf");
        }
        buf_printf(out, "\"} %" PRIu64 "\n", count);
    }
    buf_printf(out, "%s_sum ", name);
    metrics_text_add_ms(out, metrics->handling_ms_sum);
    buf_printf(out, "\n%s_count %" PRIu64 "\n", name, count);
}

static void metrics_text_add_waits(struct buf *out, const smq_metrics *metrics)
{
    static const char name[] = "slotmq_wait_seconds_total";
    const struct {
        const char *what;
        uint64_t us;
    } rows[] = {
        {"send", metrics->wait_send_us},       {"request", metrics->wait_request_us},
        {"slot", metrics->wait_slot_us},       {"pace", metrics->wait_pace_us},
        {"room", metrics->wait_room_us},       {"claim", metrics->wait_claim_us},
        {"handler", metrics->wait_handler_us},
    };

    metrics_text_add_head(out, name, "counter",
                          "For what messages have waited in this process, all together.");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        buf_printf(out, "%s{for=\"%s\"} %" PRIu64 ".%06u\n", name, rows[i].what,
                   rows[i].us / 1000000, (unsigned) (rows[i].us % 1000000));
    }
}

void metrics_text_process(struct buf *out, const smq_metrics *metrics)
{
    for (size_t i = 0; i < sizeof(process_families) / sizeof(process_families[0]); i++) {
        const struct family *family = &process_families[i];

        metrics_text_add_head(out, family->name, family->type, family->help);
        buf_printf(out, "%s ", family->name);
        metrics_text_add_value(out, family, metrics);
    }
    metrics_text_add_histogram(out, metrics);
    metrics_text_add_waits(out, metrics);
}

void metrics_text_full(struct buf *out, const struct metrics_full *topics, size_t count)
{
    static const char name[] = "slotmq_sends_full_total";

    if (count > 0) {
        metrics_text_add_head(out, name, "counter",
                              "Sends that were refused because the topic or the group was full.");
    }
    for (size_t i = 0; i < count; i++) {
        buf_add(out, name, strlen(name));
        metrics_text_add_labels(out, topics[i].name, NULL);
        buf_printf(out, "%" PRIu64 "\n", topics[i].sends);
    }
}

static void metrics_text_add_unreadable(struct buf *out, const struct metrics_topic *topics,
                                        size_t count)
{
    static const char name[] = "slotmq_topic_unreadable";

    metrics_text_add_head(out, name, "gauge",
                          "1 if the topic cannot be read; nothing else is known of it.");
    for (size_t i = 0; i < count; i++) {
        buf_add(out, name, strlen(name));
        metrics_text_add_labels(out, topics[i].name, NULL);
        buf_printf(out, "%d\n", topics[i].unreadable ? 1 : 0);
    }
}

static void metrics_text_add_owned(struct buf *out, const struct family *family,
                                   const struct metrics_topic *topics, size_t count)
{
    bool begun = false;

    for (size_t i = 0; i < count; i++) {
        if (topics[i].unreadable || !topics[i].owners.known) {
            continue;
        }
        if (!begun) {
            metrics_text_add_head(out, family->name, family->type, family->help);
            begun = true;
        }
        buf_add(out, family->name, strlen(family->name));
        metrics_text_add_labels(out, topics[i].name, NULL);
        metrics_text_add_value(out, family, &topics[i].owners);
    }
}

static void metrics_text_add_unlisted(struct buf *out, const struct metrics_topic *topics,
                                      size_t count)
{
    static const char name[] = "slotmq_topic_unlisted";
    bool begun = false;

    for (size_t i = 0; i < count; i++) {
        if (topics[i].list == METRICS_LIST_UNKNOWN) {
            continue;
        }
        if (!begun) {
            metrics_text_add_head(out, name, "gauge",
                                  "1 if Redis has lost the topic from the list of all topics.");
            begun = true;
        }
        buf_add(out, name, strlen(name));
        metrics_text_add_labels(out, topics[i].name, NULL);
        buf_printf(out, "%d\n", topics[i].list == METRICS_LIST_LACKS ? 1 : 0);
    }
}

void metrics_text_topics(struct buf *out, const struct metrics_topic *topics, size_t count)
{
    for (size_t i = 0; count > 0 && i < sizeof(topic_families) / sizeof(topic_families[0]); i++) {
        const struct family *family = &topic_families[i];

        if (i == 0 || strcmp(family->name, family[-1].name) != 0) {
            metrics_text_add_head(out, family->name, family->type, family->help);
        }
        for (size_t j = 0; j < count; j++) {
            if (!metrics_text_is_known(family, &topics[j])) {
                continue;
            }
            buf_add(out, family->name, strlen(family->name));
            metrics_text_add_labels(out, topics[j].name, family->cause);
            metrics_text_add_value(out, family, &topics[j].stats);
        }
    }
    for (size_t i = 0; i < sizeof(owner_families) / sizeof(owner_families[0]); i++) {
        metrics_text_add_owned(out, &owner_families[i], topics, count);
    }
    if (count > 0) {
        metrics_text_add_unreadable(out, topics, count);
        metrics_text_add_unlisted(out, topics, count);
    }
}
