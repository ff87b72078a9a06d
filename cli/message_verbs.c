/* message_verbs.c - get, rank, remove, reschedule: what can be asked or changed about one message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look_flags.h"
#include "message.h"
#include "output.h"
#include "say.h"
#include "table.h"
#include "verb.h"
#include "when_flags.h"

/* === get ================================================================ */

struct message_options {
    struct look look; /* first */
    const char *key;
};

#define KEY(struct_)                                                                               \
    {                                                                                              \
        .name = "key", .type = FLAG_TEXT, .offset = offsetof(struct_, key), .operand = "KEY",      \
        .help = "the key it was sent with; default: none"                                          \
    }

static const struct flag message_flags[] = {KEY(struct message_options)};
static const struct flag message_look_flags[] = {KEY(struct message_options), LOOK_FLAG(NULL)};

static void message_add_bytes(struct table *table, const char *name, const void *bytes, size_t size)
{
    if (bytes) {
        table_row_bytes(table, (const struct table_cell[]){{name, strlen(name)}, {bytes, size}}, 2);
    }
}

static void message_add_number(struct table *table, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    table_pair(table, name, text);
}

/* A time that is not set has no row. */
static void message_add_time(struct table *table, const char *name, int64_t at_ms)
{
    char text[40];

    if (at_ms != 0) {
        output_time(text, sizeof(text), at_ms);
        table_pair(table, name, text);
    }
}

static void message_add_header(struct table *table, const smq_header *header)
{
    char name[SMQ_HEADERS_BYTES_MAX + sizeof("header ")];

    snprintf(name, sizeof(name), "header %s", header->name);
    message_add_bytes(table, name, header->value.data, header->value.len);
}

/* "2026-11-28T12:00:00Z timed_out", "... retried: REASON" */
static void message_add_try(struct table *table, const smq_try *item)
{
    char at[40] = "at an unknown time", text[SMQ_REASON_MAX + 80];

    if (item->at_ms != 0) {
        output_time(at, sizeof(at), item->at_ms);
    }
    snprintf(text, sizeof(text), "%s %s%s%s", at, smq_try_how_name(item->how),
             item->reason[0] != '\0' ? ": " : "", item->reason);
    table_pair(table, "try", text);
}

static void message_print(const smq_message_info *message, const struct topic_facts *topic)
{
    static const struct table_column columns[] = {
        {.title = "", .weight = 1}, {.title = "", .narrow = TABLE_OPEN, .weight = 2, .least = 20}};
    struct table *table = table_new(columns, 2);

    table_pair(table, "state", smq_state_name(message->state));
    message_add_number(table, "slot", message->slot);
    message_add_bytes(table, "key", message->key.data, message->key.len);
    if (topic->layout == SMQ_LAYOUT_KEYED) {
        message_add_bytes(table, "id", message->id.data, message->id.len);
    }
    if (topic->type == SMQ_TYPE_PRIORITY) {
        message_add_number(table, "priority", message->priority);
    }
    message_add_time(table, "due_at", message->due_at_ms);
    message_add_time(table, "sent_at", message->sent_at_ms);
    message_add_time(table, "expires_at", message->expires_at_ms);
    message_add_time(table, "lease_at", message->lease_at_ms);
    message_add_time(table, "dead_at", message->dead_at_ms);
    message_add_number(table, "attempt", message->attempt);
    message_add_number(table, "retries_left", message->retries_left);
    if (message->reason && message->reason[0] != '\0') {
        table_pair(table, "reason", message->reason);
    }
    for (size_t i = 0; i < message->try_count; i++) {
        message_add_try(table, &message->tries[i]);
    }
    for (size_t i = 0; i < message->header_count; i++) {
        message_add_header(table, &message->headers[i]);
    }
    message_add_bytes(table, "body", message->body.data, message->body.len);
    table_print(table);
}

static enum exit_code message_get(smq_client *client, const struct command *command,
                                  const struct topic_facts *topic)
{
    const struct message_options *flags = command->options;
    const smq_message_ref which = message_named(topic, command->words[1], flags->key);
    smq_message_info *message = NULL;
    smq_error err;

    if (smq_message_get(client, command->words[0], &which, &message, &err) != SMQ_OK) {
        return message_say_failure(&err, flags->key);
    }
    if (command->global.json) {
        output_json(message_info_json(message));
    } else {
        message_print(message, topic);
    }
    smq_message_info_free(message);
    return EXIT_DONE;
}

static enum exit_code message_rank(smq_client *client, const struct command *command,
                                   const struct topic_facts *topic)
{
    const struct message_options *flags = command->options;
    const smq_message_ref which = message_named(topic, command->words[1], flags->key);
    uint64_t rank = 0;
    smq_error err;

    if (smq_message_rank(client, command->words[0], &which, &rank, &err) != SMQ_OK) {
        return message_say_failure(&err, flags->key);
    }
    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "rank", json_integer((json_int_t) rank));
        output_json(document);
    } else {
        printf("%" PRIu64 "\n", rank);
    }
    return EXIT_DONE;
}

const struct verb get_verb = {
    .name = "get",
    .operands = "NAME ID",
    .summary = "everything about one message, in whatever state",
    .text = "ID is the id of the message; in layout inline it is the body. If the message was sent "
            "with a key, give --key, too.",
    .flags = message_look_flags,
    .flag_count = sizeof(message_look_flags) / sizeof(message_look_flags[0]),
    .options_size = sizeof(struct message_options),
    .looks = true,
    .min_words = 2,
    .max_words = 2,
    .about_topic = message_get,
};

const struct verb rank_verb = {
    .name = "rank",
    .operands = "NAME ID",
    .summary = "how many waiting messages come before one",
    .text = "Counted are the messages of the topic with a strictly better time or priority, and "
            "those before it in its own slot; in a fifo topic only those in its own slot. ID is "
            "the id of the message; in layout inline it is the body.",
    .flags = message_look_flags,
    .flag_count = sizeof(message_look_flags) / sizeof(message_look_flags[0]),
    .options_size = sizeof(struct message_options),
    .looks = true,
    .min_words = 2,
    .max_words = 2,
    .about_topic = message_rank,
};

/* === Changes ============================================================ */

/* "DONE" as a word, or {"DONE":1}. */
static void message_report_done(const struct command *command, const char *done)
{
    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, done, json_integer(1));
        output_json(document);
    } else if (!command->global.quiet) {
        say("%s 1", done);
    }
}

/* === remove ============================================================= */

static enum exit_code message_remove(smq_client *client, const struct command *command,
                                     const struct topic_facts *topic)
{
    const struct message_options *flags = command->options;
    const smq_message_ref which = message_named(topic, command->words[1], flags->key);
    smq_error err;

    if (smq_message_remove(client, command->words[0], &which, &err) != SMQ_OK) {
        return message_say_failure(&err, flags->key);
    }
    message_report_done(command, "removed");
    return EXIT_DONE;
}

const struct verb remove_verb = {
    .name = "remove",
    .operands = "NAME ID",
    .summary = "remove one message, unless it is claimed",
    .text = "ID is the id of the message; in layout inline it is the body. A message that a "
            "consumer works on is not removed (exit code 75).",
    .flags = message_flags,
    .flag_count = sizeof(message_flags) / sizeof(message_flags[0]),
    .options_size = sizeof(struct message_options),
    .min_words = 2,
    .max_words = 2,
    .about_topic = message_remove,
};

/* === reschedule ========================================================= */

struct reschedule_options {
    const char *key;
    struct when when;
};

static const struct flag reschedule_flags[] = {
    KEY(struct reschedule_options),
    WHEN_FLAGS(struct reschedule_options),
};

static void message_reschedule_init(void *options)
{
    when_init(&((struct reschedule_options *) options)->when);
}

/* In a priority topic a flag that is not given leaves the priority, or the time, as it is. */
static smq_status message_keep_place(smq_message *place, smq_client *client, const char *topic,
                                     const smq_message_ref *which, const struct when *when,
                                     smq_error *err)
{
    const bool timed = when->at.given || when->own.delay_ms != 0;
    smq_message_info *message = NULL;
    smq_status status = SMQ_OK;

    if (!timed || !when->priority.given) {
        status = smq_message_get(client, topic, which, &message, err);
    }
    if (message && !when->priority.given) {
        place->priority = message->priority;
    }
    if (message && !timed && message->due_at_ms > 0) {
        place->delay_ms = 0;
        place->due_at_ms = message->due_at_ms;
    }
    smq_message_info_free(message);
    return status;
}

static enum exit_code message_reschedule(smq_client *client, const struct command *command,
                                         const struct topic_facts *topic)
{
    const struct reschedule_options *flags = command->options;
    const smq_message_ref which = message_named(topic, command->words[1], flags->key);
    smq_message place = SMQ_MESSAGE_INIT;
    const enum exit_code code = when_check(&flags->when, command->words[0], topic);
    smq_error err;

    if (code != EXIT_DONE) {
        return code;
    }
    when_apply(&place, &flags->when);
    if ((topic->type == SMQ_TYPE_PRIORITY &&
         message_keep_place(&place, client, command->words[0], &which, &flags->when, &err) !=
             SMQ_OK) ||
        smq_message_reschedule(client, command->words[0], &which, &place, &err) != SMQ_OK) {
        return message_say_failure(&err, flags->key);
    }
    message_report_done(command, "rescheduled");
    return EXIT_DONE;
}

static enum exit_code message_check_reschedule(const struct command *command)
{
    const struct reschedule_options *flags = command->options;
    const struct when *when = &flags->when;

    if ((when->own.delay_ms != 0) + when->at.given > 1) {
        return say_error(EXIT_USAGE, "reschedule needs one of --delay and --at, not both");
    }
    if (when->own.delay_ms == 0 && !when->at.given && !when->priority.given) {
        return say_error(EXIT_USAGE, "reschedule needs one of --delay, --at and --priority");
    }
    return EXIT_DONE;
}

const struct verb reschedule_verb = {
    .name = "reschedule",
    .operands = "NAME ID",
    .summary = "give a waiting message another time or priority",
    .text = "ID is the id of the message; in layout inline it is the body. A message that a "
            "consumer works on is not changed (exit code 75). In a priority topic the priority or "
            "the time that no flag gives stays as it is.",
    .flags = reschedule_flags,
    .flag_count = sizeof(reschedule_flags) / sizeof(reschedule_flags[0]),
    .options_size = sizeof(struct reschedule_options),
    .init = message_reschedule_init,
    .min_words = 2,
    .max_words = 2,
    .check = message_check_reschedule,
    .about_topic = message_reschedule,
};
