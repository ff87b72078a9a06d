/* topic_alter.c - topic alter, pause, resume: changes that consumers follow. */
#include <stdio.h>
#include <string.h>

#include "connect.h"
#include "option.h"
#include "output.h"
#include "say.h"
#include "topic.h"

/* === alter ============================================================== */

/* Sets the option of "KEY=VALUE". */
static enum exit_code topic_alter_alter_topic(smq_client *client, const char *name,
                                              const char *pair)
{
    const char *equals = strchr(pair, '=');
    char option[64];
    smq_error err;

    snprintf(option, sizeof(option), "%.*s", (int) (equals - pair), pair);
    if (smq_topic_alter(client, name, option, equals + 1, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    return EXIT_DONE;
}

static enum exit_code topic_alter_alter_run(const struct command *command)
{
    smq_topic_options scratch = SMQ_TOPIC_OPTIONS_INIT;
    const char *name = command->words[0];
    smq_client *client = NULL;
    enum exit_code code = option_apply_pair(&scratch, SMQ_OPTION_SET_TOPIC, command->words[1]);

    if (code == EXIT_DONE) {
        code = connect_client(&client, command);
    }
    if (code == EXIT_DONE) {
        code = topic_alter_alter_topic(client, name, command->words[1]);
    }
    if (code == EXIT_DONE && command->global.json) {
        code = topic_print_json(client, name);
    } else if (code == EXIT_DONE && !command->global.quiet) {
        say("topic %s is altered", name);
    }
    smq_client_free(client);
    return code;
}

const struct verb topic_alter_verb = {
    .name = "topic alter",
    .operands = "NAME KEY=VALUE",
    .summary = "change an option of a topic",
    .text = "KEY is the name of the option, as topic show prints it: max_retries=5, lease_ms=1m, "
            "ttl_ms=none. Consumers follow within a second. Type, layout, slots, shared and ties "
            "cannot be changed.",
    .min_words = 2,
    .max_words = 2,
    .run = topic_alter_alter_run,
};

/* === pause and resume =================================================== */

typedef smq_status pause_fn(smq_client *client, const char *topic, smq_error *err);

static enum exit_code topic_alter_set_paused(const struct command *command, pause_fn *set,
                                             bool paused)
{
    const char *topic = command->words[0];
    smq_client *client = NULL;
    smq_error err;
    enum exit_code code = connect_client(&client, command);

    if (code == EXIT_DONE && set(client, topic, &err) != SMQ_OK) {
        code = say_failure(&err);
    } else if (code == EXIT_DONE && command->global.json) {
        json_t *document = json_object();
        output_set(document, "topic", json_string(topic));
        output_set(document, "paused", json_boolean(paused));
        output_json(document);
    } else if (code == EXIT_DONE && !command->global.quiet) {
        say("topic %s is %s", topic, paused ? "paused" : "resumed");
    }
    smq_client_free(client);
    return code;
}

static enum exit_code topic_alter_pause_run(const struct command *command)
{
    return topic_alter_set_paused(command, smq_topic_pause, true);
}

static enum exit_code topic_alter_resume_run(const struct command *command)
{
    return topic_alter_set_paused(command, smq_topic_resume, false);
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
    .run = topic_alter_pause_run,
};

const struct verb resume_verb = {
    .name = "resume",
    .operands = "NAME",
    .summary = "let the fleet claim again",
    .min_words = 1,
    .max_words = 1,
    .run = topic_alter_resume_run,
};
