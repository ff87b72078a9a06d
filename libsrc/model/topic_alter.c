/* topic_alter.c - change one option of a definition by its name.
 *
 * Pure. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/number.h"
#include "model/topic_fields.h"

static const struct topic_field *topic_find_field(const char *name)
{
    for (int i = 0; i < TOPIC_FIELDS; i++) {
        if (strcmp(topic_fields[i].name, name) == 0) {
            return &topic_fields[i];
        }
    }
    return NULL;
}

static smq_status topic_unknown_option(const char *option, smq_error *err)
{
    char known[200] = "";
    size_t used = 0;

    for (int i = 0; i < TOPIC_FIELDS; i++) {
        if (!topic_fields[i].fixed) {
            used += (size_t) snprintf(known + used, sizeof(known) - used, "%s%s",
                                      used == 0 ? "" : ", ", topic_fields[i].name);
        }
    }
    return status_set(err, SMQ_INVALID, "\"%.20s\" cannot be altered, only %s", option, known);
}

/* Like the other options with a name, a switch is also true or false. */
static int topic_option_word(const struct topic_field *field, const char *value)
{
    int word = topic_field_word(field, value);

    if (word < 0 && field->kind == TOPIC_FIELD_SWITCH) {
        word = strcmp(value, "true") == 0 ? 1 : strcmp(value, "false") == 0 ? 0 : -1;
    }
    return word;
}

static smq_status topic_alter_word(struct topic *topic, const struct topic_field *field,
                                   const char *value, smq_error *err)
{
    bool is_switch = field->kind == TOPIC_FIELD_SWITCH;
    int word = topic_option_word(field, value);

    if (word < 0) {
        return status_set(err, SMQ_INVALID, "%s must be %s or %s, not \"%.60s\"", field->name,
                          is_switch ? "false" : field->words[0],
                          is_switch ? "true" : field->words[1], value);
    }
    topic_field_set(field, topic, word);
    return SMQ_OK;
}

/* 0 is never a way to say "none", except for a count, which is none at 0. */
static smq_status topic_alter_number(struct topic *topic, const struct topic_field *field,
                                     const char *value, smq_error *err)
{
    bool time = field->kind == TOPIC_FIELD_TIME;
    bool may_be_none = field->none != TOPIC_NEVER_NONE;
    int64_t number = field->none;
    smq_status status = SMQ_OK;

    if (!may_be_none || strcmp(value, "none") != 0) {
        if (!(time ? number_parse_duration(&number, value, strlen(value), INT64_MAX)
                   : number_parse(&number, value, strlen(value), INT64_MAX))) {
            return status_set(err, SMQ_INVALID, "%s must be %s%s, not \"%.60s\"", field->name,
                              time ? "a duration such as 500ms, 30s, 5m, 1h or 1d"
                                   : "a whole number",
                              may_be_none ? ", or none" : "", value);
        }
        if (number == 0 && field->none == 0 && field->kind != TOPIC_FIELD_COUNT) {
            return topic_field_out_of_range(field, number, "none", err);
        }
        status = topic_field_check(field, number, "none", err);
    }
    if (status == SMQ_OK) {
        topic_field_set(field, topic, number);
    }
    return status;
}

smq_status topic_alter(struct topic *topic, const char *option, const char *value, smq_error *err)
{
    struct topic altered = *topic;
    const struct topic_field *field = NULL;
    smq_status status = SMQ_OK;

    if (option == NULL || value == NULL) {
        return status_set(err, SMQ_INVALID, "give the name of an option and its new value");
    }
    field = topic_find_field(option);
    if (field == NULL) {
        return topic_unknown_option(option, err);
    }
    if (field->fixed) {
        return status_set(err, SMQ_INVALID,
                          "%s is fixed for the life of a topic: it cannot be altered", option);
    }
    if (field->kind == TOPIC_FIELD_BACKOFF) {
        status = backoff_parse(&altered.backoff, value, err);
    } else if (field->words != NULL) {
        status = topic_alter_word(&altered, field, value, err);
    } else {
        status = topic_alter_number(&altered, field, value, err);
    }
    if (status == SMQ_OK) {
        status = topic_check(&altered, err);
    }
    if (status == SMQ_OK) {
        *topic = altered;
    }
    return status;
}
