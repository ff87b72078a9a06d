/* work.c - what is in work now: since when, and at which process. */
#include <stdlib.h>

#include "cli/stat/stat_fleet.h"
#include "cli/stat/work_table.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/verb/look_flags.h"
#include "cli/verb/verb.h"

struct work_options {
    struct look look; /* first */
};

static const struct flag work_flags[] = {LOOK_FLAG(NULL)};

static void work_print(const struct command *command, const struct stat_topics *topics)
{
    size_t count = 0;
    struct work_row *rows = work_rows(&count, topics);

    if (command->global.json) {
        json_t *document = json_object();

        output_set(document, "work", work_json(rows, count));
        output_json(document);
    } else {
        table_print(work_table(rows, count));
    }
    free(rows);
}

static enum exit_code work_connected(smq_client *client, const struct command *command)
{
    const bool named = command->word_count > 0;
    struct stat_topics topics = {.count = 0};
    smq_error err;
    char *names = named ? stat_read_names(client, command, &err) : NULL;

    if ((named && !names) ||
        stat_read(&topics, client, names, STAT_SLOTS_IN_WORK, &err) != SMQ_OK) {
        free(names);
        return say_failure(&err);
    }
    const enum exit_code code = stat_read_say_left_out(client, &topics, named);
    stat_fleet_mark_or_say(&topics, client);
    work_print(command, &topics);
    stat_read_free(&topics);
    free(names);
    return code;
}

const struct verb work_verb = {
    .name = "work",
    .operands = "[NAME...]",
    .summary = "what is in work: since when, and at which process",
    .text =
        "One line for each slot that has messages in work, the longest first: how long the "
        "oldest of them has been in work, at least; at which process; how many others are "
        "claimed there; and its attempt, key and id. Consumers write these with each renewal "
        "of a lease, so of a message that was claimed a moment ago only the age is known. A "
        "message is stalled when its lease has ended: its process died or hangs; and its member is "
        "gone when ZooKeeper, named with -z, does not have it any more.",
    .flags = work_flags,
    .flag_count = sizeof(work_flags) / sizeof(work_flags[0]),
    .options_size = sizeof(struct work_options),
    .looks = true,
    .max_words = SIZE_MAX,
    .connected = work_connected,
};
