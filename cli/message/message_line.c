/* message_line.c - see message_line.h. */
#include "cli/message/message_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message/message.h"
#include "cli/message/when_flags.h"
#include "cli/topic/definition.h"

/* What the members of a line say. */
struct message_members {
    smq_bytes body, key, id;
    struct flag_value priority, due_at, delay, ttl, max_retries;
    struct flag_value sent_at, expires_at, attempt, retries_left;
    int state; /* smq_state; 0: not given */
};

static int message_member_state(const char *name)
{
    return (int) message_state_named(name);
}

#define MEMBER(name_, kind_, field_)                                                               \
    {                                                                                              \
        name_, kind_, offsetof(struct message_members, field_), NULL, NULL                         \
    }
#define SHOWN(name_)                                                                               \
    {                                                                                              \
        name_, MEMBER_SHOWN, 0, NULL, NULL                                                         \
    }

static const struct member message_rows[] = {
    MEMBER("body", MEMBER_BYTES, body),
    MEMBER("key", MEMBER_BYTES, key),
    MEMBER("id", MEMBER_BYTES, id),
    MEMBER("priority", MEMBER_NUMBER, priority),
    MEMBER("due_at", MEMBER_TIME, due_at),
    MEMBER("due_at_ms", MEMBER_TIME, due_at),
    MEMBER("delay", MEMBER_DURATION, delay),
    MEMBER("delay_ms", MEMBER_DURATION, delay),
    MEMBER("ttl", MEMBER_DURATION, ttl),
    MEMBER("ttl_ms", MEMBER_DURATION, ttl),
    MEMBER("max_retries", MEMBER_NUMBER, max_retries),
    MEMBER("sent_at", MEMBER_TIME, sent_at),
    MEMBER("sent_at_ms", MEMBER_TIME, sent_at),
    MEMBER("expires_at", MEMBER_TIME, expires_at),
    MEMBER("expires_at_ms", MEMBER_TIME, expires_at),
    MEMBER("attempt", MEMBER_NUMBER, attempt),
    MEMBER("retries_left", MEMBER_NUMBER, retries_left),
    {"state", MEMBER_NAME, offsetof(struct message_members, state), message_member_state,
     "\"waiting\", \"claimed\", \"resting\" or \"dead\""},
    {"headers", MEMBER_HEADERS, 0, NULL, NULL},
    SHOWN("topic"),
    SHOWN("slot"),
    SHOWN("token"),
    SHOWN("reason"),
    SHOWN("reason_base64"),
    SHOWN("tries"),
    SHOWN("cursor"),
    SHOWN("lease_at_ms"),
    SHOWN("dead_at_ms"),
    SHOWN("claimed_at_ms"),
    SHOWN("claimed_by"),
};

/* Of a line that is JSON of an application, perhaps. */
#define WITHOUT_JSON "; without --json each line is a body"

static const struct members_table message_table = {
    .noun = "message",
    .hint = WITHOUT_JSON,
    .rows = message_rows,
    .count = sizeof(message_rows) / sizeof(message_rows[0]),
};

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
static void line_set_due(smq_message *message, const struct message_members *members,
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
static void line_make_new(smq_message *message, const struct message_members *members,
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
                               const struct message_members *members,
                               const struct topic_facts *topic)
{
    const smq_message_info info = {
        .struct_size = sizeof(info),
        .state = members->state != 0 ? (smq_state) members->state : SMQ_STATE_WAITING,
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
static bool line_check_range(const struct message_members *members, char error[MEMBERS_ERROR])
{
    const struct {
        const char *name;
        const struct flag_value *value;
    } small[] = {{"max_retries", &members->max_retries},
                 {"attempt", &members->attempt},
                 {"retries_left", &members->retries_left}};

    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        if (small[i].value->value < 0 || small[i].value->value > 64) {
            return members_say_bad(error, small[i].name, "a number from 0 to 64");
        }
    }
    if (members->due_at.given && members->delay.given) {
        snprintf(error, MEMBERS_ERROR, "\"due_at\" and \"delay\" both say when; give one");
        return false;
    }
    return true;
}

static bool line_say(char error[MEMBERS_ERROR], const char *text)
{
    snprintf(error, MEMBERS_ERROR, "%s", text);
    return false;
}

/* What layout inline has not.  What was printed of a message with a limit is not meant. */
static bool line_check_inline(const struct message_members *members, char error[MEMBERS_ERROR])
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
static bool line_check_type(const struct message_members *members, const struct topic_facts *topic,
                            char error[MEMBERS_ERROR])
{
    const int64_t max = topic->ties == SMQ_TIES_BYTES ? WHEN_PRIORITY_BYTES : WHEN_PRIORITY_ARRIVAL;
    const int64_t priority = members->priority.value;

    if (priority != 0 && topic->type != SMQ_TYPE_PRIORITY) {
        snprintf(error, MEMBERS_ERROR, "the topic is %s: it has no \"priority\"",
                 definition_type_name(topic->type));
        return false;
    }
    if (priority < -max || priority > max) {
        snprintf(error, MEMBERS_ERROR,
                 "\"priority\" cannot be used; give a number from -%" PRId64 " to %" PRId64, max,
                 max);
        return false;
    }
    if (members->state == 0 && !line_topic_has_times(topic) &&
        (members->due_at.value != 0 || members->delay.value != 0)) {
        snprintf(error, MEMBERS_ERROR, "the topic is %s: it has no \"due_at\" and \"delay\"",
                 definition_type_name(topic->type));
        return false;
    }
    return true;
}

/* Refuses what the topic would refuse, in words of the line. */
static bool line_check_topic(const struct message_members *members,
                             const struct message_rules *rules, char error[MEMBERS_ERROR])
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

bool message_line_read(struct message_line *out, char error[MEMBERS_ERROR], const char *text,
                       size_t size, const struct message_rules *rules, int64_t now_ms)
{
    const struct topic_facts *topic = rules->topic;
    struct message_members members = {.state = 0};
    smq_message *message = &out->message;

    *out = (struct message_line){.message = rules->defaults};
    if (!members_load(&members, &out->read, error, text, size, &message_table)) {
        return false;
    }
    if (!members.body.data) {
        return line_say(error,
                        "there is no \"body\"; it may be empty in layout keyed" WITHOUT_JSON);
    }
    if (!line_check_range(&members, error) || !line_check_topic(&members, rules, error)) {
        return false;
    }
    if (topic->layout == SMQ_LAYOUT_INLINE && out->read.header_count > 0) {
        return line_say(error, "the topic has layout inline: it has no \"headers\"");
    }
    message->body = members.body;
    if (members.key.data) {
        message->key = members.key;
    }
    if (out->read.header_count > 0) {
        message->headers = out->read.headers;
        message->header_count = out->read.header_count;
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
    members_fini(&line->read);
}

size_t message_line_most(int64_t max_body)
{
    return (size_t) max_body * 6 + 65536;
}
