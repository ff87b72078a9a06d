/* topic_fields.c - the table of a topic's fields.
 *
 * Pure. */
#include "model/topic_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

#define TOPIC_LEASE_MIN_MS INT64_C(100)
#define TOPIC_LEASE_MAX_MS (INT64_C(24) * 60 * 60 * 1000)
#define TOPIC_TIME_MAX_MS  (INT64_C(1) << 43)
#define TOPIC_WAITING_MAX  (INT64_C(1) << 40)
#define TOPIC_RATE_MAX     INT64_C(1000000000)

static const char *const topic_types[] = {[SMQ_RANGE_MERGE] = "range_merge",
                                          [SMQ_PRIORITY] = "priority",
                                          [SMQ_FIXED_TIME] = "fixed_time",
                                          [SMQ_FIFO] = "fifo"};
static const char *const topic_layouts[] = {[SMQ_INLINE] = "inline", [SMQ_KEYED] = "keyed"};
static const char *const topic_ties[] = {
    [SMQ_TIES_ARRIVAL] = "arrival", [SMQ_TIES_BYTES] = "bytes"};
static const char *const topic_takeovers[] = {
    [SMQ_TAKEOVER_FAST] = "fast", [SMQ_TAKEOVER_STRICT] = "strict"};
static const char *const topic_switch[] = {"no", "yes"};

#define COUNT_OF(array) ((int) (sizeof(array) / sizeof((array)[0])))

#define FIELD(member, its_kind)                                                                    \
    .name = #member, .kind = TOPIC_FIELD_##its_kind, .offset = offsetof(struct topic, member)
#define WORDS(array)            .words = (array), .word_count = COUNT_OF(array)
#define RANGE(low, high, none_) .min = (low), .max = (high), .none = (none_)

const struct topic_field topic_fields[TOPIC_FIELDS] = {
    {FIELD(type, WORD), WORDS(topic_types), .fixed = true},
    {FIELD(layout, WORD), WORDS(topic_layouts), .fixed = true},
    {FIELD(slots, COUNT), RANGE(1, TOPIC_SLOTS_MAX, TOPIC_NEVER_NONE), .fixed = true},
    {FIELD(shared, SWITCH), WORDS(topic_switch), .fixed = true},
    {FIELD(ties, WORD), WORDS(topic_ties), .fixed = true},
    {FIELD(max_retries, COUNT), RANGE(1, TOPIC_RETRIES_MAX, 0)},
    {FIELD(backoff, BACKOFF)},
    {FIELD(lease_ms, TIME), RANGE(TOPIC_LEASE_MIN_MS, TOPIC_LEASE_MAX_MS, TOPIC_NEVER_NONE)},
    {FIELD(delay_ms, TIME), RANGE(0, TOPIC_TIME_MAX_MS, SMQ_NONE)},
    {FIELD(takeover, WORD), WORDS(topic_takeovers)},
    {FIELD(debounce_ms, TIME), RANGE(1, TOPIC_TIME_MAX_MS, 0), .later = true},
    {FIELD(ttl_ms, TIME), RANGE(1, TOPIC_TIME_MAX_MS, 0), .later = true},
    {FIELD(expired_to_dead, SWITCH), WORDS(topic_switch), .later = true},
    {FIELD(skip_failed, SWITCH), WORDS(topic_switch), .later = true},
    {FIELD(max_body, NUMBER), RANGE(1, TOPIC_BODY_KEYED_MAX, TOPIC_NEVER_NONE), .later = true},
    {FIELD(max_waiting, NUMBER), RANGE(1, TOPIC_WAITING_MAX, 0), .later = true},
    {FIELD(rate_per_s, NUMBER), RANGE(1, TOPIC_RATE_MAX, 0), .later = true},
};

_Static_assert(sizeof(smq_topic_type) == sizeof(int) && sizeof(smq_layout) == sizeof(int) &&
                   sizeof(smq_ties) == sizeof(int) && sizeof(smq_takeover) == sizeof(int),
               "an enum is read and written as an int");

int64_t topic_field_get(const struct topic_field *field, const struct topic *topic)
{
    const void *member = (const char *) topic + field->offset;

    switch (field->kind) {
    case TOPIC_FIELD_WORD:
        return *(const int *) member;
    case TOPIC_FIELD_SWITCH:
        return *(const bool *) member;
    case TOPIC_FIELD_COUNT:
        return *(const int32_t *) member;
    case TOPIC_FIELD_NUMBER:
    case TOPIC_FIELD_TIME:
        return *(const int64_t *) member;
    case TOPIC_FIELD_BACKOFF:
        break;
    }
    return 0;
}

void topic_field_set(const struct topic_field *field, struct topic *topic, int64_t value)
{
    void *member = (char *) topic + field->offset;

    switch (field->kind) {
    case TOPIC_FIELD_WORD:
        *(int *) member = (int) value;
        break;
    case TOPIC_FIELD_SWITCH:
        *(bool *) member = value != 0;
        break;
    case TOPIC_FIELD_COUNT:
        *(int32_t *) member = (int32_t) value;
        break;
    case TOPIC_FIELD_NUMBER:
    case TOPIC_FIELD_TIME:
        *(int64_t *) member = value;
        break;
    case TOPIC_FIELD_BACKOFF:
        break;
    }
}

void topic_field_format(char out[TOPIC_VALUE_MAX], const struct topic_field *field,
                        const struct topic *topic)
{
    int64_t value = topic_field_get(field, topic);

    if (field->kind == TOPIC_FIELD_BACKOFF) {
        backoff_format(out, &topic->backoff);
    } else if (field->words != NULL) {
        snprintf(out, TOPIC_VALUE_MAX, "%s", field->words[value]);
    } else if (value == field->none && field->kind != TOPIC_FIELD_COUNT) {
        snprintf(out, TOPIC_VALUE_MAX, "none");
    } else {
        snprintf(out, TOPIC_VALUE_MAX, "%" PRId64, value);
    }
}

const char *topic_type_word(smq_topic_type type)
{
    return topic_types[type];
}

/* "a, b or c" */
static void topic_field_words(char *out, size_t size, const struct topic_field *field)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < field->word_count; i++) {
        const char *between = i + 1 == field->word_count ? " or " : ", ";

        if (field->words[i] != NULL) {
            used += (size_t) snprintf(out + used, size - used, "%s%s", used == 0 ? "" : between,
                                      field->words[i]);
        }
    }
}

smq_status topic_field_out_of_range(const struct topic_field *field, int64_t value,
                                    const char *none, smq_error *err)
{
    bool may_be_none = field->none != TOPIC_NEVER_NONE;

    return status_set(err, SMQ_INVALID,
                      "%s must be from %" PRId64 " to %" PRId64 "%s%s, not %" PRId64, field->name,
                      field->min, field->max, may_be_none ? ", or " : "", may_be_none ? none : "",
                      value);
}

smq_status topic_field_check(const struct topic_field *field, int64_t value, const char *none,
                             smq_error *err)
{
    char words[128];

    if (field->kind == TOPIC_FIELD_BACKOFF) {
        return SMQ_OK;
    }
    if (field->words != NULL) {
        if (value >= 0 && value < field->word_count && field->words[value] != NULL) {
            return SMQ_OK;
        }
        topic_field_words(words, sizeof(words), field);
        return status_set(err, SMQ_INVALID, "%s must be %s, not %" PRId64, field->name, words,
                          value);
    }
    if (value == field->none || (value >= field->min && value <= field->max)) {
        return SMQ_OK;
    }
    return topic_field_out_of_range(field, value, none, err);
}

int topic_field_word(const struct topic_field *field, const char *text)
{
    for (int i = 0; i < field->word_count; i++) {
        if (field->words[i] != NULL && strcmp(field->words[i], text) == 0) {
            return i;
        }
    }
    return -1;
}
