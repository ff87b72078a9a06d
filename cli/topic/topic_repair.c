/* topic_repair.c - topic repair. */
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"
#include "cli/verb/verb.h"

struct topic_repair_options {
    bool all;
};

static const struct flag topic_repair_flags[] = {
    SWITCH_FLAG("all", offsetof(struct topic_repair_options, all),
                "look at all keys of Redis, make the list of topics anew, and repair each topic"),
};

static void topic_repair_print_json(const char *topic, const smq_topic_report *report)
{
    json_t *document = json_object();

    output_set(document, "topic", json_string(topic));
    output_set(document, "repaired", json_boolean(report->repaired));
    output_set(document, "restored", json_boolean(report->restored));
    output_set(document, "lost_alteration", json_boolean(report->lost_alteration));
    output_set(document, "slots_reopened", json_integer(report->slots_reopened));
    output_set(document, "adopted", json_integer((json_int_t) report->adopted));
    output_set(document, "text", json_string(report->text));
    output_json(document);
}

static enum exit_code topic_repair_connected(smq_client *client, const struct command *command)
{
    const struct topic_repair_options *options = command->options;
    const char *topic = options->all ? "*" : command->words[0];
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    if (smq_topic_repair(client, topic, &report, &err) != SMQ_OK) {
        return topic_say_failure(client, topic, &err);
    }
    const char *const mark = report.text[0] != '\0' ? "; " : "";
    if (command->global.json) {
        topic_repair_print_json(topic, &report);
    } else if (!command->global.quiet && options->all) {
        say(report.repaired ? "repaired%s%s" : "all topics are whole: nothing to repair%s%s",
            report.repaired ? ": " : mark, report.text);
    } else if (!command->global.quiet) {
        say(report.repaired ? "topic %s is repaired%s%s"
                            : "topic %s is whole: nothing to repair%s%s",
            topic, report.repaired ? ": " : mark, report.text);
    }
    if (!command->global.json && !command->global.quiet && report.slots_reopened > 0) {
        say("schedules of slots that had lost their keys are lost, too: slotmq schedule put brings "
            "them back from a backup");
    }
    return EXIT_DONE;
}

static enum exit_code topic_repair_check(const struct command *command)
{
    const struct topic_repair_options *options = command->options;

    if (options->all == (command->word_count > 0)) {
        return say_error(EXIT_USAGE, "name one topic, or give --all");
    }
    return EXIT_DONE;
}

const struct verb topic_repair_verb = {
    .name = "topic repair",
    .operands = "[NAME]",
    .summary = "restore what Redis has lost of a topic, or of all",
    .text =
        "This restores what is missing after a Redis node returned empty, or after a failover "
        "lost the last writes: keys of slots, the definition of the topic, an alteration, a pause, "
        "its name in the list of all topics. "
        "Existing messages stay, and consumers continue by themselves. The messages of slots that "
        "lost their keys are gone. If slots disagree, they are listed, and nothing is changed. "
        "With --all, what deleted topics have left is removed, also from ZooKeeper.",
    VERB_FLAGS(topic_repair_flags, struct topic_repair_options),
    .max_words = 1,
    .check = topic_repair_check,
    .connected = topic_repair_connected,
};
