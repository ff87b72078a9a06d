/* peek.c - messages are shown without being claimed. */
#include <inttypes.h>

#include "cli/message/listing.h"
#include "cli/message/message.h"
#include "cli/message/reason_flags.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/signals.h"
#include "cli/verb/headers.h"
#include "cli/verb/look_flags.h"

struct peek_options {
    struct look look; /* first */
    const char *state, *match, *cursor;
    struct reason_flags reason;
    struct flag_value limit;
    struct headers headers;
};

#define PEEK(member) offsetof(struct peek_options, member)

static const struct flag peek_flags[] = {
    LOOK_FLAG(NULL),
    TEXT_FLAG("state", PEEK(state), "STATE",
              "waiting (default), claimed, resting or dead; more than one with commas between"),
    TEXT_FLAG("match", PEEK(match), "TEXT", "only those with TEXT in body, key or id"),
    REASON_FLAGS(PEEK(reason)),
    HEADERS_SELECT(PEEK(headers)),
    {.name = "limit",
     .type = FLAG_NUMBER,
     .offset = PEEK(limit),
     .operand = "N",
     .min = "1",
     .fallback = "100",
     .help = "at most N; with --json: all"},
    TEXT_FLAG("cursor", PEEK(cursor), "CURSOR",
              "continue where the peek that showed this cursor ended"),
};

/* JSON is for programs, which take all. */
static uint64_t peek_limit(const struct command *command)
{
    const struct peek_options *flags = command->options;

    return !flags->limit.given && command->global.json ? 0 : (uint64_t) flags->limit.value;
}

/* Prints what was not printed yet, and how to see more. */
static enum exit_code peek_end(struct listing *listing, const struct command *command)
{
    const uint64_t limit = peek_limit(command);

    listing_end(listing);
    const enum exit_code code = output_finish();
    if (code != EXIT_DONE || output_is_unread()) {
        return code;
    }
    if (signals_came() && listing->count == 0) {
        return say_error(EXIT_INTERRUPTED, "interrupted before the first message");
    }
    if (signals_came()) {
        return say_error(EXIT_INTERRUPTED,
                         "interrupted after %" PRIu64 "; to continue: --cursor %s", listing->count,
                         listing->cursor);
    }
    if (limit > 0 && listing->count >= limit && !command->global.quiet) {
        say("there may be more: --cursor %s", listing->cursor);
    }
    return EXIT_DONE;
}

static enum exit_code peek_topic(smq_client *client, const struct command *command,
                                 const struct topic_facts *topic)
{
    const struct peek_options *flags = command->options;
    struct listing listing = listing_begin(command, topic, false);
    smq_filter filter = SMQ_FILTER_INIT;
    smq_error err;

    filter.contains = flags->match;
    reason_flags_apply(&filter, &flags->reason);
    filter.cursor = flags->cursor;
    filter.limit = peek_limit(command);
    filter.header = headers_selected(&flags->headers);
    if (flags->state) {
        (void) message_states_read(&filter.states, flags->state); /* checked by peek_check() */
    }
    signals_catch();
    const smq_status status =
        smq_message_each(client, command->words[0], &filter, listing_add, &listing, &err);
    const enum exit_code code = status == SMQ_OK ? peek_end(&listing, command) : say_failure(&err);
    listing_drop(&listing);
    return code;
}

static enum exit_code peek_check(const struct command *command)
{
    const struct peek_options *flags = command->options;
    unsigned states = 0;
    enum exit_code code = reason_flags_check(&flags->reason);

    if (code == EXIT_DONE) {
        code = headers_check_one(&flags->headers);
    }
    return code == EXIT_DONE && flags->state ? message_states_read(&states, flags->state) : code;
}

const struct verb peek_verb = {
    .name = "peek",
    .operands = "NAME",
    .summary = "show messages without claiming them",
    .text =
        "Messages are shown slot by slot, in each slot in the order of consumption. This is "
        "not a snapshot: a message that moves while the command runs may be missed or shown "
        "twice. With --json each message is a line, which slotmq send --json takes, and all are "
        "shown unless --limit is given.",
    VERB_FLAGS(peek_flags, struct peek_options),
    .looks = true,
    .min_words = 1,
    .max_words = 1,
    .check = peek_check,
    .about_topic = peek_topic,
};
