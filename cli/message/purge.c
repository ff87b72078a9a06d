/* purge.c - messages are deleted for ever. */
#include "cli/message/bulk.h"
#include "cli/message/message.h"
#include "cli/text/say.h"
#include "cli/verb/confirm.h"
#include "cli/verb/verb.h"

struct purge_options {
    struct bulk_filter filter;
    const char *state;
    bool yes;
};

static const struct flag purge_flags[] = {
    TEXT_FLAG("state", offsetof(struct purge_options, state), "STATE",
              "waiting, resting or dead; more than one with commas between; required"),
    BULK_MATCH(struct purge_options),
    BULK_REASON(struct purge_options),
    BULK_HEADER(struct purge_options),
    BULK_OLDER(struct purge_options, "only those that were due, or died, this long ago"),
    BULK_LIMIT(struct purge_options),
    BULK_RATE(struct purge_options),
    SWITCH_FLAG("yes", offsetof(struct purge_options, yes),
                "do not ask; needed without a terminal"),
};

static enum exit_code purge_some(smq_client *client, const struct command *command,
                                 const struct topic_facts *topic)
{
    const struct purge_options *flags = command->options;
    smq_filter filter = SMQ_FILTER_INIT;
    const enum exit_code code = message_states_read(&filter.states, flags->state);

    (void) topic;
    if (code != EXIT_DONE) {
        return code;
    }
    bulk_filter_make(&filter, &flags->filter);
    return bulk_run(client, command, &filter, smq_topic_purge, "purged");
}

static enum exit_code purge_check(const struct command *command)
{
    const struct purge_options *flags = command->options;
    unsigned states = 0;

    if (!flags->state) {
        return say_error(EXIT_USAGE,
                         "purge needs --state waiting, --state resting or --state dead");
    }
    enum exit_code code = message_states_read(&states, flags->state);
    if (code == EXIT_DONE) {
        code = bulk_check(command, &flags->filter);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    if ((states & SMQ_STATE_CLAIMED) != 0) {
        return say_error(EXIT_USAGE, "claimed messages cannot be purged: a consumer works on them");
    }
    return confirm(command, flags->yes, "Delete messages of topic %s (%s) for ever?",
                   command->words[0], flags->state);
}

const struct verb purge_verb = {
    .name = "purge",
    .operands = "NAME --state STATE",
    .summary = "delete messages for ever",
    VERB_FLAGS(purge_flags, struct purge_options),
    .min_words = 1,
    .max_words = 1,
    .check = purge_check,
    .about_topic = purge_some,
};
