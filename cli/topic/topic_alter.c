/* topic_alter.c - topic alter, pause, resume: changes that consumers follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"
#include "cli/verb/option.h"
#include "cli/verb/verb.h"

/* === alter ============================================================== */

/* The options of all "KEY=VALUE", which were checked before, and "KEY,KEY". */
static enum exit_code topic_alter_read(smq_topic_options *out, char **fields,
                                       const struct command *command)
{
    size_t size = 1;
    enum exit_code code = EXIT_DONE;

    for (size_t i = 1; i < command->word_count; i++) {
        size += strlen(command->words[i]);
    }
    *fields = say_alloc(size, 1);
    for (size_t i = 1, at = 0; i < command->word_count && code == EXIT_DONE; i++) {
        const char *pair = command->words[i];

        code = option_apply_pair(out, SMQ_OPTION_SET_TOPIC, pair);
        at += (size_t) snprintf(*fields + at, size - at, "%s%.*s", at > 0 ? "," : "",
                                (int) strcspn(pair, "="), pair);
    }
    return code;
}

static enum exit_code topic_alter_options(smq_client *client, const struct command *command)
{
    const char *name = command->words[0];
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.name = name);
    char *fields = NULL;
    smq_error err;
    enum exit_code code = topic_alter_read(&options, &fields, command);

    if (code == EXIT_DONE && smq_topic_alter(client, &options, fields, &err) != SMQ_OK) {
        code = topic_say_failure(client, name, &err);
    }
    free(fields);
    return code;
}

static enum exit_code topic_alter_connected(smq_client *client, const struct command *command)
{
    const char *name = command->words[0];
    const enum exit_code code = topic_alter_options(client, command);

    if (code != EXIT_DONE) {
        return code;
    }
    if (command->global.json) {
        return topic_print_json(client, name);
    }
    if (!command->global.quiet) {
        say("topic %s is altered", name);
    }
    return EXIT_DONE;
}

static enum exit_code topic_alter_check(const struct command *command)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;
    char *fields = NULL;
    const enum exit_code code = topic_alter_read(&options, &fields, command);

    free(fields);
    return code;
}

const struct verb topic_alter_verb = {
    .name = "topic alter",
    .operands = "NAME KEY=VALUE...",
    .summary = "change options of a topic",
    .text =
        "KEY is the name of the option, as topic show prints it: max_retries=5, lease_ms=1m, "
        "ttl_ms=none. Of several all change, or none does. Consumers follow within a second. Type, "
        "layout, slots, shared and ties "
        "cannot be changed. groups=NAMES adds groups to a topic that was created with some, and "
        "drops those that are not named: a group that holds messages is only dropped by topic "
        "delete --force NAME/GROUP. A new group gets what is sent from then on. Of two such "
        "alterations at the same time one fails and changes nothing.",
    .min_words = 2,
    .max_words = SIZE_MAX,
    .check = topic_alter_check,
    .connected = topic_alter_connected,
};

/* === pause and resume =================================================== */

static void topic_alter_report_pause(const struct command *command, bool paused)
{
    const char *topic = command->words[0];

    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "topic", json_string(topic));
        output_set(document, "paused", json_boolean(paused));
        output_json(document);
    } else if (!command->global.quiet) {
        say("topic %s is %s", topic, paused ? "paused" : "resumed");
    }
}

static enum exit_code topic_alter_pause(smq_client *client, const struct command *command)
{
    smq_error err;

    if (smq_topic_pause(client, command->words[0], &err) != SMQ_OK) {
        return topic_say_failure(client, command->words[0], &err);
    }
    topic_alter_report_pause(command, true);
    return EXIT_DONE;
}

static enum exit_code topic_alter_resume(smq_client *client, const struct command *command)
{
    smq_error err;

    if (smq_topic_resume(client, command->words[0], &err) != SMQ_OK) {
        return topic_say_failure(client, command->words[0], &err);
    }
    topic_alter_report_pause(command, false);
    return EXIT_DONE;
}

const struct verb pause_verb = {
    .name = "pause",
    .operands = "NAME",
    .summary = "stop the whole fleet from claiming messages of a topic",
    .text = "The fleet stops claiming within a second. Messages that are being handled are "
            "finished, and messages can still be sent. The pause is stored in Redis and lasts "
            "until slotmq resume.",
    .min_words = 1,
    .max_words = 1,
    .connected = topic_alter_pause,
};

const struct verb resume_verb = {
    .name = "resume",
    .operands = "NAME",
    .summary = "let the fleet claim again",
    .min_words = 1,
    .max_words = 1,
    .connected = topic_alter_resume,
};
