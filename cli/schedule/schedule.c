/* schedule.c - schedule get, list, remove, pause, resume, run. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/schedule/schedule_json.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/table.h"
#include "cli/text/units.h"
#include "cli/topic/topic.h"
#include "cli/verb/look_flags.h"

enum { TIME_ROOM = 40, TEXT_ROOM = 320 };

static const struct flag schedule_look_flags[] = {LOOK_FLAG(NULL)};

/* "30 6 * * MON-FRI Europe/Berlin", or "every 90s". */
static void schedule_when(char out[TEXT_ROOM], const smq_schedule *schedule)
{
    char every[UNITS_MAX];

    if (schedule->cron != NULL) {
        (void) snprintf(out, TEXT_ROOM, "%s %s", schedule->cron, schedule->zone);
    } else {
        units_duration(every, schedule->every_ms);
        (void) snprintf(out, TEXT_ROOM, "every %s", every);
    }
}

static void schedule_time(char out[TIME_ROOM], int64_t at_ms)
{
    (void) snprintf(out, TIME_ROOM, "-");
    if (at_ms != 0) {
        output_time_exact(out, TIME_ROOM, at_ms);
    }
}

static const char *schedule_state(const smq_schedule_info *info)
{
    return info->paused ? "paused" : info->next_at_ms == 0 ? "ended" : "active";
}

/* === list =============================================================== */

struct schedule_listing {
    smq_client *client;
    struct table *table; /* NULL: lines of JSON */
    smq_error err;       /* why a schedule cannot be shown whole */
};

/* One that was removed in the meantime is left out. */
static bool schedule_list_line(struct schedule_listing *listing, const smq_schedule_info *listed)
{
    smq_schedule_info *info = NULL;

    switch (smq_schedule_get(listing->client, listed->topic, listed->id, &info, &listing->err)) {
    case SMQ_OK:
        output_json(schedule_json(info));
        smq_schedule_info_free(info);
        return true;
    case SMQ_NO_SCHEDULE:
        listing->err = (smq_error) SMQ_ERROR_INIT;
        return true;
    default:
        return false;
    }
}

static bool schedule_list_one(const smq_schedule_info *info, void *user)
{
    struct schedule_listing *listing = user;
    char when[TEXT_ROOM], next[TIME_ROOM], last[TIME_ROOM], ticks[24];

    if (listing->table == NULL) {
        return !output_is_unread() && schedule_list_line(listing, info);
    }
    schedule_when(when, info->schedule);
    schedule_time(next, info->next_at_ms);
    schedule_time(last, info->last_at_ms);
    (void) snprintf(ticks, sizeof(ticks), "%" PRId64, info->ticks);
    table_row(listing->table,
              (const char *const[]){info->topic, info->id, schedule_state(info), when, next, last,
                                    ticks, info->note},
              8);
    return true;
}

static enum exit_code schedule_list(smq_client *client, const struct command *command)
{
    static const struct table_column columns[] = {
        {.title = "TOPIC", .narrow = TABLE_SHORTEN, .weight = 4, .least = 8},
        {.title = "ID", .narrow = TABLE_SHORTEN, .weight = 8, .least = 8},
        {.title = "STATE", .weight = 7},
        {.title = "WHEN", .narrow = TABLE_CUT, .weight = 5, .least = 12},
        {.title = "NEXT", .weight = 6},
        {.title = "LAST", .weight = 3},
        {.title = "TICKS", .right = true, .weight = 2},
        {.title = "NOTE", .narrow = TABLE_CUT, .weight = 1, .least = 8},
    };
    struct schedule_listing listing = {.client = client, .err = SMQ_ERROR_INIT};
    smq_error err = SMQ_ERROR_INIT;

    if (!command->global.json) {
        listing.table = table_new(columns, 8);
    }
    if (smq_schedule_each(client, command->words[0], schedule_list_one, &listing, &err) != SMQ_OK) {
        table_free(listing.table);
        return topic_say_failure(client, command->words[0], &err);
    }
    if (listing.table == NULL) {
        return listing.err.status == SMQ_OK
                   ? EXIT_DONE
                   : topic_say_failure(client, command->words[0], &listing.err);
    }
    if (table_is_empty(listing.table) && !command->global.quiet) {
        say("topic %s has no schedules", command->words[0]);
        table_free(listing.table);
    } else {
        table_print(listing.table);
    }
    return EXIT_DONE;
}

const struct verb schedule_list_verb = {
    .name = "schedule list",
    .operands = "NAME",
    .summary = "the schedules of a topic, and when they are due next",
    VERB_FLAGS(schedule_look_flags, struct look),
    .looks = true,
    .min_words = 1,
    .max_words = 1,
    .connected = schedule_list,
};

/* === get ================================================================ */

static void schedule_print(const smq_schedule_info *info)
{
    const smq_message *message = info->schedule->message;
    struct table *table = table_pairs();
    char when[TEXT_ROOM], text[TIME_ROOM];

    table_pair(table, "id", info->id);
    table_pair(table, "state", schedule_state(info));
    if (info->note[0] != '\0') {
        table_pair(table, "note", info->note);
    }
    schedule_when(when, info->schedule);
    table_pair(table, "when", when);
    schedule_time(text, info->next_at_ms);
    table_pair(table, "next", text);
    schedule_time(text, info->last_at_ms);
    table_pair(table, "last", text);
    (void) snprintf(text, sizeof(text), "%" PRId64, info->ticks);
    table_pair(table, "ticks", text);
    table_pair(table, "missed", smq_missed_name(info->schedule->missed));
    (void) snprintf(text, sizeof(text), "%" PRId32, info->slot);
    table_pair(table, "slot", text);
    table_row_bytes(
        table, (const struct table_cell[]){{"body", 4}, {message->body.data, message->body.len}},
        2);
    table_print(table);
}

static enum exit_code schedule_get(smq_client *client, const struct command *command)
{
    smq_schedule_info *info = NULL;
    smq_error err;

    if (smq_schedule_get(client, command->words[0], command->words[1], &info, &err) != SMQ_OK) {
        return topic_say_failure(client, command->words[0], &err);
    }
    if (command->global.json) {
        output_json(schedule_json(info));
    } else {
        schedule_print(info);
    }
    smq_schedule_info_free(info);
    return EXIT_DONE;
}

const struct verb schedule_get_verb = {
    .name = "schedule get",
    .operands = "NAME ID",
    .summary = "one schedule, with its message",
    VERB_FLAGS(schedule_look_flags, struct look),
    .looks = true,
    .min_words = 2,
    .max_words = 2,
    .connected = schedule_get,
};

/* === Changes ============================================================ */

/* Says what was done, or why it was not. */
static enum exit_code schedule_end(smq_client *client, const struct command *command,
                                   smq_status status, const char *done, smq_error *err)
{
    if (status != SMQ_OK) {
        return topic_say_failure(client, command->words[0], err);
    }
    schedule_report(command, done, NULL);
    return EXIT_DONE;
}

static enum exit_code schedule_remove(smq_client *client, const struct command *command)
{
    smq_error err;
    smq_status status = smq_schedule_remove(client, command->words[0], command->words[1], &err);

    return schedule_end(client, command, status, "removed", &err);
}

const struct verb schedule_remove_verb = {
    .name = "schedule remove",
    .operands = "NAME ID",
    .summary = "remove a schedule; its messages stay",
    .min_words = 2,
    .max_words = 2,
    .connected = schedule_remove,
};

static enum exit_code schedule_pause(smq_client *client, const struct command *command)
{
    smq_error err;
    smq_status status =
        smq_schedule_pause(client, command->words[0], command->words[1],
                           command->word_count > 2 ? command->words[2] : NULL, &err);

    return schedule_end(client, command, status, "paused", &err);
}

const struct verb schedule_pause_verb = {
    .name = "schedule pause",
    .operands = "NAME ID [NOTE]",
    .summary = "make no ticks of a schedule, until it is resumed",
    .min_words = 2,
    .max_words = 3,
    .connected = schedule_pause,
};

static enum exit_code schedule_resume(smq_client *client, const struct command *command)
{
    smq_error err;
    smq_status status = smq_schedule_resume(client, command->words[0], command->words[1], &err);

    return schedule_end(client, command, status, "resumed", &err);
}

const struct verb schedule_resume_verb = {
    .name = "schedule resume",
    .operands = "NAME ID",
    .summary = "make ticks again; of those missed one or none, as it was put",
    .min_words = 2,
    .max_words = 2,
    .connected = schedule_resume,
};

static const struct flag schedule_run_flags[] = {
    {.name = "at",
     .type = FLAG_TIME,
     .operand = "WHEN",
     .help = "the time in the id of the message, to repeat a run that failed; default now"},
};

static enum exit_code schedule_run(smq_client *client, const struct command *command)
{
    const struct flag_value *at = command->options;
    int64_t at_ms = at->value;
    smq_error err;
    smq_status status =
        smq_schedule_run(client, command->words[0], command->words[1], &at_ms, &err);
    enum exit_code code = schedule_end(client, command, status, "run", &err);

    if (status != SMQ_OK && at_ms != 0 && !command->global.quiet) {
        say("a group may have its message already; to repeat this, give --at %" PRId64, at_ms);
    }
    return code;
}

const struct verb schedule_run_verb = {
    .name = "schedule run",
    .operands = "NAME ID",
    .summary = "store the message of a schedule now, also while it is paused",
    .text = "Its next tick stays.",
    VERB_FLAGS(schedule_run_flags, struct flag_value),
    .min_words = 2,
    .max_words = 2,
    .connected = schedule_run,
};
