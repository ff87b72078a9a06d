/* topic_text.c - the definition of a topic as text: stored, read back, compared.
 *
 * Pure. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/number.h"
#include "model/topic_fields.h"

#define TOPIC_FORMAT_NAME "format="
#define TOPIC_GROUPS_NAME "groups="

void topic_format(struct buf *out, const struct topic *topic)
{
    const struct option *field;
    char value[TOPIC_VALUE_MAX];

    buf_printf(out, TOPIC_FORMAT_NAME "%" PRId32, topic->format);
    for (int place = 1; (field = topic_field(place)) != NULL; place++) {
        if (topic_field_is_format(field)) {
            continue;
        }
        if (topic_field_is_later(field) &&
            topic_field_get(field, topic) == topic_field_default(field, topic)) {
            continue;
        }
        topic_field_format(value, field, topic);
        buf_printf(out, " %s=%s", field->info.name, value);
    }
    if (topic->groups[0] != '\0') {
        buf_printf(out, " " TOPIC_GROUPS_NAME "%s", topic->groups);
    }
}

/* Read "groups=a,b" of `len` bytes, as topic_format() writes it. */
static bool topic_parse_groups(struct topic *out, const char *text, size_t len)
{
    static const char name[] = TOPIC_GROUPS_NAME;
    char list[GROUP_LIST_MAX];
    size_t at = strlen(name);

    if (len <= at || len - at >= sizeof(list) || memcmp(text, name, at) != 0 ||
        memchr(text, '\0', len) != NULL || group_in(out->name) != NULL) {
        return false;
    }
    memcpy(list, text + at, len - at);
    list[len - at] = '\0';
    return group_list_parse(out->groups, out->name, list, NULL) == SMQ_OK &&
           strcmp(out->groups, list) == 0;
}

/* Read "name=value" of `len` bytes; returns the bit of the field, or 0. */
static uint64_t topic_parse_field(struct topic *out, const char *text, size_t len)
{
    const struct option *field;
    char value[TOPIC_VALUE_MAX];

    for (int place = 1; (field = topic_field(place)) != NULL; place++) {
        size_t name_len = strlen(field->info.name);
        size_t value_len = len - name_len - 1;

        if (topic_field_is_format(field) || len <= name_len || text[name_len] != '=' ||
            memcmp(text, field->info.name, name_len) != 0) {
            continue;
        }
        if (value_len >= sizeof(value) || memchr(text, '\0', len) != NULL) {
            return 0;
        }
        memcpy(value, text + name_len + 1, value_len);
        value[value_len] = '\0';
        return topic_field_read(out, field, value) ? UINT64_C(1) << place : 0;
    }
    return topic_parse_groups(out, text, len) ? 1 : 0;
}

/* Fill in what the text leaves out; false: that is required. */
static bool topic_parse_rest(struct topic *out, uint64_t seen)
{
    const struct option *field;

    for (int place = 1; (field = topic_field(place)) != NULL; place++) {
        if ((seen & UINT64_C(1) << place) != 0) {
            continue;
        }
        if (!topic_field_is_later(field)) {
            return false;
        }
        topic_field_set(field, out, topic_field_default(field, out));
    }
    return true;
}

/* Does the text have all required fields, each once, separated by one space? */
static bool topic_parse_fields(struct topic *out, const char *text, size_t len)
{
    const char *end = text + len;
    uint64_t seen = 0;

    while (text < end) {
        const char *space = memchr(text, ' ', (size_t) (end - text));
        const char *stop = space == NULL ? end : space;
        uint64_t bit = topic_parse_field(out, text, (size_t) (stop - text));

        if (bit == 0 || (seen & bit) != 0) {
            return false;
        }
        seen |= bit;
        text = space == NULL ? end : space + 1;
    }
    return end[-1] != ' ' && topic_parse_rest(out, seen);
}

/* Read "format=N " at the beginning, and advance behind it; false: there is none. */
static bool topic_parse_format(int64_t *out, const char **text, size_t *len)
{
    static const char name[] = TOPIC_FORMAT_NAME;
    size_t at = strlen(name);
    size_t digits = 0;

    if (*len > at && memcmp(*text, name, at) == 0) {
        digits = number_read_prefix(out, *text + at, *len - at, INT32_MAX);
    }
    at += digits;
    if (digits == 0 || at >= *len || (*text)[at] != ' ') {
        return false;
    }
    *text += at + 1;
    *len -= at + 1;
    return true;
}

/* Before formats had numbers the text began with the type. */
static bool topic_has_no_format(const char *text, size_t len)
{
    static const char first[] = "type=";

    return len > strlen(first) && memcmp(text, first, strlen(first)) == 0;
}

/* Fill `err` with what to do about a definition that another version of slotmq has stored. */
static smq_status topic_other_format(const char *name, int64_t format, smq_error *err)
{
    if (format > TOPIC_FORMAT_NEWEST) {
        return status_set(err, SMQ_TOPIC_DIFFERS,
                          "topic %s was made by a newer slotmq: its format is %" PRId64
                          ", and this version reads %d; update this program",
                          name, format, TOPIC_FORMAT_NEWEST);
    }
    return status_set(err, SMQ_TOPIC_DIFFERS,
                      "topic %s was made by an older slotmq, whose messages this version does not "
                      "read; docs/upgrading.md says how they come over",
                      name);
}

static bool topic_format_is_read(int64_t format)
{
    return format >= TOPIC_FORMAT_LEAST && format <= TOPIC_FORMAT_NEWEST;
}

smq_status topic_parse(struct topic *out, const char *name, const char *text, size_t len,
                       smq_error *err)
{
    struct topic topic = {.version = 1, .generation = 1};
    smq_error why = {.text = "its fields are not those of this version of slotmq"};
    int64_t format = 0;
    bool good = false;

    if (topic_check_name(name, err) != SMQ_OK) {
        return SMQ_INVALID;
    }
    snprintf(topic.name, sizeof(topic.name), "%s", name);
    if (topic_has_no_format(text, len) ||
        (topic_parse_format(&format, &text, &len) && !topic_format_is_read(format))) {
        return topic_other_format(name, format, err);
    }
    good = topic_format_is_read(format) && topic_parse_fields(&topic, text, len);
    topic.format = (int32_t) format;
    if (!good || topic_check(&topic, &why) != SMQ_OK) {
        return status_set(err, SMQ_INTERNAL, "the stored definition of topic %s cannot be read: %s",
                          name, why.text);
    }
    *out = topic;
    return SMQ_OK;
}

static bool topic_field_differs(char *out, size_t size, const struct option *field,
                                const struct topic *stored, const struct topic *asked)
{
    char is[TOPIC_VALUE_MAX];
    char wanted[TOPIC_VALUE_MAX];

    topic_field_format(is, field, stored);
    topic_field_format(wanted, field, asked);
    if (strcmp(is, wanted) == 0) {
        return false;
    }
    snprintf(out, size, "%s is %s, not %s", field->info.name, is, wanted);
    return true;
}

static bool topic_groups_differ(char *out, size_t size, const struct topic *stored,
                                const struct topic *asked)
{
    if (strcmp(stored->groups, asked->groups) == 0) {
        return false;
    }
    snprintf(out, size, "groups is %s, not %s", stored->groups[0] != '\0' ? stored->groups : "none",
             asked->groups[0] != '\0' ? asked->groups : "none");
    return true;
}

bool topic_difference(char *out, size_t size, const struct topic *stored, const struct topic *asked)
{
    for (int place = 1; topic_field(place) != NULL; place++) {
        if (topic_field_differs(out, size, topic_field(place), stored, asked)) {
            return true;
        }
    }
    return topic_groups_differ(out, size, stored, asked);
}

bool topic_fixed_difference(char *out, size_t size, const struct topic *stored,
                            const struct topic *asked)
{
    for (int place = 1; topic_field(place) != NULL; place++) {
        if (topic_field(place)->info.fixed &&
            topic_field_differs(out, size, topic_field(place), stored, asked)) {
            return true;
        }
    }
    return (stored->groups[0] == '\0') != (asked->groups[0] == '\0') &&
           topic_groups_differ(out, size, stored, asked);
}
