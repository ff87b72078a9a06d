/* schedule_line.c - see schedule_line.h. */
#include "cli/schedule/schedule_line.h"

#include <stdio.h>
#include <string.h>

struct schedule_members {
    const char *topic, *id, *cron, *zone, *note;
    struct flag_value every, start, end, limit, next, last, ticks;
    int missed; /* smq_missed; 0: not given */
    bool paused;
    const json_t *message;
};

struct template_members {
    smq_bytes body, key;
    struct flag_value priority, ttl, max_retries;
};

static int schedule_missed_named(const char *name)
{
    static const smq_missed all[] = {SMQ_MISSED_ONE, SMQ_MISSED_NONE};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(name, smq_missed_name(all[i])) == 0) {
            return (int) all[i];
        }
    }
    return 0;
}

#define ROW(name_, kind_, field_)                                                                  \
    {                                                                                              \
        name_, kind_, offsetof(struct schedule_members, field_), NULL, NULL                        \
    }
#define TEMPLATE_ROW(name_, kind_, field_)                                                         \
    {                                                                                              \
        name_, kind_, offsetof(struct template_members, field_), NULL, NULL                        \
    }

static const struct member schedule_rows[] = {
    ROW("topic", MEMBER_TEXT, topic),
    ROW("id", MEMBER_TEXT, id),
    ROW("cron", MEMBER_TEXT, cron),
    ROW("every_ms", MEMBER_DURATION, every),
    ROW("zone", MEMBER_TEXT, zone),
    ROW("start_at_ms", MEMBER_TIME, start),
    ROW("end_at_ms", MEMBER_TIME, end),
    ROW("limit", MEMBER_NUMBER, limit),
    {"missed", MEMBER_NAME, offsetof(struct schedule_members, missed), schedule_missed_named,
     "\"one\" or \"none\""},
    ROW("next_at_ms", MEMBER_TIME, next),
    ROW("last_at_ms", MEMBER_TIME, last),
    ROW("ticks", MEMBER_NUMBER, ticks),
    ROW("paused", MEMBER_SWITCH, paused),
    ROW("note", MEMBER_TEXT, note),
    ROW("message", MEMBER_OBJECT, message),
    {"version", MEMBER_SHOWN, 0, NULL, NULL},
    {"slot", MEMBER_SHOWN, 0, NULL, NULL},
};

static const struct member template_rows[] = {
    TEMPLATE_ROW("body", MEMBER_BYTES, body),
    TEMPLATE_ROW("key", MEMBER_BYTES, key),
    TEMPLATE_ROW("priority", MEMBER_NUMBER, priority),
    TEMPLATE_ROW("ttl_ms", MEMBER_NUMBER, ttl),
    TEMPLATE_ROW("max_retries", MEMBER_NUMBER, max_retries),
    {"headers", MEMBER_HEADERS, 0, NULL, NULL},
};

static const struct members_table schedule_table = {
    .noun = "schedule",
    .hint = "",
    .rows = schedule_rows,
    .count = sizeof(schedule_rows) / sizeof(schedule_rows[0]),
};

static const struct members_table template_table = {
    .noun = "schedule's message",
    .hint = "",
    .rows = template_rows,
    .count = sizeof(template_rows) / sizeof(template_rows[0]),
};

static bool schedule_line_lacks(char error[MEMBERS_ERROR], const char *name)
{
    snprintf(error, MEMBERS_ERROR, "there is no \"%s\"", name);
    return false;
}

static bool schedule_line_read_message(struct schedule_line *out, char error[MEMBERS_ERROR],
                                       const json_t *object)
{
    struct template_members members = {.body = {NULL, 0}};
    const struct flag_value *retries = &members.max_retries;

    if (!members_read(&members, &out->read, error, object, &template_table)) {
        return false;
    }
    if (!members.body.data) {
        return schedule_line_lacks(error, "body");
    }
    if (retries->value < SMQ_NONE || retries->value > 64) {
        return members_say_bad(error, "max_retries", "a number from -1 (none) to 64");
    }
    out->message =
        SMQ_MESSAGE(.body = members.body, .key = members.key, .priority = members.priority.value,
                    .ttl_ms = members.ttl.value, .max_retries = (int32_t) retries->value,
                    .headers = out->read.header_count > 0 ? out->read.headers : NULL,
                    .header_count = out->read.header_count);
    return true;
}

static smq_schedule schedule_line_make(const struct schedule_members *members,
                                       const smq_message *message)
{
    return SMQ_SCHEDULE(.cron = members->cron, .every_ms = members->every.value,
                        .zone = members->zone, .start_at_ms = members->start.value,
                        .end_at_ms = members->end.value, .limit = members->limit.value,
                        .missed = (smq_missed) members->missed, .message = message);
}

bool schedule_line_read(struct schedule_line *out, char error[MEMBERS_ERROR], const char *text,
                        size_t size)
{
    struct schedule_members members = {.topic = NULL};

    *out = (struct schedule_line){.message = SMQ_MESSAGE_INIT};
    if (!members_load(&members, &out->read, error, text, size, &schedule_table)) {
        return false;
    }
    if (!members.id || !members.message) {
        return schedule_line_lacks(error, members.id ? "message" : "id");
    }
    if (!schedule_line_read_message(out, error, members.message)) {
        return false;
    }
    out->schedule = schedule_line_make(&members, &out->message);
    out->info = (smq_schedule_info){.struct_size = sizeof(out->info),
                                    .topic = members.topic,
                                    .id = members.id,
                                    .schedule = &out->schedule,
                                    .next_at_ms = members.next.value,
                                    .last_at_ms = members.last.value,
                                    .ticks = members.ticks.value,
                                    .paused = members.paused,
                                    .note = members.note};
    return true;
}

void schedule_line_fini(struct schedule_line *line)
{
    members_fini(&line->read);
}
