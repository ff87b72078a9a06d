/* stat.c - what topics hold and have done. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/gauges.h"
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
    {.name = "slots",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct stat_options, slots),
     .help = "each slot with its owner and token"},
    {.name = "prometheus",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct stat_options, prometheus),
     .help = "as Prometheus text; docs/METRICS.md"},
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

static void stat_append(json_t *array, json_t *object)
{
    if (json_array_append_new(array, object) != 0) {
        say_no_memory();
    }
}

/* A member of "topics". */
static json_t *stat_topic_json(const struct stat_topic *topic, bool slots)
{
    json_t *object = json_object();
    json_t *array = slots ? json_array() : NULL;

    const bool exclusive = topic->kind.known && !topic->kind.shared;

    output_set(object, "topic", json_string(topic->name));
    output_set(object, "type",
               topic->kind.known ? json_string(definition_type_name(topic->kind.type))
                                 : json_null());
    output_set(object, "owners",
               exclusive ? json_integer((json_int_t) topic->owner_count) : json_null());
    output_set(object, "slots_unowned",
               exclusive ? json_integer((json_int_t) topic->unowned) : json_null());
    gauges_json_all(object, &topic->stats);
    gauges_json_left_out(object, &topic->stats);
    for (size_t i = 0; i < topic->slot_count; i++) {
        stat_append(array, stat_slot_json(&topic->slots[i]));
    }
    if (slots) {
        output_set(object, "slots", array);
    }
    return object;
}

static void stat_print_json(const struct stat_topic *topics, size_t count, bool slots)
{
    json_t *document = json_object();
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++) {
        if (topics[i].err.status == SMQ_OK) {
            stat_append(array, stat_topic_json(&topics[i], slots));
        }
    }
    output_set(document, "topics", array);
    output_json(document);
}

/* === Topics ============================================================= */

/* Names what is left out: topics that cannot be read, slots that are damaged or do not answer.  A
 * topic that was deleted in the meantime is none of them, unless it was `named`. */
static enum exit_code stat_say_left_out(smq_client *client, struct stat_topic *topics, size_t count,
                                        bool named)
{
    enum exit_code code = EXIT_DONE;

    for (size_t i = 0; i < count; i++) {
        smq_error *err = &topics[i].err;

        if (err->status == SMQ_OK) {
            code = exit_code_both(code, stat_read_say_faults(&topics[i]));
        } else if (err->status != SMQ_NO_TOPIC || named) {
            (void) topic_say_failure(client, topics[i].name, err);
            code = exit_code_both(code, exit_code_left_out(err->status));
        }
    }
    return code;
}

/* With `all`, a topic that cannot be read is left out; else that is a failure. */
static enum exit_code stat_topics(smq_client *client, const struct command *command,
                                  const struct topic_names *names, bool all)
{
    const struct stat_options *flags = command->options;
    struct stat_topic *topics = stat_read(client, names, flags->slots);
    enum exit_code code = EXIT_DONE;

    if (!all && topics[0].err.status != SMQ_OK) {
        code = topic_say_failure(client, topics[0].name, &topics[0].err);
    } else {
        code = stat_say_left_out(client, topics, names->count, command->word_count > 0);
        if (command->global.json) {
            stat_print_json(topics, names->count, flags->slots);
        } else {
            table_print(stat_table(topics, names->count, flags->slots));
        }
    }
    stat_read_free(topics, names->count);
    return code;
}

/* The topics that are named, each with a line for each of its groups. */
static smq_status stat_read_names(struct topic_names *out, smq_client *client,
                                  const struct command *command, smq_error *err)
{
    *out = (struct topic_names){.count = 0};
    for (size_t i = 0; i < command->word_count; i++) {
        struct topic_names one;
        const smq_status status = topic_names_read_one(&one, client, command->words[i], err);

        if (status != SMQ_OK) {
            (void) topic_explain(client, command->words[i], err);
            topic_names_fini(out);
            return status;
        }
        for (size_t j = 0; j < one.count; j++) {
            topic_names_add(out, one.name[j], one.kind[j]);
        }
        topic_names_fini(&one);
    }
    return SMQ_OK;
}

static enum exit_code stat_named(smq_client *client, const struct command *command)
{
    struct topic_names names;
    smq_error err;

    if (stat_read_names(&names, client, command, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    const enum exit_code code = stat_topics(client, command, &names, names.count > 1);
    topic_names_fini(&names);
    return code;
}

static enum exit_code stat_all(smq_client *client, const struct command *command)
{
    struct topic_names names;
    smq_error err;

    if (topic_names_read(&names, client, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    const enum exit_code said = topic_say_unreadable(&names);
    if (names.count == 0 && said == EXIT_DONE) {
        topic_say_none(command);
    }
    const enum exit_code printed = stat_topics(client, command, &names, true);
    topic_say_unlisted(names.unlisted);
    topic_names_fini(&names);
    return exit_code_both(said, printed);
}

/* === Prometheus ========================================================= */

/* The family that has a line for each topic, also for those of which nothing else is known. */
#define FAMILY_UNREADABLE "slotmq_topic_unreadable"

/* Has the topic a number other than 0 in this family? */
static bool stat_text_has(const char *text, const char *family, const char *topic)
{
    char line[256];

    snprintf(line, sizeof(line), "\n%s{topic=\"%s\"} ", family, topic);
    const char *found = strstr(text, line);
    return found && strtoull(found + strlen(line), NULL, 10) != 0;
}

static bool stat_text_is_partial(const char *text, const char *topic)
{
    static const char *const families[] = {FAMILY_UNREADABLE, "slotmq_topic_slots_damaged",
                                           "slotmq_topic_slots_silent"};

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (stat_text_has(text, families[i], topic)) {
            return true;
        }
    }
    return false;
}

/* The topics of which the text lacks something, as it does not say why. */
static struct topic_names stat_text_partial(const char *text)
{
    static const char begins[] = "\n" FAMILY_UNREADABLE "{topic=\"";
    struct topic_names names = {.count = 0};

    for (const char *line = text; (line = strstr(line, begins)) != NULL;) {
        line += strlen(begins);
        const size_t length = strcspn(line, "\"");
        char *name = say_alloc(length + 1, 1);
        memcpy(name, line, length);
        if (stat_text_is_partial(text, name)) {
            topic_names_add(&names, name, (struct topic_kind){.known = false});
        }
        free(name);
    }
    return names;
}

/* The names of the topics that are named, or of their groups, with commas between them; "*": all
 * topics.  NULL: they cannot be read. */
static char *stat_wanted(smq_client *client, const struct command *command, smq_error *err)
{
    struct topic_names names;
    size_t size = 2;

    if (stat_read_names(&names, client, command, err) != SMQ_OK) {
        return NULL;
    }
    for (size_t i = 0; i < names.count; i++) {
        size += strlen(names.name[i]) + 1;
    }
    char *wanted = say_alloc(size, 1);
    size_t length = (size_t) snprintf(wanted, size, "%s", names.count > 0 ? "" : "*");
    for (size_t i = 0; i < names.count; i++) {
        length += (size_t) snprintf(wanted + length, size - length, "%s%s", i > 0 ? "," : "",
                                    names.name[i]);
    }
    topic_names_fini(&names);
    return wanted;
}

/* Says which of the topics that were named is the reason. */
static enum exit_code stat_say_failure(smq_client *client, const struct command *command,
                                       const smq_error *err)
{
    struct topic_facts ignored;

    for (size_t i = 0; i < command->word_count && err->status == SMQ_NO_TOPIC; i++) {
        const enum exit_code code = topic_look_up(&ignored, client, command->words[i]);
        if (code != EXIT_DONE) {
            return code;
        }
    }
    return say_failure(err);
}

static enum exit_code stat_prometheus(smq_client *client, const struct command *command)
{
    smq_error err;
    char *wanted = stat_wanted(client, command, &err);
    char *text = NULL;

    if (!wanted) {
        return say_failure(&err);
    }
    const smq_status status = smq_metrics_text(client, wanted, &text, &err);
    free(wanted);
    if (status != SMQ_OK) {
        return stat_say_failure(client, command, &err);
    }
    /* the numbers of this process, which come first, say nothing of the topics */
    const char *found = strstr(text, "# HELP slotmq_topic_");
    if (found) {
        fputs(found, stdout);
    }
    struct topic_names partial = stat_text_partial(text);
    struct stat_topic *topics = stat_read(client, &partial, false);
    const enum exit_code code = stat_say_left_out(client, topics, partial.count, false);
    stat_read_free(topics, partial.count);
    topic_names_fini(&partial);
    smq_free(text);
    return code;
}

/* ======================================================================== */

static enum exit_code stat_connected(smq_client *client, const struct command *command)
{
    const struct stat_options *flags = command->options;

    if (flags->prometheus) {
        return stat_prometheus(client, command);
    }
    return command->word_count > 0 ? stat_named(client, command) : stat_all(client, command);
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
    .flags = stat_flags,
    .flag_count = sizeof(stat_flags) / sizeof(stat_flags[0]),
    .options_size = sizeof(struct stat_options),
    .looks = true,
    .max_words = SIZE_MAX,
    .check = stat_check,
    .connected = stat_connected,
};
