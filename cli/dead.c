/* dead.c - dead list, dead requeue. */
#include <inttypes.h>

#include "bulk.h"
#include "command.h"
#include "listing.h"
#include "output.h"
#include "say.h"

struct dead_options {
    struct bulk_filter filter;
};

#define OLDER "only those that died so long ago"

/* === list =============================================================== */

static const struct flag list_flags[] = {
    BULK_ID(struct dead_options),     BULK_MATCH(struct dead_options),
    BULK_REASON(struct dead_options), BULK_OLDER(struct dead_options, OLDER),
    BULK_LIMIT(struct dead_options),
};

static enum exit_code list_letters(smq_client *client, const struct command *command,
                                   const struct topic_facts *topic)
{
    const struct dead_options *flags = command->options;
    struct listing listing = listing_begin(command, topic, true);
    smq_filter filter = SMQ_FILTER_INIT;
    smq_message which;
    smq_error err;

    bulk_filter_make(&filter, &which, &flags->filter, topic);
    filter.states = SMQ_DEAD;
    if (smq_message_each(client, command->words[0], &filter, listing_add, &listing, &err) !=
        SMQ_OK) {
        listing_drop(&listing);
        return say_failure(&err);
    }
    listing_end(&listing, false);
    return EXIT_DONE;
}

static enum exit_code list_run(const struct command *command)
{
    const struct dead_options *flags = command->options;
    const enum exit_code code = bulk_check(&flags->filter);

    return code == EXIT_DONE ? topic_run(command, list_letters) : code;
}

const struct verb dead_list_verb = {
    .name = "dead list",
    .operands = "NAME",
    .summary = "the dead letters of a topic, slot by slot, the oldest first",
    .flags = list_flags,
    .flag_count = sizeof(list_flags) / sizeof(list_flags[0]),
    .options_size = sizeof(struct dead_options),
    .min_words = 1,
    .max_words = 1,
    .run = list_run,
};

/* === requeue ============================================================ */

struct requeue_options {
    bool all;
};

static const struct flag requeue_flags[] = {
    {.name = "all",
     .type = FLAG_SWITCH,
     .offset = offsetof(struct requeue_options, all),
     .help = "every dead letter; required"},
};

static enum exit_code requeue_run(const struct command *command)
{
    const struct requeue_options *flags = command->options;
    smq_client *client = NULL;
    uint64_t count = 0;
    smq_error err;

    if (!flags->all) {
        return say_error(EXIT_USAGE, "dead requeue needs --all");
    }
    enum exit_code code = command_connect(&client, command);
    if (code != EXIT_DONE) {
        return code;
    }
    if (smq_dead_requeue(&count, client, command->words[0], NULL, NULL, NULL, &err) != SMQ_OK) {
        code = count == 0 ? say_failure(&err)
                          : say_error(EXIT_NOT_DONE, "%s; requeued %" PRIu64 " before that",
                                      err.text, count);
    } else if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "requeued", json_integer((json_int_t) count));
        output_json(document);
    } else if (!command->global.quiet) {
        say("requeued %" PRIu64, count);
    }
    smq_client_free(client);
    return code;
}

const struct verb dead_requeue_verb = {
    .name = "dead requeue",
    .operands = "NAME --all",
    .summary = "send dead letters back with all retries and their own time or priority",
    .flags = requeue_flags,
    .flag_count = sizeof(requeue_flags) / sizeof(requeue_flags[0]),
    .options_size = sizeof(struct requeue_options),
    .min_words = 1,
    .max_words = 1,
    .run = requeue_run,
};
