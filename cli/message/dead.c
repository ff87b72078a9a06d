/* dead.c - dead list, dead requeue, dead purge. */
#include <stdlib.h>

#include "cli/message/bulk.h"
#include "cli/message/listing.h"
#include "cli/text/say.h"
#include "cli/verb/confirm.h"
#include "cli/verb/look_flags.h"
#include "cli/verb/verb.h"

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

struct dead_listing {
    struct listing listing;
    const char *id; /* only those that have it, whatever their key is; NULL: all */
    uint64_t limit; /* 0: none */
};

static bool dead_list_visit(const smq_message_info *message, void *user)
{
    struct dead_listing *all = user;

    if (all->id && !which_has_id(all->listing.topic, message, all->id)) {
        return true;
    }
    return listing_add(message, &all->listing) && all->listing.count != all->limit;
}

static enum exit_code dead_list_letters(smq_client *client, const struct command *command,
                                        const struct topic_facts *topic)
{
    const struct dead_options *flags = command->options;
    const char *id = which_id(command, &flags->filter.which);
    smq_filter filter = SMQ_FILTER_INIT;
    smq_message_ref which;
    smq_error err;

    bulk_filter_make(&filter, &flags->filter);
    struct dead_listing all = {
        .listing = listing_begin(command, topic, true), .id = id, .limit = filter.limit};
    if (id && flags->filter.which.key) {
        which = which_named(topic, id, flags->filter.which.key);
        filter.which = &which;
    } else if (id && !filter.contains) {
        filter.contains = id;
    }
    filter.states = SMQ_STATE_DEAD;
    filter.limit = 0;
    const smq_status status =
        smq_message_each(client, command->words[0], &filter, dead_list_visit, &all, &err);
    if (status == SMQ_OK) {
        listing_end(&all.listing);
    }
    listing_drop(&all.listing);
    return status == SMQ_OK ? EXIT_DONE : say_failure(&err);
}

static enum exit_code dead_check_filter(const struct command *command)
{
    const struct dead_options *flags = command->options;

    return bulk_check(command, &flags->filter);
}

const struct verb dead_list_verb = {
    .name = "dead list",
    .operands = "NAME [ID]",
    .summary = "the dead letters of a topic, slot by slot, the oldest first",
    .text = "With ID only the dead letters of this id, in layout inline of this body, whatever "
            "their keys are.",
    VERB_FLAGS(list_flags, struct dead_options),
    .looks = true,
    .min_words = 1,
    .max_words = 2,
    .check = dead_check_filter,
    .about_topic = dead_list_letters,
};

/* === requeue ============================================================ */

#define ALL SWITCH_FLAG("all", offsetof(struct dead_options, all), "every dead letter")

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
    const bool some = bulk_selects(command, &flags->filter);

    if (!flags->all && !some) {
        return say_error(EXIT_USAGE,
                         "%s needs --all, or which: ID, --match, --reason, --reason-is, --header, "
                         "--older-than",
                         command->verb->name);
    }
    if (flags->all && some) {
        return say_error(EXIT_USAGE, "--all leaves nothing out; give it alone, or only the others");
    }
    return bulk_check(command, &flags->filter);
}

static enum exit_code dead_edit_letters(smq_client *client, const struct command *command,
                                        const struct topic_facts *topic, bulk_fn *edit,
                                        const char *done)
{
    const struct dead_options *flags = command->options;
    const char *id = which_id(command, &flags->filter.which);
    const char *key = flags->filter.which.key;
    smq_filter filter = SMQ_FILTER_INIT;
    enum exit_code code = EXIT_DONE;
    smq_message_ref which;
    char *found = NULL;

    bulk_filter_make(&filter, &flags->filter);
    filter.states = SMQ_STATE_DEAD;
    if (id && !key) {
        code = which_find_key(&found, client, command, topic, id, SMQ_STATE_DEAD);
    }
    if (id) {
        which = which_named(topic, id, key ? key : found);
        filter.which = &which;
    }
    if (code == EXIT_DONE) {
        code = bulk_run(client, command, &filter, edit, done);
    }
    free(found);
    return code;
}

static enum exit_code dead_requeue_letters(smq_client *client, const struct command *command,
                                           const struct topic_facts *topic)
{
    return dead_edit_letters(client, command, topic, smq_dead_requeue, "requeued");
}

const struct verb dead_requeue_verb = {
    .name = "dead requeue",
    .operands = "NAME [ID]",
    .summary = "make dead letters wait again, with all retries and their own time or priority",
    .text = WHICH_TEXT,
    VERB_FLAGS(requeue_flags, struct dead_options),
    .min_words = 1,
    .max_words = 2,
    .check = dead_check_selection,
    .about_topic = dead_requeue_letters,
};

/* === purge ============================================================== */

static const struct flag purge_flags[] = {
    SELECTION,
    SWITCH_FLAG("yes", offsetof(struct dead_options, yes), "do not ask; needed without a terminal"),
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
    .operands = "NAME [ID]",
    .summary = "delete dead letters for ever",
    .text = WHICH_TEXT,
    VERB_FLAGS(purge_flags, struct dead_options),
    .min_words = 1,
    .max_words = 2,
    .check = dead_check_purge,
    .about_topic = dead_purge_letters,
};
