/* topic.c - the definition of a topic: checked, made from options, described as options.
 *
 * Pure. */
#include "model/topic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/topic_fields.h"

#define TOPIC_BACKOFF_DEFAULT "exp:1000:600000"

/* --- checking --- */

smq_status topic_check_name(const char *name, smq_error *err)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-";
    size_t good = 0;

    if (name == NULL) {
        return status_set(err, SMQ_INVALID, "the topic's name is missing");
    }
    good = strspn(name, letters);
    if (good == 0 || good > TOPIC_NAME_MAX || name[good] != '\0') {
        return status_set(err, SMQ_INVALID,
                          "a topic's name must be 1 to %d letters, digits, '.', '_', '-', not "
                          "\"%.60s\"",
                          TOPIC_NAME_MAX, name);
    }
    return SMQ_OK;
}

static smq_status topic_check_slots(const struct topic *topic, smq_error *err)
{
    if (topic->slots < 1 || topic->slots > TOPIC_SLOTS_MAX ||
        (topic->slots & (topic->slots - 1)) != 0) {
        return status_set(err, SMQ_INVALID,
                          "slots must be a power of two from 1 to %d, not %" PRId32,
                          TOPIC_SLOTS_MAX, topic->slots);
    }
    return SMQ_OK;
}

static smq_status topic_only_for(const struct topic *topic, const char *option, const char *type,
                                 smq_error *err)
{
    return status_set(err, SMQ_INVALID, "%s is for topics of type %s, not %s", option, type,
                      topic_type_word(topic->type));
}

/* What belongs to the type. */
static smq_status topic_check_type(const struct topic *topic, smq_error *err)
{
    if (topic->type != SMQ_PRIORITY && topic->ties != SMQ_TIES_ARRIVAL) {
        return topic_only_for(topic, "ties", "priority", err);
    }
    if (topic->type != SMQ_RANGE_MERGE && topic->delay_ms != SMQ_NONE) {
        return topic_only_for(topic, "delay_ms", "range_merge", err);
    }
    if (topic->type != SMQ_RANGE_MERGE && topic->debounce_ms != 0) {
        return topic_only_for(topic, "debounce_ms", "range_merge", err);
    }
    if (topic->type != SMQ_FIFO && topic->skip_failed) {
        return topic_only_for(topic, "skip_failed", "fifo", err);
    }
    if (topic->type == SMQ_FIFO && topic->layout != SMQ_KEYED) {
        return status_set(err, SMQ_INVALID,
                          "a topic of type fifo needs layout keyed, not inline: leave the layout "
                          "out, or give keyed");
    }
    if (topic->type == SMQ_FIFO && topic->shared) {
        return status_set(err, SMQ_INVALID,
                          "a topic of type fifo cannot be shared: only an owner keeps the order");
    }
    return SMQ_OK;
}

/* What belongs to the layout. */
static smq_status topic_check_layout(const struct topic *topic, smq_error *err)
{
    const char *option = topic->debounce_ms != 0  ? "debounce_ms"
                         : topic->ttl_ms != 0     ? "ttl_ms"
                         : topic->expired_to_dead ? "expired_to_dead"
                                                  : NULL;

    if (topic->layout == SMQ_KEYED) {
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

/* What options demand of each other. */
static smq_status topic_check_together(const struct topic *topic, smq_error *err)
{
    if (topic->shared && topic->rate_per_s != 0) {
        return status_set(err, SMQ_INVALID,
                          "rate_per_s is for topics whose slots have owners, not for shared ones");
    }
    if (topic->debounce_ms != 0 && topic->debounce_ms < topic->delay_ms) {
        return status_set(err, SMQ_INVALID,
                          "debounce_ms, %" PRId64 ", is less than delay_ms, %" PRId64
                          ": no send could move the time back",
                          topic->debounce_ms, topic->delay_ms);
    }
    return SMQ_OK;
}

smq_status topic_check(const struct topic *topic, smq_error *err)
{
    smq_status status = topic_check_slots(topic, err);

    for (int i = 0; status == SMQ_OK && i < TOPIC_FIELDS; i++) {
        status = topic_field_check(&topic_fields[i], topic_field_get(&topic_fields[i], topic),
                                   "SMQ_NONE", err);
    }
    if (status == SMQ_OK) {
        status = topic_check_type(topic, err);
    }
    if (status == SMQ_OK) {
        status = topic_check_layout(topic, err);
    }
    return status == SMQ_OK ? topic_check_together(topic, err) : status;
}

/* --- options --- */

/* 0 is the default, SMQ_NONE is `none`. */
static int64_t topic_option(int64_t value, int64_t fallback, int64_t none)
{
    if (value == 0) {
        return fallback;
    }
    return value == SMQ_NONE ? none : value;
}

/* As in a message SMQ_NONE is no delay: at once, as all is in topics without times. */
static int64_t topic_delay_option(const smq_topic_options *given)
{
    bool at_once = given->delay_ms == SMQ_NONE;

    if (given->delay_ms == 0 || (at_once && given->type != SMQ_RANGE_MERGE)) {
        return SMQ_NONE;
    }
    return at_once ? 0 : given->delay_ms;
}

/* The options of a caller with an older header end earlier: the rest is default. */
static smq_status topic_options_copy(smq_topic_options *out, const smq_topic_options *options,
                                     smq_error *err)
{
    if (options->struct_size == 0 || options->struct_size > sizeof(*out)) {
        return status_set(err, SMQ_INVALID,
                          "struct_size of the topic options is %zu: start from "
                          "SMQ_TOPIC_OPTIONS_INIT",
                          options->struct_size);
    }
    memset(out, 0, sizeof(*out));
    memcpy(out, options, options->struct_size);
    return topic_check_name(out->name, err);
}

int64_t topic_default_body(smq_layout layout)
{
    return layout == SMQ_KEYED ? TOPIC_BODY_KEYED_DEFAULT : TOPIC_BODY_INLINE_MAX;
}

static smq_layout topic_default_layout(smq_topic_type type)
{
    return type == SMQ_FIFO ? SMQ_KEYED : SMQ_INLINE;
}

static void topic_take_options(struct topic *out, const smq_topic_options *given)
{
    snprintf(out->name, sizeof(out->name), "%s", given->name);
    out->type = given->type;
    out->layout = given->layout != 0 ? given->layout : topic_default_layout(given->type);
    out->slots = given->slots == 0 ? TOPIC_SLOTS_DEFAULT : given->slots;
    out->shared = given->shared;
    out->ties = given->ties;
    out->max_retries = (int32_t) topic_option(given->max_retries, TOPIC_RETRIES_DEFAULT, 0);
    out->lease_ms = given->lease_ms == 0 ? TOPIC_LEASE_DEFAULT_MS : given->lease_ms;
    out->delay_ms = topic_delay_option(given);
    out->takeover = given->takeover;
    out->debounce_ms = topic_option(given->debounce_ms, 0, 0);
    out->ttl_ms = topic_option(given->ttl_ms, 0, 0);
    out->expired_to_dead = given->expired_to_dead;
    out->skip_failed = given->skip_failed;
    out->max_body = given->max_body == 0 ? topic_default_body(out->layout) : given->max_body;
    out->max_waiting = topic_option(given->max_waiting, 0, 0);
    out->rate_per_s = topic_option(given->rate_per_s, 0, 0);
}

smq_status topic_from_options(struct topic *out, const smq_topic_options *options, smq_error *err)
{
    smq_topic_options given = {0};
    struct topic topic = {.version = 1, .generation = 1};
    smq_status status = topic_options_copy(&given, options, err);

    if (status != SMQ_OK) {
        return status;
    }
    topic_take_options(&topic, &given);
    status = topic_check(&topic, err);
    if (status == SMQ_OK) {
        status = backoff_parse(&topic.backoff,
                               given.backoff == NULL ? TOPIC_BACKOFF_DEFAULT : given.backoff, err);
    }
    if (status == SMQ_OK) {
        *out = topic;
    }
    return status;
}

void topic_to_options(smq_topic_options *out, char text[BACKOFF_TEXT_MAX],
                      const struct topic *topic)
{
    backoff_format(text, &topic->backoff);
    *out = (smq_topic_options){
        .struct_size = sizeof(*out),
        .name = topic->name,
        .type = topic->type,
        .layout = topic->layout,
        .slots = topic->slots,
        .shared = topic->shared,
        .ties = topic->ties,
        .max_retries = topic->max_retries == 0 ? SMQ_NONE : topic->max_retries,
        .backoff = text,
        .lease_ms = topic->lease_ms,
        .delay_ms = topic->delay_ms == SMQ_NONE ? 0
                    : topic->delay_ms == 0      ? SMQ_NONE
                                                : topic->delay_ms,
        .debounce_ms = topic->debounce_ms,
        .ttl_ms = topic->ttl_ms,
        .expired_to_dead = topic->expired_to_dead,
        .skip_failed = topic->skip_failed,
        .takeover = topic->takeover,
        .max_body = topic->max_body,
        .max_waiting = topic->max_waiting,
        .rate_per_s = topic->rate_per_s,
        .paused = topic->paused,
    };
}

void topic_stamp(char out[TOPIC_STAMP_MAX], const struct topic *topic)
{
    snprintf(out, TOPIC_STAMP_MAX, "%s.%" PRIu32, topic->nonce, topic->version);
}

char topic_kind(const struct topic *topic)
{
    switch (topic->type) {
    case SMQ_RANGE_MERGE:
        return 'm';
    case SMQ_FIXED_TIME:
        return 't';
    case SMQ_PRIORITY:
        return topic->ties == SMQ_TIES_ARRIVAL ? 'p' : 'b';
    case SMQ_FIFO:
        return 'f';
    }
    return 'm';
}
