/* dead.c - dead list, dead requeue, dead purge. */
#include <stdlib.h>

#include "bulk.h"
#include "confirm.h"
#include "listing.h"
#include "look_flags.h"
#include "say.h"
#include "verb.h"

struct dead_options {
    struct look look; /* first */
    struct bulk_filter filter;
    bool all, yes;
};

#define OLDER "only those that died this long ago"

/* === list =============================================================== */

static const struct flag list_flags[] = {
    LOOK_FLAG(NULL),
    BULK_ID(struct dead_options),
    BULK_MATCH(struct dead_options),
    BULK_REASON(struct dead_options),
    BULK_HEADER(struct dead_options),
    BULK_OLDER(struct dead_options, OLDER),
    BULK_LIMIT(struct dead_options),
};

static enum exit_code dead_list_letters(smq_client *client, const struct command *command,
                                        const struct topic_facts *topic)
{
    const struct dead_options *flags = command->options;
    struct listing listing = listing_begin(command, topic, true);
    smq_filter filter = SMQ_FILTER_INIT;
    smq_message_ref which;
    smq_error err;

    bulk_filter_make(&filter, &which, &flags->filter, topic);
    filter.states = SMQ_STATE_DEAD;
    const smq_status status =
        smq_message_each(client, command->words[0], &filter, listing_add, &listing, &err);
    if (status == SMQ_OK) {
        listing_end(&listing);
    }
    listing_drop(&listing);
    return status == SMQ_OK ? EXIT_DONE : say_failure(&err);
}

static enum exit_code dead_check_filter(const struct command *command)
{
    const struct dead_options *flags = command->options;

    return bulk_check(&flags->filter);
}

const struct verb dead_list_verb = {
    .name = "dead list",
    .operands = "NAME",
    .summary = "the dead letters of a topic, slot by slot, the oldest first",
    .flags = list_flags,
    .flag_count = sizeof(list_flags) / sizeof(list_flags[0]),
    .options_size = sizeof(struct dead_options),
    .looks = true,
    .min_words = 1,
    .max_words = 1,
    .check = dead_check_filter,
    .about_topic = dead_list_letters,
};

/* === requeue ============================================================ */

#define ALL                                                                                        \
    {                                                                                              \
        .name = "all", .type = FLAG_SWITCH, .offset = offsetof(struct dead_options, all),          \
        .help = "every dead letter"                                                                \
    }

/* Of requeue and purge. */
#define SELECTION                                                                                  \
    ALL, BULK_ID(struct dead_options), BULK_MATCH(struct dead_options),                            \
        BULK_REASON(struct dead_options), BULK_HEADER(struct dead_options),                        \
        BULK_OLDER(struct dead_options, OLDER), BULK_LIMIT(struct dead_options),                   \
        BULK_RATE(struct dead_options)

static const struct flag requeue_flags[] = {SELECTION};

/* Either all or some must be meant. */
static enum exit_code dead_check_selection(const struct command *command)
{
    const struct dead_options *flags = command->options;
    const bool some = bulk_selects(&flags->filter);

    if (!flags->all && !some) {
        return say_error(
            EXIT_USAGE,
            "%s needs --all, or which: --id, --match, --reason, --reason-is, --header, "
            "--older-than",
            command->verb->name);
    }
    if (flags->all && some) {
        return say_error(EXIT_USAGE, "--all leaves nothing out; give it alone, or only the others");
    }
    return bulk_check(&flags->filter);
}

static enum exit_code dead_edit_letters(smq_client *client, const struct command *command,
                                        const struct topic_facts *topic, bulk_fn *edit,
                                        const char *done)
{
    const struct dead_options *flags = command->options;
    smq_filter filter = SMQ_FILTER_INIT;
    smq_message_ref which;

    bulk_filter_make(&filter, &which, &flags->filter, topic);
    filter.states = SMQ_STATE_DEAD;
    return bulk_run(client, command, &filter, edit, done, "dead letter");
}

static enum exit_code dead_requeue_letters(smq_client *client, const struct command *command,
                                           const struct topic_facts *topic)
{
    return dead_edit_letters(client, command, topic, smq_dead_requeue, "requeued");
}

const struct verb dead_requeue_verb = {
    .name = "dead requeue",
    .operands = "NAME",
    .summary = "send dead letters back with all retries and their own time or priority",
    .flags = requeue_flags,
    .flag_count = sizeof(requeue_flags) / sizeof(requeue_flags[0]),
    .options_size = sizeof(struct dead_options),
    .min_words = 1,
    .max_words = 1,
    .check = dead_check_selection,
    .about_topic = dead_requeue_letters,
};

/* === purge ============================================================== */

static const struct flag purge_flags[] = {
    SELECTION,
    {.name = "yes",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct dead_options, yes),
     .help = "do not ask; needed without a terminal"},
};

static enum exit_code dead_purge_letters(smq_client *client, const struct command *command,
                                         const struct topic_facts *topic)
{
    return dead_edit_letters(client, command, topic, smq_topic_purge, "purged");
}

static enum exit_code dead_check_purge(const struct command *command)
{
    const struct dead_options *flags = command->options;
    const enum exit_code code = dead_check_selection(command);

    return code != EXIT_DONE ? code
                             : confirm(command, flags->yes, "Delete %s dead letters of topic %s?",
                                       flags->all ? "all" : "these", command->words[0]);
}

const struct verb dead_purge_verb = {
    .name = "dead purge",
    .operands = "NAME",
    .summary = "delete dead letters for ever",
    .flags = purge_flags,
    .flag_count = sizeof(purge_flags) / sizeof(purge_flags[0]),
    .options_size = sizeof(struct dead_options),
    .min_words = 1,
    .max_words = 1,
    .check = dead_check_purge,
    .about_topic = dead_purge_letters,
};
