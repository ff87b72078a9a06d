/* schedule_json.c - schedules as JSON. */
#include "cli/schedule/schedule_json.h"

#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/verb/headers.h"
#include "cli/verb/verb.h"

static void schedule_json_number(json_t *object, const char *name, int64_t value)
{
    output_set(object, name, value != 0 ? json_integer(value) : json_null());
}

static void schedule_json_text(json_t *object, const char *name, const char *text)
{
    output_set(object, name, text != NULL ? output_text(text) : json_null());
}

static json_t *schedule_json_message(const smq_message *message)
{
    const smq_message_info headers = {.headers = message->headers,
                                      .header_count = message->header_count};
    json_t *object = json_object();

    output_set_bytes(object, "body", message->body.data != NULL ? message->body.data : "",
                     message->body.len);
    if (message->key.data != NULL) {
        output_set_bytes(object, "key", message->key.data, message->key.len);
    } else {
        output_set(object, "key", json_null());
    }
    output_set(object, "priority", json_integer(message->priority));
    schedule_json_number(object, "ttl_ms", message->ttl_ms);
    schedule_json_number(object, "max_retries", message->max_retries);
    headers_set(object, &headers);
    return object;
}

json_t *schedule_json(const smq_schedule_info *info)
{
    const smq_schedule *schedule = info->schedule;
    json_t *object = json_object();

    output_set(object, "topic", json_string(info->topic));
    output_set_bytes(object, "id", info->id, strlen(info->id));
    schedule_json_text(object, "cron", schedule->cron);
    schedule_json_number(object, "every_ms", schedule->every_ms);
    schedule_json_text(object, "zone", schedule->zone);
    schedule_json_number(object, "start_at_ms", schedule->start_at_ms);
    schedule_json_number(object, "end_at_ms", schedule->end_at_ms);
    schedule_json_number(object, "limit", schedule->limit);
    output_set(object, "missed", json_string(smq_missed_name(schedule->missed)));
    schedule_json_number(object, "next_at_ms", info->next_at_ms);
    schedule_json_number(object, "last_at_ms", info->last_at_ms);
    output_set(object, "ticks", json_integer(info->ticks));
    output_set(object, "paused", json_boolean(info->paused));
    output_set_bytes(object, "note", info->note, strlen(info->note));
    output_set(object, "version", json_integer(info->version));
    output_set(object, "slot", json_integer(info->slot));
    if (schedule->message != NULL) {
        output_set(object, "message", schedule_json_message(schedule->message));
    }
    return object;
}

void schedule_report(const struct command *command, const char *done, const bool *window)
{
    const char *id = command->words[1];

    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "topic", json_string(command->words[0]));
        output_set_bytes(document, "id", id, strlen(id));
        output_set(document, "change", json_string(done));
        if (window) {
            output_set(document, "window", json_boolean(*window));
        }
        output_json(document);
    } else if (!command->global.quiet) {
        say("schedule %s: %s", id, done);
    }
}
