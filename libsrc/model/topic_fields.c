/* topic_fields.c - the options of a topic as fields of its definition, and their stored text.
 *
 * Pure. */
#include "model/topic_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/number.h"

#define FIELD(member)                                                                              \
    .name = #member, .offset = offsetof(struct topic, member),                                     \
    .size = sizeof(((struct topic *) NULL)->member)

const struct topic_field topic_fields[TOPIC_FIELDS] = {
    {FIELD(type), .fixed = true},
    {FIELD(layout), .fixed = true},
    {FIELD(slots), .fixed = true},
    {FIELD(shared), .fixed = true},
    {FIELD(ties), .fixed = true},
    {FIELD(max_retries)},
    {FIELD(backoff)},
    {FIELD(lease_ms)},
    {FIELD(delay_ms)},
    {FIELD(takeover)},
    {FIELD(debounce_ms), .later = true},
    {FIELD(ttl_ms), .later = true},
    {FIELD(expired_to_dead), .later = true},
    {FIELD(skip_failed), .later = true},
    {FIELD(max_body), .later = true},
    {FIELD(max_waiting), .later = true},
    {FIELD(rate_per_s), .later = true},
    {FIELD(takeover_replicas), .later = true},
    {FIELD(dedup_window_ms), .later = true},
    {FIELD(expires_ms), .later = true},
    {FIELD(expires_with_messages), .later = true},
};

const struct option *topic_field_option(const struct topic_field *field)
{
    return option_find(SMQ_OPTION_SET_TOPIC, field->name);
}

/* Can the field be "none"?  Then *out is the value that means it. */
static bool topic_field_none(int64_t *out, const struct topic_field *field)
{
    const struct option *option = topic_field_option(field);

    if (option->word == NULL) {
        return false;
    }
    *out = option_meaning(option, NULL, option->word_value);
    return true;
}

int64_t topic_field_get(const struct topic_field *field, const struct topic *topic)
{
    return option_load((const char *) topic + field->offset, field->size);
}

void topic_field_set(const struct topic_field *field, struct topic *topic, int64_t value)
{
    option_store((char *) topic + field->offset, field->size, value);
}

/* A switch is stored as "no" or "yes".  A count of 4 bytes has no word for none, which is stored as
 * 0. */
static bool topic_field_is_switch(const struct topic_field *field)
{
    return field->size == sizeof(bool);
}

static bool topic_field_says_none(int64_t *out, const struct topic_field *field)
{
    return field->size != sizeof(int32_t) && topic_field_none(out, field);
}

void topic_field_format(char out[TOPIC_VALUE_MAX], const struct topic_field *field,
                        const struct topic *topic)
{
    const struct option *option = topic_field_option(field);
    int64_t value = 0;
    int64_t none = 0;

    if (option->kind == OPTION_STRING) {
        backoff_format(out, &topic->backoff);
        return;
    }
    value = topic_field_get(field, topic);
    if (topic_field_is_switch(field)) {
        snprintf(out, TOPIC_VALUE_MAX, "%s", value != 0 ? "yes" : "no");
    } else if (option->kind == OPTION_CHOICE) {
        (void) option_word(out, option, value);
    } else if (topic_field_says_none(&none, field) && value == none) {
        snprintf(out, TOPIC_VALUE_MAX, "none");
    } else {
        snprintf(out, TOPIC_VALUE_MAX, "%" PRId64, value);
    }
}

bool topic_field_read(struct topic *out, const struct topic_field *field, const char *text)
{
    const struct option *option = topic_field_option(field);
    int64_t max = field->size == sizeof(int32_t) ? INT32_MAX : INT64_MAX;
    int64_t value = 0;
    bool good;

    if (option->kind == OPTION_STRING) {
        return backoff_parse(&out->backoff, text, NULL) == SMQ_OK;
    }
    if (topic_field_is_switch(field)) {
        value = strcmp(text, "yes") == 0;
        good = value != 0 || strcmp(text, "no") == 0;
    } else if (option->kind == OPTION_CHOICE) {
        good = option_from_word(&value, option, text);
    } else {
        good = (strcmp(text, "none") == 0 && topic_field_says_none(&value, field)) ||
               number_parse(&value, text, strlen(text), max);
    }
    if (good) {
        topic_field_set(field, out, value);
    }
    return good;
}

smq_status topic_field_check(const struct topic_field *field, const struct topic *topic,
                             smq_error *err)
{
    const struct option *option = topic_field_option(field);
    int64_t none = 0;
    int64_t value;

    if (option->kind == OPTION_STRING) {
        return SMQ_OK;
    }
    value = topic_field_get(field, topic);
    if (topic_field_none(&none, field) && value == none) {
        return SMQ_OK;
    }
    return option_check(option, value, err);
}
