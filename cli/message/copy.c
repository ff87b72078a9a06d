/* copy.c - the messages of a topic are stored in another topic too, there or in another cluster;
 * then its schedules are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message/message.h"
#include "cli/message/message_line.h"
#include "cli/message/tally.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/signals.h"
#include "cli/verb/connect.h"
#include "cli/verb/headers.h"
#include "cli/verb/progress.h"

/* After this many the command waits for all receipts; then it can continue behind the last. */
enum { COPY_BATCH = 1000 };

struct copy_options {
    const char *to_redis, *state, *match, *cursor;
    struct flag_value limit;
    struct headers headers;
    bool messages_only;
};

#define COPY(member) offsetof(struct copy_options, member)

static const struct flag copy_flags[] = {
    TEXT_FLAG("to-redis", COPY(to_redis), "REDIS",
              "the cluster of TO, as --redis says that of NAME; default the same"),
    TEXT_FLAG("state", COPY(state), "STATE",
              "waiting, claimed, resting or dead, more than one with commas between; default "
              "waiting,resting"),
    TEXT_FLAG("match", COPY(match), "TEXT", "only those with TEXT in body, key or id"),
    HEADERS_SELECT(COPY(headers)),
    NUMBER_FLAG("limit", COPY(limit), "at most N; default all"),
    TEXT_FLAG("cursor", COPY(cursor), "CURSOR",
              "continue where the copy that showed this cursor ended"),
    SWITCH_FLAG("messages-only", COPY(messages_only),
                "leave out the schedules; as --match, --header and --limit do"),
};

/* One run of the verb. */
struct copy {
    const struct command *command;
    const char *to; /* the name of the target */
    smq_client *from, *into;
    uint64_t schedules; /* that were copied */
    struct topic_facts to_facts;
    smq_producer *producer; /* of the target */
    struct progress progress;
    uint64_t total;          /* about as many there are; 0: not known */
    uint64_t count;          /* messages that were given to the producer */
    char *seen;              /* cursor of the last of them, "" at first; owned */
    char *stored;            /* the same of those that have their receipts; owned */
    char *batch[COPY_BATCH]; /* cursors of those behind `stored`, which may lack them; owned */
    struct tally tally;
};

static void copy_keep(char **cursor, const char *text)
{
    char *copy = say_copy(text);

    free(*cursor);
    *cursor = copy;
}

/* Waits for the receipts of all so far. */
static void copy_settle(struct copy *copy)
{
    tally_flush(&copy->tally, copy->producer);
    if (!tally_has_failed(&copy->tally)) {
        copy_keep(&copy->stored, copy->seen);
    }
}

/* How to continue; nothing was stored for certain: anew. */
static const char *copy_cursor(const struct copy *copy)
{
    return copy->stored[0] != '\0' ? copy->stored : "''";
}

static bool copy_message(const smq_message_info *info, void *user)
{
    struct copy *copy = user;
    const smq_message_copy message = message_restored(info, &copy->to_facts);

    if (signals_came()) {
        return false;
    }
    copy->count++;
    tally_restore(&copy->tally, copy->count, copy->producer, copy->to, &message);
    copy_keep(&copy->seen, info->cursor);
    copy_keep(&copy->batch[(copy->count - 1) % COPY_BATCH], info->cursor);
    if (copy->count % COPY_BATCH == 0) {
        copy_settle(copy);
    }
    progress_show(&copy->progress, copy->count, copy->total, copy->count);
    return !tally_has_failed(&copy->tally);
}

/* === Schedules ========================================================== */

static bool copy_schedule(const smq_schedule_info *listed, void *user)
{
    struct copy *copy = user;
    smq_schedule_info *info = NULL;
    smq_error err;
    smq_status status;

    if (signals_came()) {
        return false;
    }
    status = smq_schedule_get(copy->from, listed->topic, listed->id, &info, &err);
    if (status == SMQ_OK) {
        status = smq_schedule_restore(copy->into, copy->to, info, NULL, &err);
        copy->schedules += status == SMQ_OK;
    }
    smq_schedule_info_free(info);
    if (status != SMQ_OK && status != SMQ_NO_SCHEDULE) {
        copy->tally.code =
            say_error(exit_code_of(status), "schedule %s: %s; to continue: --cursor %s", listed->id,
                      say_text(&err), copy_cursor(copy));
    }
    return copy->tally.code == EXIT_DONE;
}

static bool copy_has_schedules(const struct copy_options *flags)
{
    return !flags->messages_only && !flags->match && flags->headers.count == 0 &&
           !flags->limit.given;
}

/* === The end ============================================================ */

/* All before the message that failed first are stored, so the copy continues at it; one that can
 * never be stored is to be left out. */
static enum exit_code copy_report_failure(const struct copy *copy, const char *counts)
{
    const struct tally *tally = &copy->tally;
    const bool known = tally->number >= 1 && tally->number <= copy->count;

    if (!known) {
        return say_error(tally->code, "topic %s: %s; %s; to continue: --cursor %s", copy->to,
                         tally->text, counts, copy_cursor(copy));
    }
    const size_t at = (size_t) ((tally->number - 1) % COPY_BATCH);
    const char *before = at > 0 ? copy->batch[at - 1] : copy_cursor(copy);
    return say_error(tally->code,
                     "topic %s: message %" PRIu64 ": %s; %s; to continue: --cursor %s; behind it: "
                     "--cursor %s",
                     copy->to, tally->number, tally->text, counts, before, copy->batch[at]);
}

/* `status`: how the visit of the source ended. */
static enum exit_code copy_report(struct copy *copy, smq_status status, const smq_error *err)
{
    const struct tally *tally = &copy->tally;
    char counts[TALLY_COUNTS_SIZE];

    tally_counts(counts, tally, "copied");
    if (copy->schedules > 0) {
        const size_t length = strlen(counts);
        snprintf(counts + length, sizeof(counts) - length, " schedules %" PRIu64, copy->schedules);
    }
    if (tally->code != EXIT_DONE) {
        return copy_report_failure(copy, counts);
    }
    if (status != SMQ_OK) {
        return say_error(exit_code_of(status), "%s; %s; to continue: --cursor %s", say_text(err),
                         counts, copy_cursor(copy));
    }
    if (signals_came()) {
        return say_error(EXIT_INTERRUPTED, "interrupted; %s; to continue: --cursor %s", counts,
                         copy_cursor(copy));
    }
    if (copy->command->global.json) {
        json_t *document = json_object();
        output_set(document, "copied", json_integer((json_int_t) tally->sent));
        output_set(document, "merged", json_integer((json_int_t) tally->merged));
        output_set(document, "duplicates", json_integer((json_int_t) tally->duplicates));
        output_set(document, "schedules", json_integer((json_int_t) copy->schedules));
        output_set(document, "cursor", json_string(copy->stored));
        output_json(document);
    } else if (tally->duplicates > 0) {
        return tally_say_duplicates(tally, counts);
    } else if (!copy->command->global.quiet) {
        say("%s", counts);
    }
    return tally_code(tally);
}

/* === The verb =========================================================== */

static unsigned copy_states(const struct copy_options *flags)
{
    unsigned states = SMQ_STATE_WAITING | SMQ_STATE_RESTING;

    if (flags->state) {
        (void) message_states_read(&states, flags->state); /* checked by copy_check() */
    }
    return states;
}

/* About how many messages there are in these states; 0: not known. */
static uint64_t copy_total(smq_client *client, const char *topic, unsigned states)
{
    smq_stats stats = SMQ_STATS_INIT;
    smq_error err;

    if (smq_topic_stats(client, topic, &stats, &err) != SMQ_OK) {
        return 0;
    }
    return ((states & SMQ_STATE_WAITING) != 0 ? stats.waiting : 0) +
           ((states & SMQ_STATE_CLAIMED) != 0 ? stats.claimed : 0) +
           ((states & SMQ_STATE_RESTING) != 0 ? stats.resting : 0) +
           ((states & SMQ_STATE_DEAD) != 0 ? stats.dead : 0);
}

static enum exit_code copy_all(struct copy *copy, smq_client *from)
{
    const struct copy_options *flags = copy->command->options;
    const char *topic = copy->command->words[0];
    smq_filter filter = SMQ_FILTER_INIT;
    smq_error err;

    filter.states = copy_states(flags);
    filter.contains = flags->match;
    filter.header = headers_selected(&flags->headers);
    filter.limit = (uint64_t) flags->limit.value;
    filter.cursor = flags->cursor;
    signals_catch();
    copy->total = copy_total(from, topic, filter.states);
    copy->progress = progress_begin(copy->command, "copied");
    smq_status status = smq_message_each(from, topic, &filter, copy_message, copy, &err);
    copy_settle(copy);
    progress_end(&copy->progress);
    if (status == SMQ_OK && copy->tally.code == EXIT_DONE && copy_has_schedules(flags)) {
        status = smq_schedule_each(from, topic, copy_schedule, copy, &err);
        if (copy->tally.code != EXIT_DONE) {
            return copy->tally.code; /* it was said */
        }
    }
    return copy_report(copy, status, &err);
}

static enum exit_code copy_between(struct copy *copy, smq_client *from, smq_client *to,
                                   const struct topic_facts *from_facts)
{
    const struct copy_options *flags = copy->command->options;
    smq_producer_options options = SMQ_PRODUCER_OPTIONS_INIT;
    enum exit_code code = topic_look_up(&copy->to_facts, to, copy->to);
    smq_error err;

    if (code != EXIT_DONE) {
        return code;
    }
    if (copy->to_facts.layout != from_facts->layout || copy->to_facts.type != from_facts->type) {
        return say_error(EXIT_DIFFERS,
                         "topics %s and %s must have the same type and layout; see topic show",
                         copy->command->words[0], copy->to);
    }
    options.full_timeout_ms = SMQ_FOREVER; /* no send outlives send_timeout_ms */
    if (smq_producer_new(&copy->producer, to, &options, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    copy->from = from;
    copy->into = to;
    copy_keep(&copy->seen, flags->cursor ? flags->cursor : "");
    copy_keep(&copy->stored, copy->seen);
    code = copy_all(copy, from);
    smq_producer_free(copy->producer);
    free(copy->seen);
    free(copy->stored);
    for (size_t i = 0; i < COPY_BATCH; i++) {
        free(copy->batch[i]);
    }
    return code;
}

static enum exit_code copy_topic(smq_client *client, const struct command *command,
                                 const struct topic_facts *topic)
{
    const struct copy_options *flags = command->options;
    struct copy copy = {.command = command, .to = command->words[1], .tally = TALLY_INIT};
    struct command target = *command;
    smq_client *to = NULL;

    if (!flags->to_redis) {
        return copy_between(&copy, client, client, topic);
    }
    target.global.client.redis = flags->to_redis;
    enum exit_code code = connect_client(&to, &target);
    if (code == EXIT_DONE) {
        code = copy_between(&copy, client, to, topic);
    }
    smq_client_free(to);
    return code;
}

static enum exit_code copy_check(const struct command *command)
{
    const struct copy_options *flags = command->options;
    unsigned states = 0;

    if (!flags->to_redis && strcmp(command->words[0], command->words[1]) == 0) {
        return say_error(EXIT_USAGE,
                         "%s cannot be copied to itself; give another topic, or "
                         "--to-redis",
                         command->words[0]);
    }
    const enum exit_code code = headers_check_one(&flags->headers);
    return code == EXIT_DONE && flags->state ? message_states_read(&states, flags->state) : code;
}

const struct verb copy_verb = {
    .name = "copy",
    .operands = "NAME TO",
    .summary = "store the messages and schedules of a topic in another one or a cluster, too",
    .text =
        "The messages keep key, id, body, time, priority, retry limit and attempts; the topic "
        "TO must exist, with the same type and layout. NAME keeps its messages. A message that "
        "waits in TO already is merged, so a copy can be run again. Dead letters, if --state "
        "names them, wait in TO, with all their retries. What TO refuses as a duplicate "
        "(dedup_window_ms) is counted, and the exit code is 1. Interrupted by Ctrl-C or a "
        "failure, it prints a cursor to continue with. Then the schedules are put in TO as they "
        "are, which makes ticks of its own.",
    VERB_FLAGS(copy_flags, struct copy_options),
    .min_words = 2,
    .max_words = 2,
    .check = copy_check,
    .about_topic = copy_topic,
};
