/* message_verbs.c - get, rank, remove, reschedule: what can be asked or changed about one message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message/message.h"
#include "cli/message/when_flags.h"
#include "cli/message/which.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/table.h"
#include "cli/verb/look_flags.h"
#include "cli/verb/verb.h"

/* === get ================================================================ */

struct message_options {
    struct look look; /* first */
    struct which which;
};

static const struct flag message_flags[] = {WHICH_FLAGS(struct message_options, which)};
static const struct flag message_look_flags[] = {WHICH_FLAGS(struct message_options, which),
                                                 LOOK_FLAG(NULL)};

static enum exit_code message_check(const struct command *command)
{
    const struct message_options *flags = command->options;

    return which_check(command, &flags->which, true);
}

/* What a verb does with its message; what it says, when it is done. */
typedef smq_status message_fn(smq_client *client, const struct command *command,
                              const struct topic_facts *topic, const smq_message_ref *which,
                              smq_error *err);

/* Does it with the message that is named: where none has this id and no key, with the one that has
 * it and a key. */
static enum exit_code message_act(smq_client *client, const struct command *command,
                                  const struct topic_facts *topic, const struct which *named,
                                  message_fn *act)
{
    const unsigned all = SMQ_STATE_WAITING | SMQ_STATE_CLAIMED | SMQ_STATE_RESTING | SMQ_STATE_DEAD;
    const char *id = which_id(command, named);
    smq_message_ref which = which_named(topic, id, named->key);
    char *key = NULL;
    smq_error err;
    smq_status status = act(client, command, topic, &which, &err);

    if (status == SMQ_NO_MESSAGE && !named->key) {
        const enum exit_code code = which_find_key(&key, client, command, topic, id, all);
        if (code != EXIT_DONE) {
            return code;
        }
        which = which_named(topic, id, key);
        status = act(client, command, topic, &which, &err);
        free(key);
    }
    return status == SMQ_OK ? EXIT_DONE : say_failure(&err);
}

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
    message_add_time(table, "claimed_at", message->claimed_at_ms);
    if (message->claimed_by && message->claimed_by[0] != '\0') {
        table_pair(table, "claimed_by", message->claimed_by);
    }
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

static smq_status message_show(smq_client *client, const struct command *command,
                               const struct topic_facts *topic, const smq_message_ref *which,
                               smq_error *err)
{
    smq_message_info *message = NULL;
    const smq_status status = smq_message_get(client, command->words[0], which, &message, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (command->global.json) {
        output_json(message_info_json(message));
    } else {
        message_print(message, topic);
    }
    smq_message_info_free(message);
    return SMQ_OK;
}

static enum exit_code message_get(smq_client *client, const struct command *command,
                                  const struct topic_facts *topic)
{
    const struct message_options *flags = command->options;

    return message_act(client, command, topic, &flags->which, message_show);
}

static smq_status message_show_rank(smq_client *client, const struct command *command,
                                    const struct topic_facts *topic, const smq_message_ref *which,
                                    smq_error *err)
{
    uint64_t rank = 0;
    const smq_status status = smq_message_rank(client, command->words[0], which, &rank, err);

    (void) topic;
    if (status != SMQ_OK) {
        return status;
    }
    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "rank", json_integer((json_int_t) rank));
        output_json(document);
    } else {
        printf("%" PRIu64 "\n", rank);
    }
    return SMQ_OK;
}

static enum exit_code message_rank(smq_client *client, const struct command *command,
                                   const struct topic_facts *topic)
{
    const struct message_options *flags = command->options;

    return message_act(client, command, topic, &flags->which, message_show_rank);
}

const struct verb get_verb = {
    .name = "get",
    .operands = "NAME ID",
    .summary = "everything about one message, in whatever state",
    .text = WHICH_TEXT,
    VERB_FLAGS(message_look_flags, struct message_options),
    .looks = true,
    .min_words = 1,
    .max_words = 2,
    .check = message_check,
    .about_topic = message_get,
};

const struct verb rank_verb = {
    .name = "rank",
    .operands = "NAME ID",
    .summary = "how many waiting messages come before one",
    .text =
        "Counted are the messages of the topic with a strictly better time or priority, and "
        "those before it in its own slot; in a fifo topic only those in its own slot. " WHICH_TEXT,
    VERB_FLAGS(message_look_flags, struct message_options),
    .looks = true,
    .min_words = 1,
    .max_words = 2,
    .check = message_check,
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

static smq_status message_remove_one(smq_client *client, const struct command *command,
                                     const struct topic_facts *topic, const smq_message_ref *which,
                                     smq_error *err)
{
    const smq_status status = smq_message_remove(client, command->words[0], which, err);

    (void) topic;
    if (status == SMQ_OK) {
        message_report_done(command, "removed");
    }
    return status;
}

static enum exit_code message_remove(smq_client *client, const struct command *command,
                                     const struct topic_facts *topic)
{
    const struct message_options *flags = command->options;

    return message_act(client, command, topic, &flags->which, message_remove_one);
}

const struct verb remove_verb = {
    .name = "remove",
    .operands = "NAME ID",
    .summary = "remove one message, unless it is claimed",
    .text = "A message that a consumer works on is not removed (exit code 75). " WHICH_TEXT,
    VERB_FLAGS(message_flags, struct message_options),
    .min_words = 1,
    .max_words = 2,
    .check = message_check,
    .about_topic = message_remove,
};

/* === reschedule ========================================================= */

struct reschedule_options {
    struct which which;
    struct when when;
};

static const struct flag reschedule_flags[] = {
    WHICH_FLAGS(struct reschedule_options, which),
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

static smq_status message_move(smq_client *client, const struct command *command,
                               const struct topic_facts *topic, const smq_message_ref *which,
                               smq_error *err)
{
    const struct reschedule_options *flags = command->options;
    smq_message place = SMQ_MESSAGE_INIT;

    when_apply(&place, &flags->when);
    if (topic->type == SMQ_TYPE_PRIORITY) {
        const smq_status status =
            message_keep_place(&place, client, command->words[0], which, &flags->when, err);
        if (status != SMQ_OK) {
            return status;
        }
    }
    const smq_status status = smq_message_reschedule(client, command->words[0], which, &place, err);
    if (status == SMQ_OK) {
        message_report_done(command, "rescheduled");
    }
    return status;
}

static enum exit_code message_reschedule(smq_client *client, const struct command *command,
                                         const struct topic_facts *topic)
{
    const struct reschedule_options *flags = command->options;
    const enum exit_code code = when_check(&flags->when, command->words[0], topic);

    return code == EXIT_DONE ? message_act(client, command, topic, &flags->which, message_move)
                             : code;
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
    return which_check(command, &flags->which, true);
}

const struct verb reschedule_verb = {
    .name = "reschedule",
    .operands = "NAME ID",
    .summary = "give a waiting message another time or priority",
    .text = "A message that a consumer works on is not changed (exit code 75). In a priority topic "
            "the priority or the time that no flag gives stays as it is. " WHICH_TEXT,
    VERB_FLAGS(reschedule_flags, struct reschedule_options),
    .init = message_reschedule_init,
    .min_words = 1,
    .max_words = 2,
    .check = message_check_reschedule,
    .about_topic = message_reschedule,
};
