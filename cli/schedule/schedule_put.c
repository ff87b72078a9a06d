/* schedule_put.c - schedule put, of flags or of lines, and schedule next: the flags that say when a
 * schedule is due. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/message/when_flags.h"
#include "cli/schedule/schedule_json.h"
#include "cli/schedule/schedule_lines.h"
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/verb/headers.h"
#include "cli/verb/verb.h"

enum { NEXT_MOST = 1000 };

struct schedule_times {
    const char *cron, *zone, *missed;
    struct flag_value every, start, end, limit;
};

struct schedule_put_options {
    struct schedule_times times;
    const char *key, *file;
    struct when when;
    struct headers headers;
};

struct schedule_next_options {
    struct schedule_times times;
    struct flag_value from, count;
};

#define LIMIT_MOST "8796093022208" /* 2^43 */

#define PUT(member)  offsetof(struct schedule_put_options, member)
#define NEXT(member) offsetof(struct schedule_next_options, member)

/* Rows for a `struct schedule_times times` in the verb's `struct_`. */
#define TIME_ROW(name_, type_, at_, operand_, min_, max_, help_)                                   \
    {                                                                                              \
        .name = (name_), .type = (type_), .offset = (at_), .operand = (operand_), .min = (min_),   \
        .max = (max_), .help = (help_)                                                             \
    }
#define WHEN_ROW(name_, at_, help_) TIME_ROW(name_, FLAG_TIME, at_, "WHEN", NULL, NULL, help_)
#define TIMES(struct_, member)      offsetof(struct_, times.member)
#define TIME_FLAGS(struct_)                                                                        \
    TEXT_FLAG("cron", TIMES(struct_, cron), "EXPR",                                                \
              "minute, hour, day of month, month and day of week, as '30 6 * * MON-FRI'; with a "  \
              "second in front; or @daily and the like"),                                          \
        TIME_ROW("every", FLAG_DURATION, TIMES(struct_, every), "TIME", "100ms", "100000d",        \
                 "that far apart, counted from --start or from 1970"),                             \
        TEXT_FLAG("zone", TIMES(struct_, zone), "ZONE",                                            \
                  "of --cron, as Europe/Berlin; default UTC"),                                     \
        WHEN_ROW("start", TIMES(struct_, start), "no tick before this time"),                      \
        WHEN_ROW("end", TIMES(struct_, end), "no tick after this time"),                           \
        TIME_ROW("limit", FLAG_NUMBER, TIMES(struct_, limit), "N", "1", LIMIT_MOST,                \
                 "how many ticks there are; default no limit")

static const struct flag schedule_put_flags[] = {
    TIME_FLAGS(struct schedule_put_options),
    TEXT_FLAG("missed", PUT(times.missed), "one|none",
              "what becomes of ticks that were missed: one message for all of them, or none; "
              "default one"),
    TEXT_FLAG("key", PUT(key), "KEY", "of its messages; default: ID, so they come one at a time"),
    {.name = "priority",
     .type = FLAG_NUMBER,
     .offset = PUT(when.priority),
     .operand = "P",
     .help = "priority: larger is more urgent",
     .fallback = "0"},
    WHEN_OWN(struct schedule_put_options, "ttl", "ttl_ms", "TIME", "layout keyed: time to live"),
    WHEN_OWN(struct schedule_put_options, "retries", "max_retries", "N",
             "layout keyed: retries before a message is dead"),
    {.name = "header",
     .letter = 'H',
     .type = FLAG_HEADER,
     .offset = PUT(headers),
     .operand = "NAME=VALUE",
     .help = "layout keyed: a header of its messages; may be given several times"},
    TEXT_FLAG("file", PUT(file), "FILE",
              "without ID: a schedule for each line of FILE; - is standard input, the default"),
};

static const struct flag schedule_next_flags[] = {
    TIME_FLAGS(struct schedule_next_options),
    WHEN_ROW("from", NEXT(from), "the times after this one; default now"),
    {.name = "count",
     .type = FLAG_NUMBER,
     .offset = NEXT(count),
     .operand = "N",
     .min = "1",
     .max = "1000",
     .fallback = "5",
     .help = "how many times"},
};

static void schedule_put_init(void *options)
{
    when_init(&((struct schedule_put_options *) options)->when);
}

/* Times are from 1970 to 2248, which is 2^43 ms. */
static enum exit_code schedule_check_time(const char *name, const struct flag_value *time)
{
    return time->value >= 0 && time->value <= INT64_C(1) << 43
               ? EXIT_DONE
               : say_error(EXIT_USAGE, "%s is before 1970, or after 2248", name);
}

static enum exit_code schedule_fill(smq_schedule *out, const struct schedule_times *times)
{
    enum exit_code code = schedule_check_time("--start", &times->start);

    *out = (smq_schedule) SMQ_SCHEDULE_INIT;
    if (code == EXIT_DONE) {
        code = schedule_check_time("--end", &times->end);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    if ((times->cron != NULL) == times->every.given) {
        return say_error(EXIT_USAGE, "give either --cron or --every");
    }
    if (times->end.given && times->end.value < times->start.value) {
        return say_error(EXIT_USAGE, "--end is before --start: there would be no tick");
    }
    if (times->missed != NULL && strcmp(times->missed, "one") != 0 &&
        strcmp(times->missed, "none") != 0) {
        return say_error(EXIT_USAGE, "--missed is one or none, not %s", times->missed);
    }
    out->cron = times->cron;
    out->zone = times->zone;
    out->every_ms = times->every.value;
    out->start_at_ms = times->start.value;
    out->end_at_ms = times->end.value;
    out->limit = times->limit.value;
    out->missed = times->missed != NULL && strcmp(times->missed, "none") == 0 ? SMQ_MISSED_NONE
                                                                              : SMQ_MISSED_ONE;
    return EXIT_DONE;
}

/* Is a flag given that says something of one schedule? */
static bool schedule_put_says_one(const struct schedule_put_options *flags)
{
    const struct schedule_times *times = &flags->times;
    const smq_topic_options *own = &flags->when.own;

    return times->cron || times->zone || times->missed || times->every.given ||
           times->start.given || times->end.given || times->limit.given || flags->key ||
           flags->when.priority.given || own->ttl_ms != 0 || own->max_retries != 0 ||
           flags->headers.count > 0;
}

/* What its times are is known without a server. */
static enum exit_code schedule_put_check(const struct command *command)
{
    const struct schedule_put_options *flags = command->options;
    smq_schedule schedule;
    smq_error err;
    size_t count;
    enum exit_code code;

    if (command->word_count == 1) {
        return schedule_put_says_one(flags)
                   ? say_error(EXIT_USAGE, "the flags are those of one schedule: give its ID; "
                                           "without ID each line of --file or of standard input "
                                           "is a schedule")
                   : EXIT_DONE;
    }
    if (flags->file) {
        return say_error(EXIT_USAGE, "--file is for lines with ids of their own: leave out ID");
    }
    code = schedule_fill(&schedule, &flags->times);
    if (code != EXIT_DONE) {
        return code;
    }
    return smq_schedule_next(&schedule, 0, NULL, 0, &count, &err) == SMQ_OK ? EXIT_DONE
                                                                            : say_failure(&err);
}

/* Is a message that a failover makes twice handled once?  A topic that cannot be read now says
 * nothing. */
static bool schedule_has_window(smq_client *client, const char *topic)
{
    smq_topic_info *info = NULL;
    bool has = true;

    if (smq_topic_get(client, topic, &info, NULL) == SMQ_OK) {
        has = info->options->layout == SMQ_LAYOUT_KEYED && info->options->dedup_window_ms > 0;
        smq_topic_info_free(info);
    }
    return has;
}

static void schedule_put_warn(const struct command *command, bool has_window)
{
    if (!has_window && !command->global.quiet) {
        say("topic %s remembers no ids: a tick that a failover of Redis loses after it was handled "
            "is handled twice; layout keyed with dedup_window_ms prevents it",
            command->words[0]);
    }
}

static enum exit_code schedule_put_lines(smq_client *client, const struct command *command,
                                         const struct topic_facts *topic)
{
    const struct schedule_put_options *flags = command->options;
    uint64_t count = 0;
    const enum exit_code code = schedule_lines_put(&count, client, command, topic, flags->file);

    if (code == EXIT_DONE && count > 0) {
        schedule_put_warn(command, schedule_has_window(client, command->words[0]));
    }
    return code;
}

static enum exit_code schedule_put_one(smq_client *client, const struct command *command,
                                       const struct topic_facts *topic)
{
    const struct schedule_put_options *flags = command->options;
    smq_message message = SMQ_MESSAGE_INIT;
    smq_schedule_change change;
    smq_schedule schedule;
    smq_error err;
    enum exit_code code = schedule_fill(&schedule, &flags->times);

    if (code == EXIT_DONE) {
        code = when_check(&flags->when, command->words[0], topic);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    when_apply(&message, &flags->when);
    message.delay_ms = 0; /* a tick is due when it is stored */
    message.body = smq_text(command->word_count > 2 ? command->words[2] : NULL);
    message.key = smq_text(flags->key);
    message.headers = flags->headers.count > 0 ? flags->headers.header : NULL;
    message.header_count = flags->headers.count;
    schedule.message = &message;
    if (smq_schedule_put(client, command->words[0], command->words[1], &schedule, &change, &err) !=
        SMQ_OK) {
        return topic_say_failure(client, command->words[0], &err);
    }
    const bool has_window = schedule_has_window(client, command->words[0]);
    schedule_report(command, smq_schedule_change_name(change), &has_window);
    schedule_put_warn(command, has_window);
    return EXIT_DONE;
}

static enum exit_code schedule_put(smq_client *client, const struct command *command,
                                   const struct topic_facts *topic)
{
    return command->word_count == 1 ? schedule_put_lines(client, command, topic)
                                    : schedule_put_one(client, command, topic);
}

const struct verb schedule_put_verb = {
    .name = "schedule put",
    .operands = "NAME [ID [BODY]]",
    .summary = "store a message at times that repeat",
    .text =
        "The consumers of the topic make the ticks, each once; without a consumer there are none. "
        "To put what is there already changes nothing. Other times count from now; another "
        "message is stored from the next tick on. In layout keyed the id of each message is "
        "ID@DUE, "
        "with the time at which it was due in ms since 1970.\n\n"
        "Without ID each line is a schedule as schedule get and schedule list print it with "
        "--json. It is put as it was: with its next time, the ticks that it had, and its pause. "
        "One that is there with the same times keeps its own. The first line that cannot be put "
        "ends the command; the error names it.",
    VERB_FLAGS(schedule_put_flags, struct schedule_put_options),
    .init = schedule_put_init,
    .min_words = 1,
    .max_words = 3,
    .check = schedule_put_check,
    .about_topic = schedule_put,
};

static enum exit_code schedule_next(const struct command *command)
{
    const struct schedule_next_options *flags = command->options;
    int64_t times_at_ms[NEXT_MOST];
    json_t *array = json_array();
    smq_schedule schedule;
    char text[40];
    smq_error err;
    size_t count = 0;
    enum exit_code code = schedule_fill(&schedule, &flags->times);

    if (code == EXIT_DONE) {
        code = schedule_check_time("--from", &flags->from);
    }
    if (code == EXIT_DONE &&
        smq_schedule_next(&schedule, flags->from.given ? flags->from.value : moment_wall_ms(),
                          times_at_ms, (size_t) flags->count.value, &count, &err) != SMQ_OK) {
        code = say_failure(&err);
    }
    for (size_t i = 0; i < count; i++) {
        output_append(array, json_integer(times_at_ms[i]));
        if (!command->global.json) {
            output_time_exact(text, sizeof(text), times_at_ms[i]);
            printf("%s\n", text);
        }
    }
    if (code == EXIT_DONE && command->global.json) {
        json_t *document = json_object();
        output_set(document, "times_at_ms", array);
        output_json(document);
    } else {
        json_decref(array);
    }
    return code;
}

const struct verb schedule_next_verb = {
    .name = "schedule next",
    .operands = "",
    .summary = "the next times at which a schedule would be due",
    .text = "No server is asked. Without a further time nothing is printed.",
    VERB_FLAGS(schedule_next_flags, struct schedule_next_options),
    .run = schedule_next,
};
