/* topic_create.c - topic create, topic delete. */
#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"
#include "cli/verb/confirm.h"
#include "cli/verb/verb.h"

/* === create ============================================================= */

struct create_options {
    smq_topic_options topic;
};

#define TOPIC_FLAG(flag, field, what)                                                              \
    {.name = (flag),                                                                               \
     .type = FLAG_OPTION,                                                                          \
     .offset = offsetof(struct create_options, topic),                                             \
     .set = SMQ_OPTION_SET_TOPIC,                                                                  \
     .option = (field),                                                                            \
     .operand = (what)},

static const struct flag create_flags[] = {
#include "cli/topic/topic_flags.h"
};

static void topic_create_init(void *options)
{
    *(struct create_options *) options = (struct create_options){.topic = SMQ_TOPIC_OPTIONS_INIT};
}

static enum exit_code topic_create_connected(smq_client *client, const struct command *command)
{
    const struct create_options *flags = command->options;
    smq_topic_options topic = flags->topic;
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    topic.name = command->words[0];
    if (smq_topic_create(client, &topic, &report, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    if (command->global.json) {
        return topic_print_json(client, topic.name);
    }
    if (!command->global.quiet) {
        say("topic %s is ready%s%s", topic.name, report.text[0] != '\0' ? ": " : "", report.text);
    }
    return EXIT_DONE;
}

const struct verb topic_create_verb = {
    .name = "topic create",
    .operands = "NAME",
    .summary = "create a topic, or find that it exists",
    .text =
        "Without a type the topic is a job queue: each send is a message of its own, due at once "
        "or when it says, with an id that the library makes (fixed_time, keyed). A waiting message "
        "takes some 350 bytes of Redis and its body. Other types are chosen by name:\n\n"
        "range_merge   a message is due after a delay; when it is sent again while it waits, the "
        "first time stays\n"
        "priority      the largest priority comes first, of the messages that are due; when a "
        "message is sent again, the last priority and time win\n"
        "fixed_time    a message is due at a given time; when it is "
        "sent again, the last time wins\n"
        "fifo          messages of a key come in the order of "
        "their sends; when one is sent again, it keeps its place\n\n"
        "NAME consists of letters, "
        "digits, dots, underscores and hyphens, at most 120 bytes. If the topic exists with other "
        "options that cannot be altered, the error names the difference (exit code 73). Options "
        "that may be altered are left as they are, and the command says so. A topic of which Redis "
        "has lost a part is repaired, as by topic repair.\n\n"
        "With --groups each of these groups gets every message that is sent to NAME, and has "
        "consumers, retries, dead letters and a pause of its own. Send to NAME; consume, count and "
        "edit NAME/GROUP. Only a topic that was created with groups can get others.",
    VERB_FLAGS(create_flags, struct create_options),
    .init = topic_create_init,
    .min_words = 1,
    .max_words = 1,
    .connected = topic_create_connected,
};

/* === delete ============================================================= */

struct delete_options {
    bool force;
    bool yes;
};

static const struct flag delete_flags[] = {
    SWITCH_FLAG("force", offsetof(struct delete_options, force),
                "also when it holds messages: they are lost"),
    SWITCH_FLAG("yes", offsetof(struct delete_options, yes),
                "do not ask; with --force needed without a terminal"),
};

static enum exit_code topic_delete_connected(smq_client *client, const struct command *command)
{
    const struct delete_options *flags = command->options;
    const char *name = command->words[0];
    smq_error err;
    const smq_status status = smq_topic_delete(client, name, flags->force, &err);

    if (status == SMQ_NOT_EMPTY) {
        return say_error(exit_code_of(status), "%.*s; consume them, or give --force",
                         (int) strcspn(err.text, ";"), err.text);
    }
    if (status != SMQ_OK) {
        return topic_say_failure(client, name, &err);
    }
    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "deleted", json_string(name));
        output_json(document);
    } else if (!command->global.quiet) {
        say("topic %s is deleted", name);
    }
    return EXIT_DONE;
}

static enum exit_code topic_delete_check(const struct command *command)
{
    const struct delete_options *flags = command->options;

    return confirm(command, flags->yes || !flags->force, "Delete topic %s with all its messages?",
                   command->words[0]);
}

const struct verb topic_delete_verb = {
    .name = "topic delete",
    .operands = "NAME",
    .summary = "delete an empty topic, or any by force",
    .text = "NAME/GROUP drops a group from its topic. It gets no more messages; the last group "
            "cannot be dropped.",
    VERB_FLAGS(delete_flags, struct delete_options),
    .min_words = 1,
    .max_words = 1,
    .check = topic_delete_check,
    .connected = topic_delete_connected,
};
