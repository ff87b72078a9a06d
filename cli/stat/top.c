/* top.c - what happens to topics, read again and again.
 *
 * Thread: main. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/gauges.h"
#include "cli/stat/screen.h"
#include "cli/stat/stat_read.h"
#include "cli/stat/top_table.h"
#include "cli/stat/top_view.h"
#include "cli/stat/work_table.h"
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "cli/text/printable.h"
#include "cli/text/say.h"
#include "cli/text/signals.h"
#include "cli/topic/topic.h"
#include "cli/verb/look_flags.h"
#include "cli/verb/verb.h"

/* Lines of the screen that hold no topic: the head, the titles, "... and more", and the last one,
 * behind which the cursor waits. */
enum { SCREEN_LINES = 4 };

/* Notes that are shown on a screen, and the lines of it for each. */
enum { NOTES_SHOWN = 4, LINES_FOR_NOTE = 6 };

struct top_options {
    struct look look; /* first */
    struct flag_value interval;
    struct flag_value count;
};

static const struct flag top_flags[] = {
    LOOK_FLAG(NULL),
    {.name = "interval",
     .type = FLAG_DURATION,
     .offset = offsetof(struct top_options, interval),
     .operand = "TIME",
     .min = "100ms",
     .max = "1h",
     .fallback = "1s",
     .help = "between two readings"},
    NUMBER_FLAG("count", offsetof(struct top_options, count),
                "end after N readings, and leave them on the terminal"),
};

/* All topics at one moment, and in one line each what is left out, and why. */
struct snapshot {
    struct stat_topics topics; /* owned; with the slots that have messages in work */
    struct sample *samples;    /* owned */
    size_t count;
    char **notes; /* owned */
    size_t note_count;
};

/* === Reading ============================================================ */

static void snapshot_fini(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->note_count; i++) {
        free(snapshot->notes[i]);
    }
    stat_read_free(&snapshot->topics);
    free(snapshot->samples);
    free(snapshot->notes);
    *snapshot = (struct snapshot){0};
}

static void snapshot_note(struct snapshot *snapshot, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void snapshot_note(struct snapshot *snapshot, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        say_no_memory();
    }
    snapshot->notes = say_grow(snapshot->notes, snapshot->note_count, sizeof(*snapshot->notes));
    snapshot->notes[snapshot->note_count++] = text;
}

static bool snapshot_has_note(const struct snapshot *snapshot, const char *note)
{
    for (size_t i = 0; i < snapshot->note_count; i++) {
        if (strcmp(snapshot->notes[i], note) == 0) {
            return true;
        }
    }
    return false;
}

static const struct sample *snapshot_find(const struct snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        if (strcmp(snapshot->samples[i].name, name) == 0) {
            return &snapshot->samples[i];
        }
    }
    return NULL;
}

/* What of a topic is not counted. */
static void snapshot_note_slots(struct snapshot *snapshot, const struct sample *sample)
{
    const uint64_t damaged = sample->stats.slots_damaged;
    const uint64_t silent = sample->stats.slots_silent;

    if (damaged > 0) {
        snapshot_note(snapshot, "topic %s has %" PRIu64 " damaged %s: run slotmq topic repair %s",
                      sample->name, damaged, damaged == 1 ? "slot" : "slots", sample->name);
    }
    if (silent > 0) {
        snapshot_note(snapshot, "topic %s has %" PRIu64 " silent %s: slotmq stat %s says why",
                      sample->name, silent, silent == 1 ? "slot" : "slots", sample->name);
    }
}

/* Takes what was read of topics, and owns it; those that could not be read are left out, and noted.
 */
static void snapshot_take(struct snapshot *snapshot, const struct stat_topics *topics)
{
    const int64_t at_us = moment_us();

    snapshot->topics = *topics;
    snapshot->samples = say_alloc(topics->count, sizeof(*snapshot->samples));
    for (size_t i = 0; i < topics->count; i++) {
        const struct stat_topic *topic = &topics->all[i];

        if (topic->err.status != SMQ_OK) {
            snapshot_note(snapshot, "%s", say_text(&topic->err));
            continue;
        }
        struct sample *sample = &snapshot->samples[snapshot->count++];
        *sample = (struct sample){.name = topic->row.topic,
                                  .stats = topic->row.stats,
                                  .unowned = stat_read_is_unowned(&topic->row),
                                  .at_us = at_us};
        snapshot_note_slots(snapshot, sample);
    }
}

static void snapshot_add_rates(struct snapshot *snapshot, const struct snapshot *before)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        struct sample *sample = &snapshot->samples[i];
        const struct sample *last = snapshot_find(before, sample->name);

        sample->has_rates = last && rates_between(&sample->rates, &last->stats, &sample->stats,
                                                  sample->at_us - last->at_us);
    }
}

/* One topic, or all of its groups. */
static smq_status snapshot_read_one(struct snapshot *snapshot, smq_client *client, const char *name,
                                    smq_error *err)
{
    struct stat_topics topics = {.count = 0};
    char *names = topic_names_of(client, name, err);
    smq_status status =
        names ? stat_read(&topics, client, names, STAT_SLOTS_IN_WORK, err) : err->status;

    free(names);
    if (status != SMQ_OK) {
        return status;
    }
    if (topics.count == 1 && topics.all[0].err.status != SMQ_OK) {
        *err = topics.all[0].err;
        status = err->status;
        stat_read_free(&topics);
    } else {
        snapshot_take(snapshot, &topics);
    }
    return status;
}

static smq_status snapshot_read_all(struct snapshot *snapshot, smq_client *client, smq_error *err)
{
    char unlisted[TOPIC_UNLISTED_ROOM];
    struct stat_topics topics;
    const smq_status status = stat_read(&topics, client, NULL, STAT_SLOTS_IN_WORK, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (topics.unlisted > 0) {
        snapshot_note(snapshot, "%s", topic_unlisted_text(unlisted, topics.unlisted));
    }
    snapshot_take(snapshot, &topics);
    return SMQ_OK;
}

/* Reads the next snapshot; `*before` is then the one before it.  On failure both stay as they were.
 */
static smq_status top_read(struct snapshot *snapshot, struct snapshot *before, smq_client *client,
                           const struct command *command, smq_error *err)
{
    struct snapshot now = {0};
    const smq_status status = command->word_count > 0
                                  ? snapshot_read_one(&now, client, command->words[0], err)
                                  : snapshot_read_all(&now, client, err);

    if (status != SMQ_OK) {
        snapshot_fini(&now);
        return status;
    }
    snapshot_add_rates(&now, snapshot);
    snapshot_fini(before);
    *before = *snapshot;
    *snapshot = now;
    return SMQ_OK;
}

/* === Showing ============================================================ */

static json_t *sample_json(const struct sample *sample)
{
    json_t *object = json_object();

    output_set(object, "topic", json_string(sample->name));
    gauges_json(object, &sample->stats);
    gauges_json_left_out(object, &sample->stats);
#define X(counter, title, weight)                                                                  \
    output_set(object, #counter "_per_s",                                                          \
               sample->has_rates ? json_real(sample->rates.counter) : json_null());
    RATE_FIELDS(X)
#undef X
    return object;
}

static void top_show_json(const struct snapshot *snapshot)
{
    json_t *document = json_object();
    json_t *topics = json_array();

    for (size_t i = 0; i < snapshot->count; i++) {
        output_append(topics, sample_json(&snapshot->samples[i]));
    }
    output_set(document, "topics", topics);
    output_json(document);
}

/* How many of the notes a screen has room for. */
static size_t top_notes_shown(const struct snapshot *snapshot)
{
    const size_t room = screen_lines() / LINES_FOR_NOTE;
    const size_t most = room < NOTES_SHOWN ? room : NOTES_SHOWN;

    return snapshot->note_count < most ? snapshot->note_count : most;
}

/* Each in one line that the terminal does not break; the last one says how many are not shown. */
static void top_show_notes(const struct snapshot *snapshot, size_t shown)
{
    const size_t columns = output_columns();

    for (size_t i = 0; i < shown; i++) {
        const char *note = snapshot->notes[i];
        char *text = say_alloc(PRINTABLE_ROOM(strlen(note)), 1);
        const bool last = i + 1 == shown && snapshot->note_count > shown;

        (void) printable_text(text, note, strlen(note), true);
        if (last) {
            printf("... and %zu more notes\n", snapshot->note_count - i);
        } else {
            printf("%.*s\n", (int) columns, text);
        }
        free(text);
    }
}

/* How many rows a screen has lines for. */
static size_t top_room(const struct snapshot *snapshot)
{
    const size_t taken = SCREEN_LINES + top_notes_shown(snapshot);

    return screen_lines() > taken ? screen_lines() - taken : 1;
}

/* The keys, in place of the topics. */
static void top_show_help(void)
{
    const size_t columns = output_columns();

    screen_clear();
    for (size_t i = 0; top_view_help(i) != NULL && i + 1 < screen_lines(); i++) {
        printf("%.*s\n", (int) columns, top_view_help(i));
    }
}

/* What is in work in topics whose names have the filter, to be freed; *all: in every topic. */
static struct work_row *top_work(size_t *count, size_t *all, const struct snapshot *snapshot,
                                 const struct top_view *view)
{
    struct work_row *rows = work_rows(all, &snapshot->topics);

    *count = 0;
    for (size_t i = 0; i < *all; i++) {
        if (strcasestr(rows[i].topic, view->filter)) {
            rows[(*count)++] = rows[i];
        }
    }
    return rows;
}

/* As many rows as the screen has lines for, and says how many more there are. */
static void top_show_rows(struct snapshot *snapshot, const struct command *command,
                          struct top_view *view)
{
    const struct top_options *flags = command->options;
    const size_t room = top_room(snapshot);
    const size_t columns = output_columns();
    struct work_row *rows = NULL;
    size_t all = snapshot->count;
    size_t count = 0;
    char head[256];

    if (view->work) {
        rows = top_work(&count, &all, snapshot, view);
    } else {
        top_sort(snapshot->samples, all, view->order);
        count = top_view_filter(view, snapshot->samples, all);
    }
    const size_t last = count > room ? count - room : 0;
    view->first = view->first < last ? view->first : last;
    const size_t left = count - view->first;
    const size_t shown = left < room ? left : room;
    top_view_head(head, sizeof(head), view, count, all, flags->interval.value, columns);
    screen_clear();
    puts(head);
    table_print(view->work ? work_table(rows + view->first, shown)
                           : top_table(snapshot->samples + view->first, shown));
    free(rows);
    if (count > shown) {
        printf("... and %zu more\n", count - shown);
    }
    top_show_notes(snapshot, top_notes_shown(snapshot));
}

static void top_show_screen(struct snapshot *snapshot, const struct command *command,
                            struct top_view *view)
{
    if (view->state == TOP_HELP) {
        top_show_help();
    } else {
        top_show_rows(snapshot, command, view);
    }
}

/* === The verb =========================================================== */

/* Servers that are away for a while do not end it. */
static bool top_may_pass(smq_status status)
{
    const smq_class class = smq_status_class(status);

    return class == SMQ_CLASS_RETRY || class == SMQ_CLASS_UNKNOWN;
}

/* Prints the notes that the snapshot before did not have. */
static void top_say_notes(const struct snapshot *snapshot, const struct snapshot *before)
{
    for (size_t i = 0; i < snapshot->note_count; i++) {
        if (!snapshot_has_note(before, snapshot->notes[i])) {
            (void) say_error(EXIT_NOT_DONE, "%s", snapshot->notes[i]);
        }
    }
}

/* One reading.  *over: another one makes no sense. */
static enum exit_code top_once(bool *over, struct snapshot *snapshot, struct snapshot *before,
                               smq_client *client, const struct command *command,
                               struct top_view *view, bool live)
{
    smq_error err;

    if (top_read(snapshot, before, client, command, &err) != SMQ_OK) {
        *over = !top_may_pass(err.status);
        if (live && !*over) {
            screen_clear();
            fflush(stdout);
        } else if (live) {
            screen_end();
        }
        return command->word_count > 0 ? topic_say_failure(client, command->words[0], &err)
                                       : say_failure(&err);
    }
    if (!live) {
        top_say_notes(snapshot, before);
    }
    if (command->global.json) {
        top_show_json(snapshot);
    } else if (live) {
        top_show_screen(snapshot, command, view);
    } else {
        table_print(top_table(snapshot->samples, snapshot->count));
    }
    const enum exit_code code = output_finish();
    *over = code != EXIT_DONE || output_is_unread();
    return code == EXIT_DONE && snapshot->note_count > 0 ? EXIT_NOT_DONE : code;
}

/* Waits until the next reading.  Keys change what is seen.  false: the user or a signal ends it. */
static bool top_wait(struct snapshot *snapshot, const struct command *command,
                     struct top_view *view, bool live)
{
    const struct top_options *flags = command->options;
    const int64_t until_ms = moment_ms() + flags->interval.value;
    int key = screen_wait(until_ms, view->state == TOP_TYPING);

    while (key > 0) {
        if (live && top_view_take_key(view, top_room(snapshot), key)) {
            top_show_screen(snapshot, command, view);
            fflush(stdout);
        }
        key = screen_wait(until_ms, view->state == TOP_TYPING);
    }
    return key == SCREEN_TIME;
}

static enum exit_code top_loop(smq_client *client, const struct command *command, bool live)
{
    const struct top_options *flags = command->options;
    const bool spaced = !live && !command->global.json;
    struct snapshot snapshot = {0};
    struct snapshot before = {0};
    struct top_view view = {.order = TOP_BY_ACTIVITY};
    enum exit_code code = EXIT_DONE;
    bool over = false;

    for (int64_t left = flags->count.given ? flags->count.value : INT64_MAX; left > 0; left--) {
        code = top_once(&over, &snapshot, &before, client, command, &view, live);
        if (over || left == 1 || !top_wait(&snapshot, command, &view, live)) {
            break;
        }
        if (spaced && code == EXIT_DONE) {
            putchar('\n');
        }
    }
    if (live) { /* the screen is gone, and what was noted on it */
        screen_end();
        snapshot_fini(&before);
        top_say_notes(&snapshot, &before);
    }
    snapshot_fini(&before);
    snapshot_fini(&snapshot);
    return code;
}

static enum exit_code top_connected(smq_client *client, const struct command *command)
{
    const struct top_options *flags = command->options;
    const bool live = screen_possible() && !command->global.json && !flags->count.given;

    signals_catch();
    if (live) {
        screen_begin();
    }
    const enum exit_code code = top_loop(client, command, live);
    screen_end();
    return code;
}

const struct verb top_verb = {
    .name = "top",
    .operands = "[NAME]",
    .summary = "what happens to topics, again and again",
    .text =
        "It shows what topics hold, and what happens to them per second, as a table that is "
        "drawn again and again until q, Ctrl-C, or --count. The keys a, n, w, l and d sort it by "
        "activity, name, waiting, lag or dead; i shows what is in work, as slotmq work does. j, k, "
        "arrows and page keys scroll. / shows only topics whose names have a text, and ? shows the "
        "keys. Where standard output is no terminal, one table follows the other; with --json "
        "there is one object per line. The "
        "first reading has no rates.",
    VERB_FLAGS(top_flags, struct top_options),
    .looks = true,
    .max_words = 1,
    .connected = top_connected,
};
