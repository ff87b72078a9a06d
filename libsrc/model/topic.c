/* topic.c - the definition of a topic: checked, compared, written as text and read back.
 *
 * Pure.  One table of fields serves the text and the comparison. */
#include "model/topic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/number.h"

#define TOPIC_BACKOFF_DEFAULT "exp:1000:600000"
#define TOPIC_LEASE_MIN_MS    INT64_C(100)
#define TOPIC_LEASE_MAX_MS    (INT64_C(24) * 60 * 60 * 1000)
#define TOPIC_DELAY_MAX_MS    (INT64_C(1) << 43)

enum { TOPIC_VALUE_MAX = BACKOFF_TEXT_MAX };

/* --- words --- */

static const char *const topic_types[] = {[SMQ_RANGE_MERGE] = "range_merge",
                                          [SMQ_PRIORITY] = "priority",
                                          [SMQ_FIXED_TIME] = "fixed_time"};
static const char *const topic_ties[] = {
    [SMQ_TIES_ARRIVAL] = "arrival", [SMQ_TIES_BYTES] = "bytes"};
static const char *const topic_takeovers[] = {
    [SMQ_TAKEOVER_FAST] = "fast", [SMQ_TAKEOVER_STRICT] = "strict"};
static const char *const topic_shared[] = {"no", "yes"};

#define COUNT_OF(array) ((int) (sizeof(array) / sizeof((array)[0])))

/* The index of a word, or -1. */
static int topic_word(const char *const *words, int count, const char *text)
{
    for (int i = 0; i < count; i++) {
        if (words[i] != NULL && strcmp(words[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

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

/* What belongs to the order of messages. */
static smq_status topic_check_order(const struct topic *topic, smq_error *err)
{
    if (topic->type < SMQ_RANGE_MERGE || topic->type > SMQ_FIXED_TIME) {
        return status_set(err, SMQ_INVALID,
                          "type must be range_merge, priority or fixed_time, not %d",
                          (int) topic->type);
    }
    if (topic->ties != SMQ_TIES_ARRIVAL && topic->ties != SMQ_TIES_BYTES) {
        return status_set(err, SMQ_INVALID, "ties must be arrival or bytes, not %d",
                          (int) topic->ties);
    }
    if (topic->type != SMQ_PRIORITY && topic->ties != SMQ_TIES_ARRIVAL) {
        return status_set(err, SMQ_INVALID, "ties is for topics of type priority, not %s",
                          topic_types[topic->type]);
    }
    if (topic->delay_ms == SMQ_NONE) {
        return SMQ_OK;
    }
    if (topic->delay_ms < 1 || topic->delay_ms > TOPIC_DELAY_MAX_MS) {
        return status_set(err, SMQ_INVALID,
                          "delay_ms must be from 1 to %" PRId64 ", or SMQ_NONE, not %" PRId64,
                          TOPIC_DELAY_MAX_MS, topic->delay_ms);
    }
    if (topic->type != SMQ_RANGE_MERGE) {
        return status_set(err, SMQ_INVALID, "delay_ms is for topics of type range_merge, not %s",
                          topic_types[topic->type]);
    }
    return SMQ_OK;
}

/* What belongs to the handling of messages. */
static smq_status topic_check_handling(const struct topic *topic, smq_error *err)
{
    if (topic->max_retries < 0 || topic->max_retries > TOPIC_RETRIES_MAX) {
        return status_set(err, SMQ_INVALID,
                          "max_retries must be from 1 to %d, or SMQ_NONE, not %" PRId32,
                          TOPIC_RETRIES_MAX, topic->max_retries);
    }
    if (topic->lease_ms < TOPIC_LEASE_MIN_MS || topic->lease_ms > TOPIC_LEASE_MAX_MS) {
        return status_set(err, SMQ_INVALID,
                          "lease_ms must be from %" PRId64 " to %" PRId64 ", not %" PRId64,
                          TOPIC_LEASE_MIN_MS, TOPIC_LEASE_MAX_MS, topic->lease_ms);
    }
    if (topic->takeover != SMQ_TAKEOVER_FAST && topic->takeover != SMQ_TAKEOVER_STRICT) {
        return status_set(err, SMQ_INVALID, "takeover must be fast or strict, not %d",
                          (int) topic->takeover);
    }
    return SMQ_OK;
}

static smq_status topic_check(const struct topic *topic, smq_error *err)
{
    smq_status status = topic_check_slots(topic, err);

    if (status == SMQ_OK) {
        status = topic_check_order(topic, err);
    }
    if (status == SMQ_OK) {
        status = topic_check_handling(topic, err);
    }
    return status;
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

smq_status topic_from_options(struct topic *out, const smq_topic_options *options, smq_error *err)
{
    smq_topic_options given = {0};
    struct topic topic = {.version = 1, .generation = 1};
    smq_status status = topic_options_copy(&given, options, err);

    if (status != SMQ_OK) {
        return status;
    }
    snprintf(topic.name, sizeof(topic.name), "%s", given.name);
    topic.type = given.type;
    topic.slots = given.slots == 0 ? TOPIC_SLOTS_DEFAULT : given.slots;
    topic.shared = given.shared;
    topic.ties = given.ties;
    topic.max_retries = (int32_t) topic_option(given.max_retries, TOPIC_RETRIES_DEFAULT, 0);
    topic.lease_ms = given.lease_ms == 0 ? TOPIC_LEASE_DEFAULT_MS : given.lease_ms;
    topic.delay_ms = topic_option(given.delay_ms, SMQ_NONE, SMQ_NONE);
    topic.takeover = given.takeover;
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
        .slots = topic->slots,
        .shared = topic->shared,
        .ties = topic->ties,
        .max_retries = topic->max_retries == 0 ? SMQ_NONE : topic->max_retries,
        .backoff = text,
        .lease_ms = topic->lease_ms,
        .delay_ms = topic->delay_ms,
        .takeover = topic->takeover,
    };
}

/* --- the fields of the stored text --- */

static void topic_put_type(char *out, const struct topic *topic)
{
    snprintf(out, TOPIC_VALUE_MAX, "%s", topic_types[topic->type]);
}

static bool topic_get_type(struct topic *out, const char *text)
{
    int word = topic_word(topic_types, COUNT_OF(topic_types), text);

    out->type = (smq_topic_type) word;
    return word >= 0;
}

static void topic_put_slots(char *out, const struct topic *topic)
{
    snprintf(out, TOPIC_VALUE_MAX, "%" PRId32, topic->slots);
}

static bool topic_get_slots(struct topic *out, const char *text)
{
    int64_t value = 0;
    bool good = number_parse(&value, text, strlen(text), INT32_MAX);

    out->slots = (int32_t) value;
    return good;
}

static void topic_put_shared(char *out, const struct topic *topic)
{
    snprintf(out, TOPIC_VALUE_MAX, "%s", topic_shared[topic->shared]);
}

static bool topic_get_shared(struct topic *out, const char *text)
{
    int word = topic_word(topic_shared, COUNT_OF(topic_shared), text);

    out->shared = word == 1;
    return word >= 0;
}

static void topic_put_ties(char *out, const struct topic *topic)
{
    snprintf(out, TOPIC_VALUE_MAX, "%s", topic_ties[topic->ties]);
}

static bool topic_get_ties(struct topic *out, const char *text)
{
    int word = topic_word(topic_ties, COUNT_OF(topic_ties), text);

    out->ties = (smq_ties) word;
    return word >= 0;
}

static void topic_put_max_retries(char *out, const struct topic *topic)
{
    snprintf(out, TOPIC_VALUE_MAX, "%" PRId32, topic->max_retries);
}

static bool topic_get_max_retries(struct topic *out, const char *text)
{
    int64_t value = 0;
    bool good = number_parse(&value, text, strlen(text), INT32_MAX);

    out->max_retries = (int32_t) value;
    return good;
}

static void topic_put_backoff(char *out, const struct topic *topic)
{
    backoff_format(out, &topic->backoff);
}

static bool topic_get_backoff(struct topic *out, const char *text)
{
    return backoff_parse(&out->backoff, text, NULL) == SMQ_OK;
}

static void topic_put_lease(char *out, const struct topic *topic)
{
    snprintf(out, TOPIC_VALUE_MAX, "%" PRId64, topic->lease_ms);
}

static bool topic_get_lease(struct topic *out, const char *text)
{
    return number_parse(&out->lease_ms, text, strlen(text), INT64_MAX);
}

static void topic_put_delay(char *out, const struct topic *topic)
{
    if (topic->delay_ms == SMQ_NONE) {
        snprintf(out, TOPIC_VALUE_MAX, "none");
    } else {
        snprintf(out, TOPIC_VALUE_MAX, "%" PRId64, topic->delay_ms);
    }
}

static bool topic_get_delay(struct topic *out, const char *text)
{
    if (strcmp(text, "none") == 0) {
        out->delay_ms = SMQ_NONE;
        return true;
    }
    return number_parse(&out->delay_ms, text, strlen(text), INT64_MAX);
}

static void topic_put_takeover(char *out, const struct topic *topic)
{
    snprintf(out, TOPIC_VALUE_MAX, "%s", topic_takeovers[topic->takeover]);
}

static bool topic_get_takeover(struct topic *out, const char *text)
{
    int word = topic_word(topic_takeovers, COUNT_OF(topic_takeovers), text);

    out->takeover = (smq_takeover) word;
    return word >= 0;
}

/* In the order of the stored text.  `put` writes up to TOPIC_VALUE_MAX bytes; `get` is false for
 * what `put` never writes. */
static const struct topic_field {
    const char *name;
    void (*put)(char *out, const struct topic *topic);
    bool (*get)(struct topic *out, const char *text);
} topic_fields[] = {
    {"type", topic_put_type, topic_get_type},
    {"slots", topic_put_slots, topic_get_slots},
    {"shared", topic_put_shared, topic_get_shared},
    {"ties", topic_put_ties, topic_get_ties},
    {"max_retries", topic_put_max_retries, topic_get_max_retries},
    {"backoff", topic_put_backoff, topic_get_backoff},
    {"lease_ms", topic_put_lease, topic_get_lease},
    {"delay_ms", topic_put_delay, topic_get_delay},
    {"takeover", topic_put_takeover, topic_get_takeover},
};

enum { TOPIC_FIELDS = COUNT_OF(topic_fields), TOPIC_FIELDS_ALL = (1 << TOPIC_FIELDS) - 1 };

void topic_format(struct buf *out, const struct topic *topic)
{
    char value[TOPIC_VALUE_MAX];

    for (int i = 0; i < TOPIC_FIELDS; i++) {
        topic_fields[i].put(value, topic);
        buf_printf(out, "%s%s=%s", i == 0 ? "" : " ", topic_fields[i].name, value);
    }
}

/* Read "name=value" of `len` bytes; the bit of the field, or 0. */
static int topic_parse_field(struct topic *out, const char *text, size_t len)
{
    char value[TOPIC_VALUE_MAX];

    for (int i = 0; i < TOPIC_FIELDS; i++) {
        size_t name_len = strlen(topic_fields[i].name);
        size_t value_len = len - name_len - 1;

        if (len <= name_len || text[name_len] != '=' ||
            memcmp(text, topic_fields[i].name, name_len) != 0) {
            continue;
        }
        if (value_len >= sizeof(value) || memchr(text, '\0', len) != NULL) {
            return 0;
        }
        memcpy(value, text + name_len + 1, value_len);
        value[value_len] = '\0';
        return topic_fields[i].get(out, value) ? 1 << i : 0;
    }
    return 0;
}

/* Are all fields there, each once, one space apart? */
static bool topic_parse_fields(struct topic *out, const char *text, size_t len)
{
    const char *end = text + len;
    int seen = 0;

    while (text < end) {
        const char *space = memchr(text, ' ', (size_t) (end - text));
        const char *stop = space == NULL ? end : space;
        int bit = topic_parse_field(out, text, (size_t) (stop - text));

        if (bit == 0 || (seen & bit) != 0) {
            return false;
        }
        seen |= bit;
        text = space == NULL ? end : space + 1;
    }
    return seen == TOPIC_FIELDS_ALL && end[-1] != ' ';
}

smq_status topic_parse(struct topic *out, const char *name, const char *text, size_t len,
                       smq_error *err)
{
    struct topic topic = {.version = 1, .generation = 1};
    smq_error why = {.text = "its fields are not those of this version of slotmq"};

    if (topic_check_name(name, err) != SMQ_OK) {
        return SMQ_INVALID;
    }
    snprintf(topic.name, sizeof(topic.name), "%s", name);
    if (len == 0 || !topic_parse_fields(&topic, text, len) || topic_check(&topic, &why) != SMQ_OK) {
        return status_set(err, SMQ_INTERNAL, "the stored definition of topic %s cannot be read: %s",
                          name, why.text);
    }
    *out = topic;
    return SMQ_OK;
}

bool topic_difference(char *out, size_t size, const struct topic *stored, const struct topic *asked)
{
    char is[TOPIC_VALUE_MAX];
    char wanted[TOPIC_VALUE_MAX];

    for (int i = 0; i < TOPIC_FIELDS; i++) {
        topic_fields[i].put(is, stored);
        topic_fields[i].put(wanted, asked);
        if (strcmp(is, wanted) != 0) {
            snprintf(out, size, "%s is %s, not %s", topic_fields[i].name, is, wanted);
            return true;
        }
    }
    return false;
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
    }
    return 'm';
}
