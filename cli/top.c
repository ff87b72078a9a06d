/* top.c - what happens to topics, looked at again and again. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "connect.h"
#include "gauges.h"
#include "output.h"
#include "printable.h"
#include "rate.h"
#include "say.h"
#include "screen.h"
#include "signals.h"
#include "topic.h"

#define X(counter, title) +1
enum { RATE_COUNT = 0 RATE_FIELDS(X), KEYS = 1, COLUMN_COUNT = KEYS + GAUGE_COUNT + RATE_COUNT };
#undef X

/* Lines of the screen that hold no topic: the head, "... and more", and the last one, behind which
 * the cursor waits; of each part of the table its titles and the empty line before it. */
enum { SCREEN_LINES = 3, PART_LINES = 2 };

/* Notes that are shown on a screen, and the lines of it for each. */
enum { NOTES_SHOWN = 4, LINES_FOR_NOTE = 6 };

struct top_options {
    struct flag_value interval;
    struct flag_value count;
};

static const struct flag top_flags[] = {
    {.name = "interval",
     .type = FLAG_DURATION,
     .offset = offsetof(struct top_options, interval),
     .operand = "TIME",
     .min = "100ms",
     .max = "1h",
     .fallback = "1s",
     .help = "between two looks"},
    {.name = "count",
     .type = FLAG_NUMBER,
     .offset = offsetof(struct top_options, count),
     .operand = "N",
     .min = "1",
     .help = "end after N looks, and leave them on the terminal"},
};

/* A topic as it was looked at last. */
struct seen {
    char *name; /* owned */
    smq_stats stats;
    int64_t at_us;
    bool has_rates; /* it was looked at before that */
    struct rates rates;
};

struct looks {
    struct seen *seen; /* owned */
    size_t count;
    char **notes; /* owned; what is left out, and why, each in one line */
    size_t note_count;
};

static int64_t top_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* === Looking ============================================================ */

static void looks_fini(struct looks *looks)
{
    for (size_t i = 0; i < looks->count; i++) {
        free(looks->seen[i].name);
    }
    for (size_t i = 0; i < looks->note_count; i++) {
        free(looks->notes[i]);
    }
    free(looks->seen);
    free(looks->notes);
    *looks = (struct looks){0};
}

static void looks_note(struct looks *looks, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void looks_note(struct looks *looks, const char *format, ...)
{
    char **grown = realloc(looks->notes, (looks->note_count + 1) * sizeof(*grown));
    char *text = NULL;
    va_list args;

    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    if (!grown || length < 0) {
        say_no_memory();
    }
    looks->notes = grown;
    looks->notes[looks->note_count++] = text;
}

static bool looks_have_note(const struct looks *looks, const char *note)
{
    for (size_t i = 0; i < looks->note_count; i++) {
        if (strcmp(looks->notes[i], note) == 0) {
            return true;
        }
    }
    return false;
}

static const struct seen *looks_find(const struct looks *looks, const char *name)
{
    for (size_t i = 0; i < looks->count; i++) {
        if (strcmp(looks->seen[i].name, name) == 0) {
            return &looks->seen[i];
        }
    }
    return NULL;
}

/* Looks at one topic and puts it behind the others. */
static smq_status look_at(struct looks *now, const struct looks *before, smq_client *client,
                          const char *name, smq_error *err)
{
    struct seen *seen = &now->seen[now->count];
    const struct seen *last = looks_find(before, name);

    *seen = (struct seen){.stats = SMQ_STATS_INIT};
    const smq_status status = smq_topic_stats(client, name, &seen->stats, err);
    if (status != SMQ_OK) {
        return status;
    }
    seen->at_us = top_now_us();
    seen->has_rates =
        last && rates_between(&seen->rates, &last->stats, &seen->stats, seen->at_us - last->at_us);
    seen->name = strdup(name);
    if (!seen->name) {
        say_no_memory();
    }
    now->count++;
    return SMQ_OK;
}

/* What of a topic is not counted. */
static void top_note_slots(struct looks *looks, const struct seen *seen)
{
    const uint64_t damaged = seen->stats.slots_damaged;
    const uint64_t silent = seen->stats.slots_silent;

    if (damaged > 0) {
        looks_note(looks, "topic %s has %" PRIu64 " damaged %s: run slotmq topic repair %s",
                   seen->name, damaged, damaged == 1 ? "slot" : "slots", seen->name);
    }
    if (silent > 0) {
        looks_note(looks, "topic %s has %" PRIu64 " silent %s: slotmq stat %s says why", seen->name,
                   silent, silent == 1 ? "slot" : "slots", seen->name);
    }
}

/* Looks at these topics; with `all`, a topic that no longer exists is left out, and one that cannot
 * be looked at is noted. */
static smq_status look_at_each(struct looks *now, const struct looks *before, smq_client *client,
                               const struct topic_names *names, bool all, smq_error *err)
{
    now->seen = say_alloc(names->count + 1, sizeof(*now->seen));
    for (size_t i = 0; i < names->count; i++) {
        const smq_status status = look_at(now, before, client, names->name[i], err);

        if (status == SMQ_OK) {
            top_note_slots(now, &now->seen[now->count - 1]);
        } else if (!all) {
            return status;
        } else if (status != SMQ_NO_TOPIC) {
            looks_note(now, "%s", say_text(err));
        }
    }
    return SMQ_OK;
}

static smq_status look_at_all(struct looks *now, const struct looks *before, smq_client *client,
                              smq_error *err)
{
    struct topic_names names;
    smq_status status = topic_names_read(&names, client, err);

    if (status == SMQ_OK) {
        for (size_t i = 0; i < names.unreadable_count; i++) {
            looks_note(now, "%s", names.unreadable[i]);
        }
        status = look_at_each(now, before, client, &names, true, err);
        topic_names_fini(&names);
    }
    return status;
}

/* On failure `looks` stays as it was. */
static smq_status look(struct looks *looks, struct looks *before, smq_client *client,
                       const struct command *command, smq_error *err)
{
    const struct topic_names one = {.name = command->words, .count = 1};
    struct looks now = {0};
    const smq_status status = command->word_count > 0
                                  ? look_at_each(&now, looks, client, &one, false, err)
                                  : look_at_all(&now, looks, client, err);

    if (status != SMQ_OK) {
        looks_fini(&now);
        return status;
    }
    looks_fini(before);
    *before = *looks;
    *looks = now;
    return SMQ_OK;
}

/* === Showing ============================================================ */

static json_t *seen_json(const struct seen *seen)
{
    json_t *object = json_object();

    output_set(object, "topic", json_string(seen->name));
    gauges_json(object, &seen->stats);
    gauges_json_left_out(object, &seen->stats);
#define X(counter, title)                                                                          \
    output_set(object, #counter "_per_s",                                                          \
               seen->has_rates ? json_real(seen->rates.counter) : json_null());
    RATE_FIELDS(X)
#undef X
    return object;
}

static void top_show_json(const struct looks *looks)
{
    json_t *document = json_object();
    json_t *topics = json_array();

    for (size_t i = 0; i < looks->count; i++) {
        if (json_array_append_new(topics, seen_json(&looks->seen[i])) != 0) {
            say_no_memory();
        }
    }
    output_set(document, "topics", topics);
    output_json(document);
}

static void top_add_row(struct libscols_table *table, const struct seen *seen)
{
#define X(counter, title) seen->rates.counter,
    const double rates[] = {RATE_FIELDS(X)};
#undef X
    const char *cells[COLUMN_COUNT] = {seen->name};
    struct gauges gauges;
    char text[RATE_COUNT][32];

    gauges_cells(cells + KEYS, &gauges, &seen->stats);
    for (size_t i = 0; i < RATE_COUNT; i++) {
        snprintf(text[i], sizeof(text[i]), "%.1f", rates[i]);
        cells[KEYS + GAUGE_COUNT + i] = seen->has_rates ? text[i] : "-";
    }
    output_row(table, cells, COLUMN_COUNT);
}

/* The first `count` topics. */
static struct libscols_table *top_make_table(const struct looks *looks, size_t count)
{
#define X(counter, title) title,
    static const char *const titles[] = {"~TOPIC", GAUGE_TITLES, RATE_FIELDS(X)};
#undef X
    struct libscols_table *table = output_table(titles, COLUMN_COUNT);

    for (size_t i = 0; i < count; i++) {
        top_add_row(table, &looks->seen[i]);
    }
    return table;
}

/* How many of the notes a screen has room for. */
static size_t top_notes_shown(const struct looks *looks)
{
    const size_t room = screen_lines() / LINES_FOR_NOTE;
    const size_t most = room < NOTES_SHOWN ? room : NOTES_SHOWN;

    return looks->note_count < most ? looks->note_count : most;
}

/* Each in one line that the terminal does not break; the last one says how many are not shown. */
static void top_show_notes(const struct looks *looks, size_t shown)
{
    const size_t columns = output_columns();

    for (size_t i = 0; i < shown; i++) {
        const char *note = looks->notes[i];
        char *text = say_alloc(PRINTABLE_ROOM(strlen(note)), 1);
        const bool last = i + 1 == shown && looks->note_count > shown;

        (void) printable_text(text, note, strlen(note), true);
        if (last) {
            printf("... and %zu more notes\n", looks->note_count - i);
        } else {
            printf("%.*s\n", (int) columns, text);
        }
        free(text);
    }
}

/* As many topics as the screen has lines for, and says how many more there are.  A screen on which
 * not even one fits gets only the first parts of the table. */
static void top_show_screen(const struct looks *looks, const struct command *command)
{
    const struct top_options *flags = command->options;
    struct libscols_table *table = top_make_table(looks, looks->count);
    const size_t notes = top_notes_shown(looks);
    const size_t taken = SCREEN_LINES + notes;
    const size_t lines = screen_lines() > taken ? screen_lines() - taken : 1;
    const size_t parts = output_table_parts(table, KEYS);
    const size_t room = lines > PART_LINES * parts ? lines / parts - PART_LINES : 0;
    const size_t shown = room > 0 ? room : 1;

    if (looks->count > shown) {
        output_table_free(table);
        table = top_make_table(looks, shown);
    }
    screen_clear();
    printf("%zu %s, every %g s; q ends\n", looks->count, looks->count == 1 ? "topic" : "topics",
           (double) flags->interval.value / 1000);
    output_table_print_parts(table, KEYS, room > 0 ? parts : lines / (PART_LINES + 1));
    if (looks->count > shown) {
        printf("... and %zu more\n", looks->count - shown);
    }
    top_show_notes(looks, notes);
}

/* === The verb =========================================================== */

/* Servers that are away for a while do not end it. */
static bool top_may_pass(smq_status status)
{
    const smq_class class = smq_status_class(status);

    return class == SMQ_CLASS_RETRY || class == SMQ_CLASS_UNKNOWN;
}

/* Says what the look before did not say. */
static void top_say_notes(const struct looks *looks, const struct looks *before)
{
    for (size_t i = 0; i < looks->note_count; i++) {
        if (!looks_have_note(before, looks->notes[i])) {
            (void) say_error(EXIT_NOT_DONE, "%s", looks->notes[i]);
        }
    }
}

/* One look.  *over: there is no sense in another. */
static enum exit_code top_once(bool *over, struct looks *looks, struct looks *before,
                               smq_client *client, const struct command *command, bool live)
{
    smq_error err;

    if (look(looks, before, client, command, &err) != SMQ_OK) {
        *over = !top_may_pass(err.status);
        if (live && !*over) {
            screen_clear();
            fflush(stdout);
        } else if (live) {
            screen_end();
        }
        return say_failure(&err);
    }
    if (!live) {
        top_say_notes(looks, before);
    }
    if (command->global.json) {
        top_show_json(looks);
    } else if (live) {
        top_show_screen(looks, command);
    } else {
        output_table_print_parts(top_make_table(looks, looks->count), KEYS, SIZE_MAX);
    }
    const enum exit_code code = output_finish();
    *over = code != EXIT_DONE;
    return code == EXIT_DONE && looks->note_count > 0 ? EXIT_NOT_DONE : code;
}

static enum exit_code top_loop(smq_client *client, const struct command *command, bool live)
{
    const struct top_options *flags = command->options;
    const bool spaced = !live && !command->global.json;
    struct looks looks = {0};
    struct looks before = {0};
    enum exit_code code = EXIT_DONE;
    bool over = false;

    for (int64_t left = flags->count.given ? flags->count.value : INT64_MAX; left > 0; left--) {
        code = top_once(&over, &looks, &before, client, command, live);
        if (over || left == 1 || !screen_wait(flags->interval.value)) {
            break;
        }
        if (spaced && code == EXIT_DONE) {
            putchar('\n');
        }
    }
    if (live) { /* the screen is gone, and what was noted on it */
        screen_end();
        looks_fini(&before);
        top_say_notes(&looks, &before);
    }
    looks_fini(&before);
    looks_fini(&looks);
    return code;
}

static enum exit_code top_run(const struct command *command)
{
    const struct top_options *flags = command->options;
    const bool live = screen_possible() && !command->global.json && !flags->count.given;
    smq_client *client = NULL;
    enum exit_code code = connect_client(&client, command);

    if (code == EXIT_DONE) {
        signals_catch();
        if (live) {
            screen_begin();
        }
        code = top_loop(client, command, live);
        screen_end();
    }
    smq_client_free(client);
    return code;
}

const struct verb top_verb = {
    .name = "top",
    .operands = "[NAME]",
    .summary = "what happens to topics, again and again",
    .text = "It shows what topics hold, and what happens to them per second, as a table that is "
            "drawn again and again until q, Ctrl-C, or --count. Where standard output is no "
            "terminal, one table follows the other; with --json there is one object per line. The "
            "first look has no rates.",
    .flags = top_flags,
    .flag_count = sizeof(top_flags) / sizeof(top_flags[0]),
    .options_size = sizeof(struct top_options),
    .max_words = 1,
    .run = top_run,
};
