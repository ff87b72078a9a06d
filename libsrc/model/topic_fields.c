/* topic_fields.c - the options of a topic as fields of its definition, and their stored text.
 *
 * Pure. */
#include "model/topic_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/number.h"

enum { TOPIC_ALWAYS_STORED = 10 };

const struct option *topic_field(int place)
{
    for (size_t i = 0; i < option_count; i++) {
        if (option_table[i].stored == place) {
            return &option_table[i];
        }
    }
    return NULL;
}

bool topic_field_is_later(const struct option *field)
{
    return field->stored > TOPIC_ALWAYS_STORED;
}

bool topic_field_is_format(const struct option *field)
{
    return field->topic == offsetof(struct topic, format);
}

/* Can the field be "none"?  Then *out is the value that means it. */
static bool topic_field_none(int64_t *out, const struct option *field)
{
    if (field->word == NULL) {
        return false;
    }
    *out = option_meaning(field, NULL, field->word_value);
    return true;
}

int64_t topic_field_get(const struct option *field, const struct topic *topic)
{
    return option_load((const char *) topic + field->topic, field->size);
}

void topic_field_set(const struct option *field, struct topic *topic, int64_t value)
{
    option_store((char *) topic + field->topic, field->size, value);
}

int64_t topic_field_default(const struct option *field, const struct topic *topic)
{
    smq_topic_options fixed = {.type = topic->type, .layout = topic->layout};

    return option_meaning(field, &fixed, 0);
}

/* A switch is stored as "no" or "yes".  A count of 4 bytes has no word for none, which is stored as
 * 0. */
static bool topic_field_is_switch(const struct option *field)
{
    return field->size == sizeof(bool);
}

static bool topic_field_says_none(int64_t *out, const struct option *field)
{
    return field->size != sizeof(int32_t) && topic_field_none(out, field);
}

void topic_field_format(char out[TOPIC_VALUE_MAX], const struct option *field,
                        const struct topic *topic)
{
    int64_t value = 0;
    int64_t none = 0;

    if (field->kind == OPTION_STRING) {
        backoff_format(out, &topic->backoff);
        return;
    }
    value = topic_field_get(field, topic);
    if (topic_field_is_switch(field)) {
        snprintf(out, TOPIC_VALUE_MAX, "%s", value != 0 ? "yes" : "no");
    } else if (field->kind == OPTION_CHOICE) {
        (void) option_word(out, field, value);
    } else if (topic_field_says_none(&none, field) && value == none) {
        snprintf(out, TOPIC_VALUE_MAX, "none");
    } else {
        snprintf(out, TOPIC_VALUE_MAX, "%" PRId64, value);
    }
}

bool topic_field_read(struct topic *out, const struct option *field, const char *text)
{
    int64_t max = field->size == sizeof(int32_t) ? INT32_MAX : INT64_MAX;
    int64_t value = 0;
    bool good;

    if (field->kind == OPTION_STRING) {
        return backoff_parse(&out->backoff, text, NULL) == SMQ_OK;
    }
    if (topic_field_is_switch(field)) {
        value = strcmp(text, "yes") == 0;
        good = value != 0 || strcmp(text, "no") == 0;
    } else if (field->kind == OPTION_CHOICE) {
        good = option_from_word(&value, field, text);
    } else {
        good = (strcmp(text, "none") == 0 && topic_field_says_none(&value, field)) ||
               number_parse(&value, text, strlen(text), max);
    }
    if (good) {
        topic_field_set(field, out, value);
    }
    return good;
}

smq_status topic_field_check(const struct option *field, const struct topic *topic, smq_error *err)
{
    int64_t none = 0;
    int64_t value;

    if (field->kind == OPTION_STRING) {
        return SMQ_OK;
    }
    value = topic_field_get(field, topic);
    if (topic_field_none(&none, field) && value == none) {
        return SMQ_OK;
    }
    return option_check(field, value, err);
}
