/* stat.c - what topics hold and have done. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/stat/gauges.h"
#include "cli/stat/stat_fleet.h"
#include "cli/stat/stat_read.h"
#include "cli/stat/stat_table.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/definition.h"
#include "cli/verb/look_flags.h"
#include "cli/verb/verb.h"

struct stat_options {
    struct look look; /* first */
    bool slots;
    bool prometheus;
};

static const struct flag stat_flags[] = {
    LOOK_FLAG(NULL),
    SWITCH_FLAG("slots", offsetof(struct stat_options, slots),
                "each slot with its owner and token"),
    SWITCH_FLAG("prometheus", offsetof(struct stat_options, prometheus),
                "as Prometheus text; docs/METRICS.md"),
};

/* === JSON =============================================================== */

static json_t *stat_slot_json(const struct stat_slot *slot)
{
    json_t *object = json_object();

    output_set(object, "slot", json_integer(slot->number));
    output_set(object, "owner", json_string(slot->owner));
    output_set(object, "token", json_string(slot->token));
    gauges_json_all(object, &slot->stats);
    return object;
}

/* A member of "topics". */
static json_t *stat_topic_json(const struct stat_topic *topic, bool slots)
{
    const smq_survey_topic *row = &topic->row;
    json_t *object = json_object();
    json_t *array = slots ? json_array() : NULL;

    output_set(object, "topic", json_string(row->topic));
    output_set(object, "type",
               topic->defined ? json_string(definition_type_name(topic->type)) : json_null());
    output_set(object, "owners",
               row->has_owners ? json_integer((json_int_t) row->owners) : json_null());
    output_set(object, "slots_unowned",
               row->has_owners ? json_integer((json_int_t) row->slots_unowned) : json_null());
    gauges_json_all(object, &row->stats);
    gauges_json_left_out(object, &row->stats);
    for (size_t i = 0; slots && i < topic->slot_count; i++) {
        output_append(array, stat_slot_json(&topic->slots[i]));
    }
    if (slots) {
        output_set(object, "slots", array);
    }
    return object;
}

static void stat_print_json(const struct stat_topics *topics, bool slots)
{
    json_t *document = json_object();
    json_t *array = json_array();

    for (size_t i = 0; i < topics->count; i++) {
        if (topics->all[i].err.status == SMQ_OK) {
            output_append(array, stat_topic_json(&topics->all[i], slots));
        }
    }
    output_set(document, "topics", array);
    output_json(document);
}

/* === Topics ============================================================= */

static enum exit_code stat_print_topics(smq_client *client, const struct command *command,
                                        struct stat_topics *topics)
{
    const struct stat_options *flags = command->options;
    const enum exit_code code = stat_read_say_left_out(client, topics, command->word_count > 0);

    stat_fleet_mark_or_say(topics, client);
    if (command->global.json) {
        stat_print_json(topics, flags->slots);
    } else {
        table_print(stat_table(topics->all, topics->count, flags->slots));
    }
    return code;
}

static enum exit_code stat_topics(smq_client *client, const struct command *command)
{
    const bool named = command->word_count > 0;
    struct stat_topics topics = {.count = 0};
    smq_error err;
    char *names = named ? stat_read_names(client, command, &err) : NULL;
    enum exit_code code;

    if ((named && !names) || stat_read(&topics, client, names, STAT_SLOTS_ALL, &err) != SMQ_OK) {
        code = say_failure(&err);
    } else if (named && topics.count == 1 && topics.all[0].err.status != SMQ_OK) {
        code = topic_say_failure(client, topics.all[0].row.topic, &topics.all[0].err);
    } else {
        if (topics.count == 0) {
            topic_say_none(command);
        }
        code = stat_print_topics(client, command, &topics);
        topic_say_unlisted(named ? 0 : topics.unlisted);
    }
    stat_read_free(&topics);
    free(names);
    return code;
}

/* === Prometheus ========================================================= */

static void stat_print_text(const struct stat_topics *topics)
{
    smq_survey_topic *rows = say_alloc(topics->count, sizeof(*rows));
    char *text = NULL;

    for (size_t i = 0; i < topics->count; i++) {
        rows[i] = topics->all[i].row;
    }
    smq_survey_text(rows, topics->count, &text);
    fputs(text, stdout);
    smq_free(text);
    free(rows);
}

/* The first topic that was named and cannot be read; NULL: there is none. */
static struct stat_topic *stat_first_failure(const struct stat_topics *topics)
{
    for (size_t i = 0; i < topics->count; i++) {
        if (topics->all[i].err.status != SMQ_OK) {
            return &topics->all[i];
        }
    }
    return NULL;
}

static enum exit_code stat_prometheus(smq_client *client, const struct command *command)
{
    const bool named = command->word_count > 0;
    struct stat_topics topics = {.count = 0};
    smq_error err;
    char *names = named ? stat_read_names(client, command, &err) : NULL;
    enum exit_code code;

    if ((named && !names) || stat_read(&topics, client, names, STAT_SLOTS_ALL, &err) != SMQ_OK) {
        free(names);
        return say_failure(&err);
    }
    struct stat_topic *failed = named ? stat_first_failure(&topics) : NULL;
    if (failed) {
        code = topic_say_failure(client, failed->row.topic, &failed->err);
    } else {
        stat_fleet_mark_or_say(&topics, client);
        stat_print_text(&topics);
        code = stat_read_say_left_out(client, &topics, false);
    }
    stat_read_free(&topics);
    free(names);
    return code;
}

/* ======================================================================== */

static enum exit_code stat_connected(smq_client *client, const struct command *command)
{
    const struct stat_options *flags = command->options;

    return flags->prometheus ? stat_prometheus(client, command) : stat_topics(client, command);
}

static enum exit_code stat_check(const struct command *command)
{
    const struct stat_options *flags = command->options;

    if (flags->prometheus && (flags->slots || command->global.json)) {
        return say_error(EXIT_USAGE, "--prometheus has a form of its own; give it without %s",
                         flags->slots ? "--slots" : "--json");
    }
    return EXIT_DONE;
}

const struct verb stat_verb = {
    .name = "stat",
    .operands = "[NAME...]",
    .summary = "what topics hold and have done",
    .text = "Now:      messages that are waiting (due: those of them that may be claimed), "
            "claimed, resting after a failure, or dead; and the lag, for how long the message "
            "that comes first could have been handled, which is not known for type priority in "
            "layout inline.\n"
            "In all:   messages that were "
            "sent (added, not merged), merged, done, retried, rejected, expired or released, and "
            "claims that lost their lease.\n"
            "A terminal that is not wide enough shows the columns that matter most; a pipe and "
            "--json have all.",
    VERB_FLAGS(stat_flags, struct stat_options),
    .looks = true,
    .max_words = SIZE_MAX,
    .check = stat_check,
    .connected = stat_connected,
};
