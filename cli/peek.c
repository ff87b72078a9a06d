/* peek.c - messages are shown without being claimed. */
#include "connect.h"
#include "listing.h"
#include "message.h"
#include "output.h"
#include "say.h"

struct peek_options {
    const char *state, *match, *reason, *cursor;
    struct flag_value limit;
};

#define PEEK(member) offsetof(struct peek_options, member)

static const struct flag peek_flags[] = {
    {.name = "state",
     .type = FLAG_TEXT,
     .offset = PEEK(state),
     .operand = "STATE",
     .help = "waiting (default), claimed, resting or dead; more than one with commas between"},
    {.name = "match",
     .type = FLAG_TEXT,
     .offset = PEEK(match),
     .operand = "TEXT",
     .help = "only those with TEXT in body, key or id"},
    {.name = "reason",
     .type = FLAG_TEXT,
     .offset = PEEK(reason),
     .operand = "TEXT",
     .help = "only those that failed last with TEXT in the reason"},
    {.name = "limit",
     .type = FLAG_NUMBER,
     .offset = PEEK(limit),
     .operand = "N",
     .min = "1",
     .fallback = "100",
     .help = "at most N"},
    {.name = "cursor",
     .type = FLAG_TEXT,
     .offset = PEEK(cursor),
     .operand = "CURSOR",
     .help = "continue where the peek that showed this cursor ended"},
};

static enum exit_code peek_print(smq_client *client, const struct command *command,
                                 const struct topic_facts *topic, const smq_filter *filter)
{
    struct listing listing = listing_begin(command, topic, false);
    smq_error err;
    const smq_status status =
        smq_message_each(client, command->words[0], filter, listing_add, &listing, &err);
    enum exit_code code = EXIT_DONE;

    if (status == SMQ_OK) {
        const bool more = listing.count >= filter->limit;
        listing_end(&listing, more);
        code = output_finish();
        if (code == EXIT_DONE && more && !command->global.json && !command->global.quiet) {
            say("there may be more: --cursor %s", listing.cursor);
        }
    } else {
        code = say_failure(&err);
    }
    listing_drop(&listing);
    return code;
}

static enum exit_code peek_run(const struct command *command)
{
    const struct peek_options *flags = command->options;
    smq_filter filter = SMQ_FILTER_INIT;
    struct topic_facts topic = {0};
    smq_client *client = NULL;
    enum exit_code code = EXIT_DONE;

    filter.contains = flags->match;
    filter.reason = flags->reason;
    filter.cursor = flags->cursor;
    filter.limit = (uint64_t) flags->limit.value;
    if (flags->state) {
        code = message_states_read(&filter.states, flags->state);
    }
    if (code == EXIT_DONE) {
        code = connect_client(&client, command);
    }
    if (code == EXIT_DONE) {
        code = topic_look_up(&topic, client, command->words[0]);
    }
    if (code == EXIT_DONE) {
        code = peek_print(client, command, &topic, &filter);
    }
    smq_client_free(client);
    return code;
}

const struct verb peek_verb = {
    .name = "peek",
    .operands = "NAME",
    .summary = "show messages without claiming them",
    .text = "Messages are shown slot by slot, in each slot in the order of consumption. This is "
            "not a snapshot: a message that moves while the command runs may be missed or shown "
            "twice. With --json the output is {\"messages\":[...],\"cursor\":\"...\"}; the cursor "
            "is empty at the end.",
    .flags = peek_flags,
    .flag_count = sizeof(peek_flags) / sizeof(peek_flags[0]),
    .options_size = sizeof(struct peek_options),
    .min_words = 1,
    .max_words = 1,
    .run = peek_run,
};
