#include "report.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <slotmq/slotmq.h>

#include "others.h"

enum { FIGURES_MAX = 512, NAME_MAX_LEN = 48, LINE_SIZE = 1024 };

/* Invariant: values[0 .. count) are of runs that are not void, but for those of the present run,
 * values[kept .. count).  `why` says what is wrong with `uncounted` more. */
struct figure {
    char name[NAME_MAX_LEN], unit[16];
    double values[REPORT_RUNS_MAX];
    int count, kept, uncounted;
    const char *why;
};

struct report {
    FILE *lines, *table; /* JSON (NULL: none), and text for people */
    const char *folder;  /* where lines are kept (NULL: nowhere), */
    FILE *kept;          /* those of this benchmark so far */
    const char *bench;
    int run, voids;
    bool is_void;
    char why_void[LINE_SIZE / 4]; /* the last of `voids` */
    struct others others;         /* since the run began */
    struct figure figures[FIGURES_MAX];
    int count;
};

struct report *report_new(bool json, const char *folder)
{
    struct report *report = calloc(1, sizeof(*report));

    if (report == NULL) {
        abort();
    }
    report->lines = json ? stdout : NULL;
    report->table = json ? stderr : stdout;
    report->folder = folder;
    return report;
}

static void path_of(char out[PATH_MAX], const struct report *report, const char *bench,
                    const char *ending)
{
    snprintf(out, PATH_MAX, "%s/%s.json%s", report->folder, bench, ending);
}

bool report_kept(const struct report *report, const char *bench)
{
    char path[PATH_MAX];

    if (report->folder == NULL) {
        return false;
    }
    path_of(path, report, bench, "");
    return access(path, R_OK) == 0;
}

static void line(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* JSON, to all who want it. */
static void line(struct report *report, const char *format, ...)
{
    FILE *const files[] = {report->lines, report->kept};
    char text[LINE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (int i = 0; i < 2; i++) {
        if (files[i] != NULL) {
            fputs(text, files[i]);
            fflush(files[i]);
        }
    }
}

static void keep_begin(struct report *report, const char *about)
{
    char path[PATH_MAX], day[32] = "";
    struct utsname system;
    time_t now = time(NULL);

    if (report->folder == NULL) {
        return;
    }
    path_of(path, report, report->bench, ".part");
    report->kept = fopen(path, "we");
    if (report->kept == NULL) {
        perror(path);
        return;
    }
    uname(&system);
    strftime(day, sizeof(day), "%Y-%m-%d", gmtime(&now));
    line(report,
         "{\"bench\":\"%s\",\"about\":\"%s\",\"day\":\"%s\",\"slotmq\":\"%s\","
         "\"kernel\":\"%s\"}\n",
         report->bench, about, day, smq_version(), system.release);
}

/* What is kept is whole, or was kept before. */
static void keep_end(struct report *report, bool good)
{
    char part[PATH_MAX], path[PATH_MAX];

    if (report->kept == NULL) {
        return;
    }
    fclose(report->kept);
    report->kept = NULL;
    path_of(part, report, report->bench, ".part");
    path_of(path, report, report->bench, "");
    if (good ? rename(part, path) != 0 : unlink(part) != 0) {
        perror(path);
    }
}

void report_free(struct report *report)
{
    free(report);
}

void report_begin(struct report *report, const char *bench, const char *about)
{
    report->bench = bench;
    report->run = report->voids = report->count = 0;
    report->is_void = false;
    keep_begin(report, about);
}

void report_note(struct report *report, const char *format, ...)
{
    char text[LINE_SIZE / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "%s: %s\n", report->bench, text);
    line(report, "{\"bench\":\"%s\",\"note\":\"%s\"}\n", report->bench, text);
}

void report_void(struct report *report, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(report->why_void, sizeof(report->why_void), format, args);
    va_end(args);
    report->is_void = true;
    report_note(report, "void: %s", report->why_void);
}

/* Keeps what the last run measured, or forgets it. */
static void end_run(struct report *report)
{
    if (report->run > 0) {
        report_value(report, "others", "% of a core", others_stop(&report->others));
    }
    for (int i = 0; i < report->count; i++) {
        struct figure *figure = &report->figures[i];

        if (report->is_void) {
            figure->count = figure->kept;
        }
        figure->kept = figure->count;
    }
    report->voids += report->is_void ? 1 : 0;
    report->is_void = false;
}

void report_run(struct report *report)
{
    end_run(report);
    report->run++;
    others_start(&report->others);
}

void report_tally(struct report *report, const char *who, struct tally_counts counts,
                  double seconds)
{
    bool lost = counts.lost > 0;

    if (lost) {
        report->is_void = true;
        snprintf(report->why_void, sizeof(report->why_void), "messages were lost");
    }
    fprintf(stderr,
            "%s %d  %-16s sent %" PRIu64 "  handled %" PRIu64 "  lost %" PRIu64
            "  duplicated %" PRIu64 "  out of order %" PRIu64 "  in %.2f s%s\n",
            report->bench, report->run, who, counts.sent, counts.handled, counts.lost,
            counts.duplicated, counts.out_of_order, seconds, lost ? "  VOID" : "");
    line(report,
         "{\"bench\":\"%s\",\"run\":%d,\"who\":\"%s\",\"sent\":%" PRIu64 ",\"handled\":%" PRIu64
         ",\"lost\":%" PRIu64 ",\"duplicated\":%" PRIu64 ",\"out_of_order\":%" PRIu64
         ",\"seconds\":%.4f,\"void\":%s}\n",
         report->bench, report->run, who, counts.sent, counts.handled, counts.lost,
         counts.duplicated, counts.out_of_order, seconds, lost ? "true" : "false");
}

static struct figure *figure_named(struct report *report, const char *name, const char *unit)
{
    for (int i = 0; i < report->count; i++) {
        if (strcmp(report->figures[i].name, name) == 0) {
            return &report->figures[i];
        }
    }
    if (report->count == FIGURES_MAX) {
        fprintf(stderr, "bench: more than %d figures\n", FIGURES_MAX);
        abort();
    }
    struct figure *figure = &report->figures[report->count++];
    *figure = (struct figure){.count = 0};
    snprintf(figure->name, sizeof(figure->name), "%s", name);
    snprintf(figure->unit, sizeof(figure->unit), "%s", unit);
    return figure;
}

void report_value(struct report *report, const char *figure, const char *unit, double value)
{
    struct figure *found = figure_named(report, figure, unit);

    if (found->count < REPORT_RUNS_MAX) {
        found->values[found->count++] = value;
    }
}

void report_ratio(struct report *report, const char *figure, double value, double by)
{
    report_value(report, figure, "ratio", by > 0 ? value / by : 0);
}

void report_uncounted(struct report *report, const char *figure, const char *unit, const char *why)
{
    struct figure *found = figure_named(report, figure, unit);

    found->uncounted++;
    found->why = why;
}

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static double median(const struct figure *figure)
{
    int middle = figure->count / 2;

    return figure->count % 2 == 1 ? figure->values[middle]
                                  : (figure->values[middle - 1] + figure->values[middle]) / 2;
}

/* What a figure is to reach.  `goal` is NULL: nothing. */
struct aim {
    const struct goal *goal;
    double limit;
    const char *verdict;
    bool missed;
};

/* To as many digits behind the point as what is aimed at has, two or three: more is not in the
 * figures. */
static double rounded(double value, double aim)
{
    double hundredths = aim * 100;
    double parts = fabs(hundredths - round(hundredths)) < 1e-6 ? 100 : 1000;

    return round(value * parts) / parts;
}

static bool is_within(double value, double aim, bool more_is_better)
{
    double margin = more_is_better ? rounded(value, aim) - aim : aim - rounded(value, aim);

    return margin > -1e-9;
}

static const char *verdict(double goal, double limit, double value)
{
    bool more_is_better = goal >= limit;

    if (is_within(value, goal, more_is_better)) {
        return "reached";
    }
    return is_within(value, limit, more_is_better) ? "accepted" : "MISSED";
}

/* The figures are sorted. */
static double limit_of(const struct report *report, const struct goal *goal)
{
    const struct rival *rival = rival_of(goal->figure);
    double limit = goal->limit;

    for (int i = 0; i < report->count && rival != NULL; i++) {
        const struct figure *figure = &report->figures[i];
        if (strcmp(figure->name, rival->rival) == 0 && figure->count > 0) {
            limit = fmax(limit, rival->times * median(figure));
        }
    }
    return limit;
}

static struct aim aim_of(const struct report *report, const struct figure *figure)
{
    struct aim aim = {.goal = goal_of(figure->name)};

    if (aim.goal == NULL) {
        return aim;
    }
    aim.limit = limit_of(report, aim.goal);
    aim.verdict =
        figure->count > 0 ? verdict(aim.goal->goal, aim.limit, median(figure)) : "does not count";
    aim.missed = strcmp(aim.verdict, "MISSED") == 0;
    return aim;
}

/* Four digits that say something. */
static const char *number(char out[24], double value)
{
    snprintf(out, 24, value >= 1000 || value <= -1000 ? "%.0f" : "%.4g", value);
    return out;
}

static void print_line(struct report *report, const struct figure *figure, const struct aim *aim)
{
    line(report, "{\"bench\":\"%s\",\"figure\":\"%s\",\"value\":", report->bench, figure->name);
    if (figure->count > 0) {
        line(report, "%.6g,\"min\":%.6g,\"max\":%.6g", median(figure), figure->values[0],
             figure->values[figure->count - 1]);
    } else {
        line(report, "null");
    }
    line(report, ",\"unit\":\"%s\",\"runs\":%d", figure->unit, figure->count);
    if (figure->uncounted > 0) {
        line(report, ",\"uncounted\":%d,\"why\":\"%s\"", figure->uncounted, figure->why);
    }
    if (aim->goal != NULL) {
        line(report, ",\"goal\":%.6g,\"limit\":%.6g,\"verdict\":\"%s\"", aim->goal->goal,
             aim->limit, aim->verdict);
    }
    line(report, "}\n");
}

static void print_row(struct report *report, const struct figure *figure, const struct aim *aim)
{
    char cells[5][24];

    fprintf(report->table, "  %-28s", figure->name);
    if (figure->count > 0) {
        fprintf(report->table, " %10s %-11s %10s .. %-10s", number(cells[0], median(figure)),
                figure->unit, number(cells[1], figure->values[0]),
                number(cells[2], figure->values[figure->count - 1]));
    }
    if (aim->goal != NULL && figure->count > 0) {
        fprintf(report->table, " goal %-5s limit %-5s %s", number(cells[3], aim->goal->goal),
                number(cells[4], aim->limit), aim->verdict);
    }
    if (figure->uncounted > 0) {
        fprintf(report->table, "  (%d of the runs do not count: %s)", figure->uncounted,
                figure->why);
    }
    fprintf(report->table, "\n");
}

static void sort_figures(struct report *report)
{
    for (int i = 0; i < report->count; i++) {
        struct figure *figure = &report->figures[i];
        qsort(figure->values, (size_t) figure->count, sizeof(double), compare);
    }
}

/* The work of other processes stands beside the figures: it says how much they can be trusted. */
static void print_head(struct report *report)
{
    const struct figure *others = figure_named(report, "others", "% of a core");
    char load[24];

    fprintf(report->table, "%s: median of %d run%s", report->bench, report->run,
            report->run == 1 ? "" : "s");
    if (others->count > 0) {
        fprintf(report->table, "; others took %s %% of a core", number(load, median(others)));
    }
    fprintf(report->table, "\n");
}

/* Returns how many figures were measured, and in `missed` how many of them are beyond limits. */
static int print_figures(struct report *report, int *missed)
{
    int measured = 0;

    *missed = 0;
    for (int i = 0; i < report->count; i++) {
        const struct figure *figure = &report->figures[i];

        if (figure->count > 0 || figure->uncounted > 0) {
            struct aim aim = aim_of(report, figure);
            print_row(report, figure, &aim);
            print_line(report, figure, &aim);
            measured++;
            *missed += aim.missed ? 1 : 0;
        }
    }
    return measured;
}

bool report_end(struct report *report, bool done, double seconds)
{
    int missed;

    end_run(report);
    sort_figures(report);
    print_head(report);
    int measured = print_figures(report, &missed);
    if (report->voids > 0) {
        fprintf(report->table, "  %d of the runs void: %s\n", report->voids, report->why_void);
    }
    fflush(report->table);
    line(report, "{\"bench\":\"%s\",\"took_s\":%.1f,\"voids\":%d}\n", report->bench, seconds,
         report->voids);
    bool good = done && measured > 0 && report->voids == 0;
    keep_end(report, good);
    return good && missed == 0;
}
