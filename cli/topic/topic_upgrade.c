/* topic_upgrade.c - topic upgrade: a topic gets the newest format, or the one before it again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"
#include "cli/verb/verb.h"

enum { UPGRADE_FORMAT = 5, UPGRADE_FORMAT_BEFORE = 4 };

struct upgrade_options {
    bool back, dry_run, force;
};

static const struct flag upgrade_flags[] = {
    SWITCH_FLAG("back", offsetof(struct upgrade_options, back),
                "to format 4, which versions before 0.3.0 read"),
    SWITCH_FLAG("dry-run", offsetof(struct upgrade_options, dry_run),
                "say what would be done, and change nothing"),
    SWITCH_FLAG("force", offsetof(struct upgrade_options, force),
                "do not look for processes of versions before 0.3.0"),
};

static int32_t upgrade_target(const struct upgrade_options *options)
{
    return options->back ? UPGRADE_FORMAT_BEFORE : UPGRADE_FORMAT;
}

static enum exit_code upgrade_alter(smq_client *client, const char *topic, int32_t format,
                                    int32_t whole_max)
{
    const smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.name = topic, .format = format, .whole_max = whole_max);
    smq_error err;

    return smq_topic_alter(client, &options, "format,whole_max", &err) == SMQ_OK
               ? EXIT_DONE
               : topic_say_failure(client, topic, &err);
}

/* === forth =============================================================== */

static enum exit_code upgrade_check_older(smq_client *client, const char *topic)
{
    smq_topic_older older = SMQ_TOPIC_OLDER_INIT;
    smq_error err;

    if (smq_topic_find_older(client, topic, &older, &err) != SMQ_OK) {
        return topic_say_failure(client, topic, &err);
    }
    if (older.members > 0 || older.senders > 0) {
        return say_error(EXIT_NOT_DONE,
                         "topic %s is used by %" PRIu64 " consumers and %" PRIu64
                         " producers of versions before 0.3.0, which refuse format %d: update them "
                         "first (a producer is forgotten after 10 minutes), or give --force",
                         topic, older.members, older.senders, UPGRADE_FORMAT);
    }
    return EXIT_DONE;
}

/* === back ================================================================ */

static bool upgrade_count_whole(const smq_message_info *message, void *user)
{
    uint64_t *count = user;

    *count += message->whole ? 1 : 0;
    return true;
}

static enum exit_code upgrade_check_part(smq_client *client, const char *part, uint64_t *count)
{
    const smq_filter filter =
        SMQ_FILTER(.states = SMQ_STATE_WAITING | SMQ_STATE_CLAIMED | SMQ_STATE_RESTING);
    smq_error err;

    return smq_message_each(client, part, &filter, upgrade_count_whole, count, &err) == SMQ_OK
               ? EXIT_DONE
               : topic_say_failure(client, part, &err);
}

/* The topic itself, or each of its groups. */
static enum exit_code upgrade_check_whole(smq_client *client, const smq_topic_info *topic)
{
    const char *groups = topic->options->groups;
    enum exit_code code = EXIT_DONE;
    uint64_t count = 0;

    if (groups == NULL) {
        code = upgrade_check_part(client, topic->name, &count);
    }
    for (size_t len; groups != NULL && *groups != '\0' && code == EXIT_DONE;
         groups += len + (groups[len] == ',' ? 1 : 0)) {
        char part[SMQ_TEXT_SIZE];

        len = strcspn(groups, ",");
        (void) snprintf(part, sizeof(part), "%s/%.*s", topic->name, (int) len, groups);
        code = upgrade_check_part(client, part, &count);
    }
    if (code == EXIT_DONE && count > 0) {
        return say_error(EXIT_NOT_DONE,
                         "%" PRIu64
                         " messages of topic %s are stored as format %d stores them, and "
                         "new ones are not any more: run this again when they are handled",
                         count, topic->name, UPGRADE_FORMAT);
    }
    return code;
}

/* === the verb ============================================================ */

static enum exit_code upgrade_apply(smq_client *client, const struct upgrade_options *options,
                                    const smq_topic_info *topic)
{
    enum exit_code code = EXIT_DONE;

    if (!options->back) {
        code = options->force ? EXIT_DONE : upgrade_check_older(client, topic->name);
        return code == EXIT_DONE && !options->dry_run
                   ? upgrade_alter(client, topic->name, UPGRADE_FORMAT, topic->options->whole_max)
                   : code;
    }
    if (!options->dry_run) {
        code = upgrade_alter(client, topic->name, UPGRADE_FORMAT, SMQ_NONE);
    }
    if (code == EXIT_DONE) {
        code = upgrade_check_whole(client, topic);
    }
    return code == EXIT_DONE && !options->dry_run
               ? upgrade_alter(client, topic->name, UPGRADE_FORMAT_BEFORE, 0)
               : code;
}

static void upgrade_report(const struct command *command, const char *topic, bool is_there)
{
    const struct upgrade_options *options = command->options;
    const int32_t format = upgrade_target(options);

    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "topic", json_string(topic));
        output_set(document, "format", json_integer(format));
        output_set(document, "changed", json_boolean(!is_there && !options->dry_run));
        output_json(document);
    } else if (!command->global.quiet) {
        say(is_there           ? "topic %s has format %d"
            : options->dry_run ? "topic %s can get format %d"
                               : "topic %s has format %d now",
            topic, format);
    }
}

static enum exit_code upgrade_connected(smq_client *client, const struct command *command)
{
    const struct upgrade_options *options = command->options;
    const char *name = command->words[0];
    smq_topic_info *topic = NULL;
    enum exit_code code = EXIT_DONE;
    smq_error err;
    bool is_there;

    if (smq_topic_get(client, name, &topic, &err) != SMQ_OK) {
        return topic_say_failure(client, name, &err);
    }
    is_there = topic->options->format == upgrade_target(options);
    if (!is_there) {
        code = upgrade_apply(client, options, topic);
    }
    if (code == EXIT_DONE) {
        upgrade_report(command, name, is_there);
    }
    smq_topic_info_free(topic);
    return code;
}

const struct verb topic_upgrade_verb = {
    .name = "topic upgrade",
    .operands = "NAME",
    .summary = "store new messages of a topic in the newest format, or in the one before it",
    .text =
        "In format 5 a message without an id of its own, which is due at once and has at most "
        "whole_max bytes, is one entry of a sorted set, as cheap as one of a stream. What is "
        "stored stays as it is, and consumers and producers follow without a stop. Versions "
        "before 0.3.0 refuse the topic from then on, so the command refuses while it sees one: a "
        "member of the fleet of --zookeeper, or a producer that has sent within ten minutes. "
        "Consumers of shared topics cannot be seen. "
        "--back stores new messages as format 4 does, and so the bodies of those that wait; when "
        "no message is stored in format 5 any more, which it says, versions before 0.3.0 can use "
        "the topic again.",
    VERB_FLAGS(upgrade_flags, struct upgrade_options),
    .min_words = 1,
    .max_words = 1,
    .connected = upgrade_connected,
};
