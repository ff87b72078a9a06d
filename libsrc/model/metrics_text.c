/* metrics_text.c - metrics as Prometheus text, in the order of the tables that name them.
 *
 * Pure. */
#include "model/metrics_text.h"

#include <inttypes.h>
#include <string.h>

#include "model/metric.h"
#include "model/statistic.h"

#define OWNERS(member, text)                                                                       \
    {                                                                                              \
        .name = #member, .offset = offsetof(smq_survey_topic, member), .kind = SMQ_NUMBER_GAUGE,   \
        .unit = SMQ_UNIT_COUNT, .metric = "slotmq_topic_" #member, .help = (text), .label = ""     \
    }

/* Only exclusive topics have a sample of these. */
static const smq_number_info owner_table[] = {
    OWNERS(owners, "Processes that own slots of an exclusive topic; shared topics have no sample."),
    OWNERS(slots_unowned,
           "Slots of an exclusive topic that no process owns; shared topics have no sample."),
};

/* Numbers of this process that have the label of a topic, and which topics have one. */
static const struct {
    smq_number_info info;
    size_t has; /* offset of the field that says so */
} own_table[] = {
    {{.offset = offsetof(struct metrics_topic, refused),
      .kind = SMQ_NUMBER_COUNTER,
      .unit = SMQ_UNIT_MESSAGES,
      .metric = "slotmq_sends_full_total",
      .help = "Sends that were refused because the topic or the group was full.",
      .label = ""},
     offsetof(struct metrics_topic, sends)},
    {{.offset = offsetof(struct metrics_topic, oldest_age_ms),
      .kind = SMQ_NUMBER_GAUGE,
      .unit = SMQ_UNIT_MS,
      .metric = "slotmq_oldest_delivery_age_seconds",
      .help = "How long this process has had the oldest delivery that it has not answered.",
      .label = ""},
     offsetof(struct metrics_topic, consumes)},
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

static void metrics_text_begin(struct buf *out, const smq_number_info *number)
{
    static const char *const kinds[] = {[SMQ_NUMBER_COUNTER] = "counter",
                                        [SMQ_NUMBER_GAUGE] = "gauge",
                                        [SMQ_NUMBER_HISTOGRAM] = "histogram"};

    metrics_text_add_head(out, number->metric, kinds[number->kind], number->help);
}

static void metrics_text_add_value(struct buf *out, const smq_number_info *number,
                                   const void *numbers)
{
    uint64_t value;

    memcpy(&value, (const char *) numbers + number->offset, sizeof(value));
    if (number->unit == SMQ_UNIT_MS) {
        metrics_text_add_ms(out, value);
    } else if (number->unit == SMQ_UNIT_US) {
        buf_printf(out, "%" PRIu64 ".%06u", value / 1000000, (unsigned) (value % 1000000));
    } else {
        buf_printf(out, "%" PRIu64, value);
    }
    buf_add(out, "\n", 1);
}

/* Is nothing known of it, not even how many slots are left out? */
static bool metrics_text_is_unreadable(const smq_survey_topic *topic)
{
    return topic->status != SMQ_OK && topic->stats.slots_damaged == 0 &&
           topic->stats.slots_silent == 0;
}

static bool metrics_text_is_known(const smq_number_info *number, const smq_survey_topic *topic)
{
    return !metrics_text_is_unreadable(topic) &&
           (number->offset != offsetof(smq_stats, oldest_due_age_ms) ||
            topic->stats.oldest_due_age_ms != SMQ_AGE_UNKNOWN);
}

/* `number` NULL: it has no second label. */
static void metrics_text_add_labels(struct buf *out, const char *topic,
                                    const smq_number_info *number)
{
    buf_printf(out, "{topic=\"");
    for (; *topic != '\0'; topic++) {
        if (*topic == '\n') {
            buf_add(out, "\\n", 2);
            continue;
        }
        if (*topic == '\\' || *topic == '"') {
            buf_add(out, "\\", 1);
        }
        buf_add(out, topic, 1);
    }
    buf_add(out, "\"", 1);
    if (number != NULL && number->label[0] != '\0') {
        buf_printf(out, ",%s=\"%s\"", number->label, number->label_value);
    }
    buf_add(out, "} ", 2);
}

static void metrics_text_add_histogram(struct buf *out, const smq_number_info *number,
                                       const smq_metrics *metrics)
{
    const char *name = number->metric;
    uint64_t count = 0;

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

void metrics_text_process(struct buf *out, const smq_metrics *metrics)
{
    const char *family = "";

    for (size_t i = 0; i < metric_count; i++) {
        const smq_number_info *number = &metric_table[i];

        if (number->metric[0] == '\0') {
            continue;
        }
        if (strcmp(number->metric, family) != 0) {
            metrics_text_begin(out, number);
            family = number->metric;
        }
        if (number->kind == SMQ_NUMBER_HISTOGRAM) {
            metrics_text_add_histogram(out, number, metrics);
            continue;
        }
        buf_add(out, number->metric, strlen(number->metric));
        if (number->label[0] != '\0') {
            buf_printf(out, "{%s=\"%s\"}", number->label, number->label_value);
        }
        buf_add(out, " ", 1);
        metrics_text_add_value(out, number, metrics);
    }
}

void metrics_text_by_topic(struct buf *out, const struct metrics_topic *topics, size_t count)
{
    for (size_t row = 0; row < sizeof(own_table) / sizeof(own_table[0]); row++) {
        const smq_number_info *number = &own_table[row].info;
        bool begun = false;

        for (size_t i = 0; i < count; i++) {
            if (!*(const bool *) ((const char *) &topics[i] + own_table[row].has)) {
                continue;
            }
            if (!begun) {
                metrics_text_begin(out, number);
            }
            begun = true;
            buf_add(out, number->metric, strlen(number->metric));
            metrics_text_add_labels(out, topics[i].name, NULL);
            metrics_text_add_value(out, number, &topics[i]);
        }
    }
}

static void metrics_text_add_unreadable(struct buf *out, const smq_survey_topic *topics,
                                        size_t count)
{
    static const char name[] = "slotmq_topic_unreadable";

    metrics_text_add_head(out, name, "gauge",
                          "1 if the topic cannot be read; nothing else is known of it.");
    for (size_t i = 0; i < count; i++) {
        buf_add(out, name, strlen(name));
        metrics_text_add_labels(out, topics[i].topic, NULL);
        buf_printf(out, "%d\n", metrics_text_is_unreadable(&topics[i]) ? 1 : 0);
    }
}

static void metrics_text_add_owned(struct buf *out, const smq_number_info *number,
                                   const smq_survey_topic *topics, size_t count)
{
    bool begun = false;

    for (size_t i = 0; i < count; i++) {
        if (metrics_text_is_unreadable(&topics[i]) || !topics[i].has_owners) {
            continue;
        }
        if (!begun) {
            metrics_text_begin(out, number);
            begun = true;
        }
        buf_add(out, number->metric, strlen(number->metric));
        metrics_text_add_labels(out, topics[i].topic, number);
        metrics_text_add_value(out, number, &topics[i]);
    }
}

static void metrics_text_add_unlisted(struct buf *out, const smq_survey_topic *topics, size_t count)
{
    static const char name[] = "slotmq_topic_unlisted";
    bool begun = false;

    for (size_t i = 0; i < count; i++) {
        if (!topics[i].list_read) {
            continue;
        }
        if (!begun) {
            metrics_text_add_head(out, name, "gauge",
                                  "1 if Redis has lost the topic from the list of all topics.");
            begun = true;
        }
        buf_add(out, name, strlen(name));
        metrics_text_add_labels(out, topics[i].topic, NULL);
        buf_printf(out, "%d\n", topics[i].unlisted ? 1 : 0);
    }
}

/* The samples of one number, below the head of its family. */
static void metrics_text_add_number(struct buf *out, const smq_number_info *number,
                                    const smq_survey_topic *topics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (metrics_text_is_known(number, &topics[i])) {
            buf_add(out, number->metric, strlen(number->metric));
            metrics_text_add_labels(out, topics[i].topic, number);
            metrics_text_add_value(out, number, &topics[i].stats);
        }
    }
}

void metrics_text_topics(struct buf *out, const smq_survey_topic *topics, size_t count)
{
    const char *family = "";

    for (size_t i = 0; count > 0 && i < statistic_count; i++) {
        const smq_number_info *number = &statistic_table[i].info;

        if (number->metric[0] == '\0') {
            continue;
        }
        if (strcmp(number->metric, family) != 0) {
            metrics_text_begin(out, number);
            family = number->metric;
        }
        metrics_text_add_number(out, number, topics, count);
    }
    for (size_t i = 0; i < sizeof(owner_table) / sizeof(owner_table[0]); i++) {
        metrics_text_add_owned(out, &owner_table[i], topics, count);
    }
    if (count > 0) {
        metrics_text_add_unreadable(out, topics, count);
        metrics_text_add_unlisted(out, topics, count);
    }
}
