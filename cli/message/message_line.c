/* message_line.c - see message_line.h. */
#include "cli/message/message_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/message/message.h"
#include "cli/message/when_flags.h"
#include "cli/text/base64.h"
#include "cli/text/parse.h"
#include "cli/text/say.h"
#include "cli/topic/definition.h"

/* What the members of a line say.  A member that is missing or null is not given. */
struct members {
    smq_bytes body, key, id;
    struct flag_value priority, due_at, delay, ttl, max_retries;
    struct flag_value sent_at, expires_at, attempt, retries_left;
    smq_state state; /* 0: not given */
};

enum member_kind {
    MEMBER_BYTES,
    MEMBER_NUMBER,
    MEMBER_TIME,
    MEMBER_DURATION,
    MEMBER_STATE,
    MEMBER_HEADERS,
    MEMBER_SHOWN
};

/* `decoded`: of bytes, the index in struct message_line. */
struct member {
    const char *name;
    enum member_kind kind;
    size_t offset;
    size_t decoded;
};

#define MEMBER(field) offsetof(struct members, field)

static const struct member members_known[] = {
    {"body", MEMBER_BYTES, MEMBER(body), 0},
    {"key", MEMBER_BYTES, MEMBER(key), 1},
    {"id", MEMBER_BYTES, MEMBER(id), 2},
    {"priority", MEMBER_NUMBER, MEMBER(priority), 0},
    {"due_at", MEMBER_TIME, MEMBER(due_at), 0},
    {"due_at_ms", MEMBER_TIME, MEMBER(due_at), 0},
    {"delay", MEMBER_DURATION, MEMBER(delay), 0},
    {"delay_ms", MEMBER_DURATION, MEMBER(delay), 0},
    {"ttl", MEMBER_DURATION, MEMBER(ttl), 0},
    {"ttl_ms", MEMBER_DURATION, MEMBER(ttl), 0},
    {"max_retries", MEMBER_NUMBER, MEMBER(max_retries), 0},
    {"sent_at", MEMBER_TIME, MEMBER(sent_at), 0},
    {"sent_at_ms", MEMBER_TIME, MEMBER(sent_at), 0},
    {"expires_at", MEMBER_TIME, MEMBER(expires_at), 0},
    {"expires_at_ms", MEMBER_TIME, MEMBER(expires_at), 0},
    {"attempt", MEMBER_NUMBER, MEMBER(attempt), 0},
    {"retries_left", MEMBER_NUMBER, MEMBER(retries_left), 0},
    {"state", MEMBER_STATE, MEMBER(state), 0},
    {"headers", MEMBER_HEADERS, 0, 0},
    {"topic", MEMBER_SHOWN, 0, 0},
    {"slot", MEMBER_SHOWN, 0, 0},
    {"token", MEMBER_SHOWN, 0, 0},
    {"reason", MEMBER_SHOWN, 0, 0},
    {"reason_base64", MEMBER_SHOWN, 0, 0},
    {"tries", MEMBER_SHOWN, 0, 0},
    {"cursor", MEMBER_SHOWN, 0, 0},
    {"lease_at_ms", MEMBER_SHOWN, 0, 0},
    {"dead_at_ms", MEMBER_SHOWN, 0, 0},
    {"claimed_at_ms", MEMBER_SHOWN, 0, 0},
    {"claimed_by", MEMBER_SHOWN, 0, 0},
};
#define KNOWN_COUNT (sizeof(members_known) / sizeof(members_known[0]))

static const char base64_suffix[] = "_base64";

/* Of a line that is JSON of an application, perhaps. */
#define WITHOUT_JSON "; without --json each line is a body"

/* === Members ============================================================ */

/* The member of this name; bytes also with the suffix. */
static const struct member *member_find(const char *name, bool *encoded)
{
    const size_t length = strlen(name);
    const size_t suffix = sizeof(base64_suffix) - 1;

    *encoded = length > suffix && strcmp(name + length - suffix, base64_suffix) == 0;
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        const struct member *member = &members_known[i];
        if (strcmp(member->name, name) == 0) {
            *encoded = false;
            return member;
        }
        if (*encoded && (member->kind == MEMBER_BYTES || member->kind == MEMBER_HEADERS) &&
            strlen(member->name) == length - suffix &&
            strncmp(member->name, name, length - suffix) == 0) {
            return member;
        }
    }
    return NULL;
}

static bool member_say_unknown(char error[MESSAGE_LINE_ERROR], const char *name)
{
    struct nearest nearest = nearest_to(name);

    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        nearest_offer(&nearest, members_known[i].name);
    }
    snprintf(error, MESSAGE_LINE_ERROR, "a message has no \"%.40s\"%s%s%s", name,
             nearest.best ? "; did you mean \"" : "", nearest.best ? nearest.best : "",
             nearest.best ? "\"?" : WITHOUT_JSON);
    return false;
}

static bool member_say_bad(char error[MESSAGE_LINE_ERROR], const char *name, const char *wanted)
{
    snprintf(error, MESSAGE_LINE_ERROR, "\"%.40s\" cannot be used; give %s", name, wanted);
    return false;
}

static bool member_read_bytes(smq_bytes *out, char **decoded, char error[MESSAGE_LINE_ERROR],
                              const char *name, bool encoded, const json_t *value)
{
    const char *text = json_string_value(value);
    const size_t length = json_string_length(value);
    size_t size = 0;

    if (!text) {
        return member_say_bad(error, name, encoded ? "base64 in a string" : "a string");
    }
    if (out->data) {
        snprintf(error, MESSAGE_LINE_ERROR, "\"%.40s\" is given twice, as text and as base64",
                 name);
        return false;
    }
    if (!encoded) {
        *out = (smq_bytes){text, length};
        return true;
    }
    *decoded = say_alloc(length + 1, 1);
    if (!base64_decode(*decoded, &size, text, length)) {
        return member_say_bad(error, name, "base64 in a string");
    }
    *out = (smq_bytes){*decoded, size};
    return true;
}

/* A number, or a text with a unit or a date. */
static bool member_read_amount(struct flag_value *out, char error[MESSAGE_LINE_ERROR],
                               const char *name, enum member_kind kind, const json_t *value)
{
    const char *text = json_string_value(value);
    bool good = json_is_integer(value);

    if (out->given) {
        snprintf(error, MESSAGE_LINE_ERROR, "\"%.40s\" is given twice, with and without _ms", name);
        return false;
    }
    out->value = good ? json_integer_value(value) : 0;
    if (text && kind == MEMBER_TIME) {
        good = parse_time(&out->value, text);
    } else if (text && kind == MEMBER_DURATION) {
        good = parse_duration(&out->value, text);
    }
    if (!good || (kind == MEMBER_DURATION && out->value < 0)) {
        return member_say_bad(
            error, name,
            kind == MEMBER_TIME ? "milliseconds since 1970 (13 digits today), or a time with its "
                                  "zone such as \"2026-12-01T00:00:00Z\""
            : kind == MEMBER_DURATION ? "milliseconds, or a duration such as \"30s\""
                                      : "a whole number");
    }
    out->given = true;
    return true;
}

static bool member_read_state(smq_state *out, char error[MESSAGE_LINE_ERROR], const json_t *value)
{
    const char *text = json_string_value(value);

    *out = text ? message_state_named(text) : 0;
    return *out != 0 ||
           member_say_bad(error, "state", "\"waiting\", \"claimed\", \"resting\" or \"dead\"");
}

/* An object with a text for each name.  Which names are good is for the library to say. */
static bool member_read_headers(struct message_line *line, char error[MESSAGE_LINE_ERROR],
                                const char *name, bool encoded, const json_t *object)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (!json_is_object(object)) {
        return member_say_bad(error, name, "an object with a string for each header");
    }
    json_object_foreach((json_t *) object, key, value)
    {
        smq_bytes bytes = {NULL, 0};

        if (line->header_count == SMQ_HEADERS_MAX) {
            snprintf(error, MESSAGE_LINE_ERROR, "a message has at most %d headers",
                     SMQ_HEADERS_MAX);
            return false;
        }
        if (!member_read_bytes(&bytes, &line->decoded_headers[line->header_count], error, key,
                               encoded, value)) {
            return false;
        }
        line->headers[line->header_count++] = (smq_header){key, bytes};
    }
    return true;
}

static bool member_read(struct members *members, struct message_line *line,
                        char error[MESSAGE_LINE_ERROR], const char *name, const json_t *value)
{
    bool encoded = false;
    const struct member *member = member_find(name, &encoded);
    void *field;

    if (!member) {
        return member_say_unknown(error, name);
    }
    field = (char *) members + member->offset;
    if (json_is_null(value)) {
        return true;
    }
    switch (member->kind) {
    case MEMBER_BYTES:
        return member_read_bytes(field, &line->decoded[member->decoded], error, name, encoded,
                                 value);
    case MEMBER_NUMBER:
    case MEMBER_TIME:
    case MEMBER_DURATION:
        return member_read_amount(field, error, name, member->kind, value);
    case MEMBER_STATE:
        return member_read_state(field, error, value);
    case MEMBER_HEADERS:
        return member_read_headers(line, error, name, encoded, value);
    case MEMBER_SHOWN:
        break;
    }
    return true;
}

static bool members_read(struct members *out, struct message_line *line,
                         char error[MESSAGE_LINE_ERROR], const char *text, size_t size)
{
    json_error_t why;
    const char *name = NULL;
    json_t *value = NULL;

    line->document = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!line->document) {
        snprintf(error, MESSAGE_LINE_ERROR, "not JSON: %.120s" WITHOUT_JSON, why.text);
        return false;
    }
    if (!json_is_object(line->document)) {
        snprintf(error, MESSAGE_LINE_ERROR,
                 "not a JSON object; give one message a line" WITHOUT_JSON);
        return false;
    }
    json_object_foreach(line->document, name, value)
    {
        if (!member_read(out, line, error, name, value)) {
            return false;
        }
    }
    if (!out->body.data) {
        snprintf(error, MESSAGE_LINE_ERROR,
                 "there is no \"body\"; it may be empty in layout keyed" WITHOUT_JSON);
        return false;
    }
    return true;
}

/* === Messages =========================================================== */

static bool line_topic_has_times(const struct topic_facts *topic)
{
    return topic->type != SMQ_TYPE_FIFO;
}

/* In layout inline the id is the body. */
static bool line_id_is_body(const smq_bytes *id, const smq_bytes *body)
{
    return id->len == body->len && memcmp(id->data, body->data, body->len) == 0;
}

static int64_t line_none_if_0(int64_t value)
{
    return value == 0 ? SMQ_NONE : value;
}

/* A new message is due then, or at once; types without times have none, and what was printed of
 * them is not meant. */
static void line_set_due(smq_message *message, const struct members *members,
                         const struct topic_facts *topic, int64_t now_ms)
{
    const int64_t due_ms = members->due_at.value;

    if (due_ms == 0 || (members->state != 0 && !line_topic_has_times(topic))) {
        return;
    }
    message->delay_ms = 0;
    if (topic->type == SMQ_TYPE_RANGE_MERGE) {
        message->delay_ms = due_ms > now_ms ? due_ms - now_ms : 0;
    } else {
        message->due_at_ms = due_ms;
    }
}

/* What the line says goes before the defaults. */
static void line_make_new(smq_message *message, const struct members *members,
                          const struct topic_facts *topic, int64_t now_ms)
{
    if (members->priority.given) {
        message->priority = members->priority.value;
    }
    if (members->max_retries.given) {
        message->max_retries = (int32_t) line_none_if_0(members->max_retries.value);
    }
    if (members->ttl.given) {
        message->ttl_ms = line_none_if_0(members->ttl.value);
    }
    if (members->due_at.given) {
        message->due_at_ms = 0;
        line_set_due(message, members, topic, now_ms);
    }
    if (members->delay.given) {
        message->due_at_ms = 0;
        message->delay_ms = members->delay.value;
    }
}

smq_message_copy message_restored(const smq_message_info *info, const struct topic_facts *topic)
{
    const bool keyed = topic->layout == SMQ_LAYOUT_KEYED;
    const bool dead = info->state == SMQ_STATE_DEAD;
    const bool delivered = dead || info->state == SMQ_STATE_CLAIMED;
    const int32_t used = info->attempt > 0 ? info->attempt - (delivered ? 1 : 0) : 0;
    const int32_t limit = used + info->retries_left;
    smq_message_copy message = SMQ_MESSAGE_COPY_INIT;

    message.body = info->body;
    message.key = info->key;
    message.attempt = dead ? 0 : used;
    if (topic->type == SMQ_TYPE_PRIORITY) {
        message.priority = info->priority;
    }
    if (line_topic_has_times(topic)) {
        message.due_at_ms = info->due_at_ms;
    }
    if (!keyed) {
        return message;
    }
    message.id = info->id;
    message.sent_at_ms = info->sent_at_ms;
    message.expires_at_ms = dead ? 0 : info->expires_at_ms;
    message.headers = info->headers;
    message.header_count = info->header_count;
    if (limit != topic->max_retries) {
        message.max_retries = limit == 0 ? SMQ_NONE : limit;
    }
    return message;
}

/* As it was stored.  A line without a state is that of a waiting message. */
static void line_make_restored(smq_message_copy *copy, const smq_message *message,
                               const struct members *members, const struct topic_facts *topic)
{
    const smq_message_info info = {
        .struct_size = sizeof(info),
        .state = members->state != 0 ? members->state : SMQ_STATE_WAITING,
        .body = message->body,
        .key = message->key,
        .id = message->id,
        .priority = members->priority.value,
        .due_at_ms = members->due_at.value,
        .sent_at_ms = members->sent_at.value,
        .expires_at_ms = members->expires_at.value,
        .attempt = (int32_t) members->attempt.value,
        .retries_left = (int32_t) members->retries_left.value,
        .headers = message->headers,
        .header_count = message->header_count,
    };

    *copy = message_restored(&info, topic);
    if (!members->retries_left.given) {
        copy->max_retries = 0;
    }
    if (members->max_retries.given) {
        copy->max_retries = (int32_t) line_none_if_0(members->max_retries.value);
    }
}

/* Numbers that a message cannot hold would become others. */
static bool line_check_range(const struct members *members, char error[MESSAGE_LINE_ERROR])
{
    const struct {
        const char *name;
        const struct flag_value *value;
    } small[] = {{"max_retries", &members->max_retries},
                 {"attempt", &members->attempt},
                 {"retries_left", &members->retries_left}};

    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        if (small[i].value->value < 0 || small[i].value->value > 64) {
            return member_say_bad(error, small[i].name, "a number from 0 to 64");
        }
    }
    if (members->due_at.given && members->delay.given) {
        snprintf(error, MESSAGE_LINE_ERROR, "\"due_at\" and \"delay\" both say when; give one");
        return false;
    }
    return true;
}

static bool line_say(char error[MESSAGE_LINE_ERROR], const char *text)
{
    snprintf(error, MESSAGE_LINE_ERROR, "%s", text);
    return false;
}

/* What layout inline has not.  What was printed of a message with a limit is not meant. */
static bool line_check_inline(const struct members *members, char error[MESSAGE_LINE_ERROR])
{
    if (members->id.data && !line_id_is_body(&members->id, &members->body)) {
        return line_say(error, "the topic has layout inline: it has no \"id\", the body is it");
    }
    if (members->ttl.given || members->max_retries.given) {
        return line_say(error,
                        "the topic has layout inline: it has no \"ttl\" and \"max_retries\"");
    }
    return true;
}

/* What the topic's type has not.  Times that were printed of such a message are not meant. */
static bool line_check_type(const struct members *members, const struct topic_facts *topic,
                            char error[MESSAGE_LINE_ERROR])
{
    const int64_t max = topic->ties == SMQ_TIES_BYTES ? WHEN_PRIORITY_BYTES : WHEN_PRIORITY_ARRIVAL;
    const int64_t priority = members->priority.value;

    if (priority != 0 && topic->type != SMQ_TYPE_PRIORITY) {
        snprintf(error, MESSAGE_LINE_ERROR, "the topic is %s: it has no \"priority\"",
                 definition_type_name(topic->type));
        return false;
    }
    if (priority < -max || priority > max) {
        snprintf(error, MESSAGE_LINE_ERROR,
                 "\"priority\" cannot be used; give a number from -%" PRId64 " to %" PRId64, max,
                 max);
        return false;
    }
    if (members->state == 0 && !line_topic_has_times(topic) &&
        (members->due_at.value != 0 || members->delay.value != 0)) {
        snprintf(error, MESSAGE_LINE_ERROR, "the topic is %s: it has no \"due_at\" and \"delay\"",
                 definition_type_name(topic->type));
        return false;
    }
    return true;
}

/* Refuses what the topic would refuse, in words of the line. */
static bool line_check_topic(const struct members *members, const struct message_rules *rules,
                             char error[MESSAGE_LINE_ERROR])
{
    const struct topic_facts *topic = rules->topic;

    if ((members->key.data && members->key.len == 0) ||
        (members->id.data && members->id.len == 0)) {
        return line_say(error, "a key or id that is empty cannot be used; leave it out");
    }
    if (topic->layout == SMQ_LAYOUT_INLINE && !line_check_inline(members, error)) {
        return false;
    }
    return line_check_type(members, topic, error);
}

bool message_line_read(struct message_line *out, char error[MESSAGE_LINE_ERROR], const char *text,
                       size_t size, const struct message_rules *rules, int64_t now_ms)
{
    const struct topic_facts *topic = rules->topic;
    struct members members = {.state = 0};
    smq_message *message = &out->message;

    *out = (struct message_line){.message = rules->defaults};
    if (!members_read(&members, out, error, text, size) || !line_check_range(&members, error) ||
        !line_check_topic(&members, rules, error)) {
        return false;
    }
    if (topic->layout == SMQ_LAYOUT_INLINE && out->header_count > 0) {
        return line_say(error, "the topic has layout inline: it has no \"headers\"");
    }
    message->body = members.body;
    if (members.key.data) {
        message->key = members.key;
    }
    if (out->header_count > 0) {
        message->headers = out->headers;
        message->header_count = out->header_count;
    }
    if (members.id.data &&
        (topic->layout == SMQ_LAYOUT_KEYED || !line_id_is_body(&members.id, &members.body))) {
        message->id = members.id;
    }
    if (rules->restore) {
        line_make_restored(&out->copy, message, &members, topic);
    } else {
        line_make_new(message, &members, topic, now_ms);
    }
    return true;
}

void message_line_fini(struct message_line *line)
{
    json_decref(line->document);
    for (size_t i = 0; i < sizeof(line->decoded) / sizeof(line->decoded[0]); i++) {
        free(line->decoded[i]);
    }
    for (size_t i = 0; i < SMQ_HEADERS_MAX; i++) {
        free(line->decoded_headers[i]);
    }
    *line = (struct message_line){.document = NULL};
}

size_t message_line_most(int64_t max_body)
{
    return (size_t) max_body * 6 + 65536;
}
