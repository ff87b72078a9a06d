/* topic_alter.c - topic alter, pause, resume: changes that consumers follow. */
#include <stdio.h>
#include <string.h>

#include "option.h"
#include "output.h"
#include "say.h"
#include "topic.h"
#include "verb.h"

/* === alter ============================================================== */

/* Sets the option of "KEY=VALUE", which was checked before. */
static enum exit_code topic_alter_option(smq_client *client, const char *name, const char *pair)
{
    const char *equals = strchr(pair, '=');
    char option[64];
    smq_error err;

    snprintf(option, sizeof(option), "%.*s", (int) (equals - pair), pair);
    if (smq_topic_alter(client, name, option, equals + 1, &err) != SMQ_OK) {
        return topic_say_failure(client, name, &err);
    }
    return EXIT_DONE;
}

static enum exit_code topic_alter_connected(smq_client *client, const struct command *command)
{
    const char *name = command->words[0];
    const enum exit_code code = topic_alter_option(client, name, command->words[1]);

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
    smq_topic_options scratch = SMQ_TOPIC_OPTIONS_INIT;

    return option_apply_pair(&scratch, SMQ_OPTION_SET_TOPIC, command->words[1]);
}

const struct verb topic_alter_verb = {
    .name = "topic alter",
    .operands = "NAME KEY=VALUE",
    .summary = "change an option of a topic",
    .text =
        "KEY is the name of the option, as topic show prints it: max_retries=5, lease_ms=1m, "
        "ttl_ms=none. Consumers follow within a second. Type, layout, slots, shared and ties "
        "cannot be changed. groups=NAMES adds groups to a topic that was created with some, and "
        "drops those that are not named: a group that holds messages is only dropped by topic "
        "delete --force NAME/GROUP. A new group gets what is sent from then on. Of two such "
        "alterations at the same time one fails and changes nothing.",
    .min_words = 2,
    .max_words = 2,
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
