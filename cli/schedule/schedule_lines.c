/* schedule_lines.c - see schedule_lines.h. */
#include "cli/schedule/schedule_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/message/message_line.h"
#include "cli/message/source.h"
#include "cli/schedule/schedule_line.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/signals.h"
#include "cli/verb/progress.h"

enum { CHANGES = SMQ_SCHEDULE_RESTARTED + 1, COUNTS_SIZE = 128, NAME_SIZE = 320 };

/* One run. */
struct schedule_lines {
    smq_client *client;
    const struct command *command;
    const struct topic_facts *topic;
    struct source source;
    bool has_groups;
    uint64_t count[CHANGES]; /* by smq_schedule_change */
};

static void schedule_lines_counts(char out[COUNTS_SIZE], const struct schedule_lines *lines)
{
    size_t used = 0;

    for (int change = 0; change < CHANGES; change++) {
        used += (size_t) snprintf(
            out + used, COUNTS_SIZE - used, "%s%s %" PRIu64, change > 0 ? " " : "",
            smq_schedule_change_name((smq_schedule_change) change), lines->count[change]);
    }
}

static enum exit_code schedule_lines_fail(const struct schedule_lines *lines, enum exit_code code,
                                          uint64_t number, const char *text)
{
    char counts[COUNTS_SIZE];

    schedule_lines_counts(counts, lines);
    return say_error(code, "line %" PRIu64 ": %s; of the lines before it: %s", number, text,
                     counts);
}

/* The topic, or its group of which the line was printed. */
static void schedule_lines_target(char out[NAME_SIZE], const struct schedule_lines *lines,
                                  const char *topic)
{
    const char *group = topic && lines->has_groups ? strchr(topic, '/') : NULL;

    (void) snprintf(out, NAME_SIZE, "%s%s", lines->command->words[0], group ? group : "");
}

static enum exit_code schedule_lines_put_one(struct schedule_lines *lines, uint64_t number,
                                             const char *text, size_t size)
{
    char target[NAME_SIZE], error[MEMBERS_ERROR];
    struct schedule_line line;
    smq_schedule_change change = SMQ_SCHEDULE_SAME;
    smq_error err = SMQ_ERROR_INIT;
    enum exit_code code = EXIT_DONE;

    if (!schedule_line_read(&line, error, text, size)) {
        code = schedule_lines_fail(lines, EXIT_DATA, number, error);
        goto out;
    }
    schedule_lines_target(target, lines, line.info.topic);
    if (smq_schedule_restore(lines->client, target, &line.info, &change, &err) != SMQ_OK) {
        code = exit_code_of(err.status);
        code = schedule_lines_fail(lines, code == EXIT_USAGE ? EXIT_DATA : code, number,
                                   say_text(&err));
        goto out;
    }
    lines->count[change]++;
out:
    schedule_line_fini(&line);
    return code;
}

/* There are no more lines: why, if that is a failure. */
static enum exit_code schedule_lines_end(const struct schedule_lines *lines, enum source_result why,
                                         uint64_t number)
{
    char text[256];

    switch (why) {
    case SOURCE_INTERRUPTED:
        return schedule_lines_fail(lines, EXIT_INTERRUPTED, number,
                                   "interrupted before it was put");
    case SOURCE_TOO_LONG:
        (void) snprintf(text, sizeof(text), "it is too long for the max_body of topic %s",
                        lines->command->words[0]);
        return schedule_lines_fail(lines, EXIT_DATA, number, text);
    case SOURCE_FAILED:
        (void) snprintf(text, sizeof(text), "cannot read %s: %s", lines->source.name,
                        strerror(errno));
        return schedule_lines_fail(lines, number > 1 ? EXIT_IO : EXIT_NO_INPUT, number, text);
    default:
        return EXIT_DONE;
    }
}

static enum exit_code schedule_lines_each(struct schedule_lines *lines)
{
    const size_t most = message_line_most(lines->topic->max_body);
    struct progress progress = progress_begin(lines->command, "put");
    enum source_result result = SOURCE_LINE;
    enum exit_code code = EXIT_DONE;
    const char *line = NULL;
    size_t size = 0;

    signals_catch();
    for (uint64_t number = 1; result == SOURCE_LINE && code == EXIT_DONE; number++) {
        result =
            signals_came() ? SOURCE_INTERRUPTED : source_line(&lines->source, most, &line, &size);
        code = result == SOURCE_LINE ? schedule_lines_put_one(lines, number, line, size)
                                     : schedule_lines_end(lines, result, number);
        progress_show(&progress, lines->source.taken, lines->source.size, number);
    }
    progress_end(&progress);
    return code;
}

static void schedule_lines_report(const struct schedule_lines *lines)
{
    char counts[COUNTS_SIZE];

    if (lines->command->global.json) {
        json_t *document = json_object();
        for (int change = 0; change < CHANGES; change++) {
            output_set(document, smq_schedule_change_name((smq_schedule_change) change),
                       json_integer((json_int_t) lines->count[change]));
        }
        output_json(document);
    } else if (!lines->command->global.quiet) {
        schedule_lines_counts(counts, lines);
        say("%s", counts);
    }
}

static enum exit_code schedule_lines_find_groups(struct schedule_lines *lines)
{
    const char *name = lines->command->words[0];
    struct topic_names names = {.count = 0};
    smq_error err = SMQ_ERROR_INIT;

    if (topic_names_read_one(&names, lines->client, name, &err) != SMQ_OK) {
        return topic_say_failure(lines->client, name, &err);
    }
    lines->has_groups = names.count > 0 && strcmp(names.name[0], name) != 0;
    topic_names_fini(&names);
    return EXIT_DONE;
}

enum exit_code schedule_lines_put(uint64_t *count, smq_client *client,
                                  const struct command *command, const struct topic_facts *topic,
                                  const char *path)
{
    struct schedule_lines lines = {.client = client, .command = command, .topic = topic};
    enum exit_code code = schedule_lines_find_groups(&lines);

    if (code == EXIT_DONE) {
        code = source_open(&lines.source, path);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    if (isatty(lines.source.fd) && !command->global.quiet) {
        say("reading schedules from the terminal, one a line; Ctrl-D ends");
    }
    code = schedule_lines_each(&lines);
    source_close(&lines.source);
    for (int change = 0; change < CHANGES; change++) {
        *count += lines.count[change];
    }
    if (code == EXIT_DONE) {
        schedule_lines_report(&lines);
    }
    return code;
}
