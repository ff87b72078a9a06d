/* topic.c - the definition of a topic: checked, made from options, described as options.
 *
 * Pure. */
#include "model/topic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/topic_fields.h"

/* --- checking --- */

/* How many letters that a name may have are at the begin of the text?  Every send asks, and
 * strspn() first makes a table of the letters. */
static size_t topic_letters(const char *text)
{
    size_t count = 0;

    for (char c = text[0]; (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
         c = text[count]) {
        count++;
    }
    return count;
}

static smq_status topic_fail_name(smq_error *err, const char *name)
{
    if (strchr(name, GROUP_SEPARATOR) != NULL) {
        return status_set(err, SMQ_INVALID,
                          "a group is named TOPIC/GROUP, as in orders/billing: both letters, "
                          "digits, '.', '_', '-', at most %d together, not \"%.60s\"",
                          TOPIC_NAME_MAX, name);
    }
    return status_set(err, SMQ_INVALID,
                      "a topic's name must be 1 to %d letters, digits, '.', '_', '-', not "
                      "\"%.60s\"",
                      TOPIC_NAME_MAX, name);
}

smq_status topic_check_name(const char *name, smq_error *err)
{
    size_t good = 0;
    size_t group = 0;

    if (name == NULL) {
        return status_set(err, SMQ_INVALID, "the name of the topic is missing");
    }
    good = topic_letters(name);
    if (good > 0 && name[good] == GROUP_SEPARATOR) {
        group = topic_letters(name + good + 1);
        good += group > 0 ? 1 + group : 0;
    }
    return good == 0 || good > TOPIC_NAME_MAX || name[good] != '\0' ? topic_fail_name(err, name)
                                                                    : SMQ_OK;
}

smq_status topic_check_whole(const char *name, const char *what, smq_error *err)
{
    smq_status status = topic_check_name(name, err);

    if (status != SMQ_OK || group_in(name) == NULL) {
        return status;
    }
    return status_set(err, SMQ_INVALID,
                      "%s is a group of topic %.*s: %s the topic, which does it for all its groups",
                      name, (int) group_topic_len(name), name, what);
}

smq_status topic_check_new(const char *name, const char *what, smq_error *err)
{
    smq_status status = topic_check_whole(name, what, err);

    return status == SMQ_OK && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
               ? status_set(err, SMQ_INVALID,
                            "a topic cannot be named \"%s\", because no fleet could consume it: "
                            "choose another name",
                            name)
               : status;
}

smq_status topic_check_holds(const struct topic *topic, smq_error *err)
{
    char names[SMQ_TEXT_SIZE / 2];

    if (topic->groups[0] == '\0') {
        return SMQ_OK;
    }
    group_list_show(names, sizeof(names), topic->name, topic->groups);
    return status_set(err, SMQ_INVALID, "topic %s has groups; name one of them: %s", topic->name,
                      names);
}

int topic_parts(const struct topic *topic)
{
    int groups = group_list_count(topic->groups);

    return groups > 0 ? groups : 1;
}

void topic_part_name(char out[TOPIC_NAME_MAX + 1], const struct topic *topic, int index)
{
    if (topic->groups[0] == '\0') {
        memcpy(out, topic->name, sizeof(topic->name));
        return;
    }
    group_list_name(out, topic->name, topic->groups, index);
}

void topic_part(struct topic *out, const struct topic *topic, int index)
{
    *out = *topic;
    if (topic->groups[0] != '\0') {
        topic_part_name(out->name, topic, index);
        out->groups[0] = '\0';
        out->generation = out->pauses = out->deletes = 0;
        out->paused = false;
    }
}

bool topic_has_part(const struct topic *topic, const char *name)
{
    char part[TOPIC_NAME_MAX + 1];

    for (int i = 0; i < topic_parts(topic); i++) {
        topic_part_name(part, topic, i);
        if (strcmp(part, name) == 0) {
            return true;
        }
    }
    return false;
}

static smq_status topic_only_for(const struct topic *topic, const char *option, const char *type,
                                 smq_error *err)
{
    char word[OPTION_WORD_SIZE];

    (void) option_word(word, option_find(SMQ_OPTION_SET_TOPIC, "type"), topic->type);
    return status_set(err, SMQ_INVALID, "%s is for topics of type %s, not %s", option, type, word);
}

/* Check options that depend on the type. */
static smq_status topic_check_type(const struct topic *topic, smq_error *err)
{
    if (topic->type != SMQ_TYPE_PRIORITY && topic->ties != SMQ_TIES_ARRIVAL) {
        return topic_only_for(topic, "ties", "priority", err);
    }
    if (topic->type != SMQ_TYPE_RANGE_MERGE && topic->delay_ms != SMQ_NONE) {
        return topic_only_for(topic, "delay_ms", "range_merge", err);
    }
    if (topic->type != SMQ_TYPE_RANGE_MERGE && topic->debounce_ms != 0) {
        return topic_only_for(topic, "debounce_ms", "range_merge", err);
    }
    if (topic->type != SMQ_TYPE_FIFO && topic->skip_failed) {
        return topic_only_for(topic, "skip_failed", "fifo", err);
    }
    if (topic->type == SMQ_TYPE_FIFO && topic->layout != SMQ_LAYOUT_KEYED) {
        return status_set(err, SMQ_INVALID,
                          "a topic of type fifo needs layout keyed, not inline: leave the layout "
                          "out, or give keyed");
    }
    if (topic->type == SMQ_TYPE_FIFO && topic->shared) {
        return status_set(err, SMQ_INVALID,
                          "a topic of type fifo cannot be shared: only an owner keeps the order");
    }
    return SMQ_OK;
}

/* Check options that depend on the layout. */
static smq_status topic_check_layout(const struct topic *topic, smq_error *err)
{
    const char *option = topic->debounce_ms != 0       ? "debounce_ms"
                         : topic->ttl_ms != 0          ? "ttl_ms"
                         : topic->expired_to_dead      ? "expired_to_dead"
                         : topic->dedup_window_ms != 0 ? "dedup_window_ms"
                                                       : NULL;

    if (topic->layout == SMQ_LAYOUT_KEYED) {
        return SMQ_OK;
    }
    if (option != NULL) {
        return status_set(err, SMQ_INVALID, "%s is for topics of layout keyed, not inline", option);
    }
    if (topic->max_body > TOPIC_BODY_INLINE_MAX) {
        return status_set(err, SMQ_INVALID,
                          "max_body must be from 1 to %d in layout inline, not %" PRId64
                          "; larger bodies need layout keyed",
                          TOPIC_BODY_INLINE_MAX, topic->max_body);
    }
    return SMQ_OK;
}

/* Check options that depend on each other. */
static smq_status topic_check_together(const struct topic *topic, smq_error *err)
{
    if (topic->shared && topic->rate_per_s != 0) {
        return status_set(err, SMQ_INVALID,
                          "rate_per_s is for topics whose slots have owners, not for shared ones");
    }
    if (topic->shared && topic->takeover_replicas != 0) {
        return status_set(
            err, SMQ_INVALID,
            "takeover_replicas is for topics whose slots have owners, not for shared ones");
    }
    if (topic->expires_with_messages && topic->expires_ms == 0) {
        return status_set(err, SMQ_INVALID,
                          "expires_with_messages is for topics that expire: give expires_ms, too");
    }
    if (topic->format < TOPIC_FORMAT_WHOLE && topic->whole_max != TOPIC_WHOLE_DEFAULT) {
        return status_set(err, SMQ_INVALID,
                          "whole_max is for topics of format %d: give format, too",
                          TOPIC_FORMAT_WHOLE);
    }
    if (topic->debounce_ms != 0 && topic->debounce_ms < topic->delay_ms) {
        return status_set(err, SMQ_INVALID,
                          "debounce_ms, %" PRId64 ", is less than delay_ms, %" PRId64
                          ": no send could postpone the message",
                          topic->debounce_ms, topic->delay_ms);
    }
    return SMQ_OK;
}

smq_status topic_check(const struct topic *topic, smq_error *err)
{
    smq_status status;

    for (int i = 1; topic_field(i) != NULL; i++) {
        status = topic_field_check(topic_field(i), topic, err);
        if (status != SMQ_OK) {
            return status;
        }
    }
    status = topic_check_type(topic, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = topic_check_layout(topic, err);
    return status == SMQ_OK ? topic_check_together(topic, err) : status;
}

/* --- options --- */

/* In a program with an older header the struct of options is shorter; the other options get their
 * defaults. */
static smq_status topic_options_copy(smq_topic_options *out, const smq_topic_options *options,
                                     smq_error *err)
{
    if (options->struct_size == 0 || options->struct_size > sizeof(*out)) {
        return status_set(err, SMQ_INVALID,
                          "struct_size of the topic options is %zu: begin them with "
                          "SMQ_TOPIC_OPTIONS_INIT",
                          options->struct_size);
    }
    memset(out, 0, sizeof(*out));
    memcpy(out, options, options->struct_size);
    return topic_check_new(out->name, "create", err);
}

void topic_choose_type(smq_topic_options *given)
{
    if (given->type == 0) {
        given->type = SMQ_TYPE_FIXED_TIME;
        given->layout = given->layout != 0 ? given->layout : SMQ_LAYOUT_KEYED;
    }
}

/* In topics without times every message is due at once, so there SMQ_NONE means the same as 0. */
static void topic_drop_delay(smq_topic_options *given)
{
    if (given->delay_ms == SMQ_NONE && given->type != SMQ_TYPE_RANGE_MERGE) {
        given->delay_ms = 0;
    }
}

smq_status topic_fill(struct topic *out, smq_topic_options *options, smq_error *err)
{
    smq_status status = option_complete(options, SMQ_OPTION_SET_TOPIC, err);

    if (status != SMQ_OK) {
        return status;
    }
    for (int i = 1; topic_field(i) != NULL; i++) {
        const struct option *option = topic_field(i);

        if (option->kind != OPTION_STRING) {
            topic_field_set(option, out, option_get(option, options));
        }
    }
    status = topic_check(out, err);
    return status == SMQ_OK ? backoff_parse(&out->backoff, options->backoff, err) : status;
}

smq_status topic_from_options(struct topic *out, const smq_topic_options *options, smq_error *err)
{
    smq_topic_options given = {0};
    struct topic topic = {.version = 1, .generation = 1};
    smq_status status = topic_options_copy(&given, options, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (given.groups != NULL && given.groups[0] == '\0') {
        return status_set(err, SMQ_INVALID,
                          "groups is empty: name one at least, or leave it out; a topic that is "
                          "created without groups cannot get any");
    }
    topic_choose_type(&given);
    topic_drop_delay(&given);
    snprintf(topic.name, sizeof(topic.name), "%s", given.name);
    if (group_list_parse(topic.groups, topic.name, given.groups, err) != SMQ_OK ||
        group_list_check_new(topic.groups, "", err) != SMQ_OK) {
        return SMQ_INVALID;
    }
    status = topic_fill(&topic, &given, err);
    if (status == SMQ_OK) {
        *out = topic;
    }
    return status;
}

void topic_to_options(smq_topic_options *out, char text[BACKOFF_TEXT_MAX],
                      const struct topic *topic)
{
    backoff_format(text, &topic->backoff);
    *out = (smq_topic_options){.struct_size = sizeof(*out),
                               .name = topic->name,
                               .backoff = text,
                               .groups = topic->groups[0] != '\0' ? topic->groups : NULL};
    for (int i = 1; topic_field(i) != NULL; i++) {
        const struct option *option = topic_field(i);

        if (option->kind != OPTION_STRING) {
            option_set(option, out, option_given(option, topic_field_get(option, topic)));
        }
    }
}

void topic_stamp(char out[TOPIC_STAMP_MAX], const struct topic *topic)
{
    snprintf(out, TOPIC_STAMP_MAX, "%s.%" PRIu32, topic->nonce, topic->version);
}

int64_t topic_field_from(const struct topic *topic)
{
    return topic->format >= TOPIC_FORMAT_WHOLE && topic->whole_max > 0 ? TOPIC_FIELD_FROM : 0;
}

char topic_kind(const struct topic *topic)
{
    switch (topic->type) {
    case SMQ_TYPE_RANGE_MERGE:
        return 'm';
    case SMQ_TYPE_FIXED_TIME:
        return 't';
    case SMQ_TYPE_PRIORITY:
        return topic->ties == SMQ_TIES_ARRIVAL ? 'p' : 'b';
    case SMQ_TYPE_FIFO:
        return 'f';
    }
    return 'm';
}
