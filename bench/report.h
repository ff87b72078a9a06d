/* report.h - collects the values of all runs of a benchmark; prints runs, medians and goals.
 *
 * A table goes to standard output and the runs to standard error; with JSON, lines for both go to
 * standard output and the table to standard error.  With a folder the lines of a finished benchmark
 * are also kept there, as BENCH.json, in place of older ones.
 *
 * Thread: main. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>

#include "tally.h"

struct report;

enum { REPORT_RUNS_MAX = 32 };

/* `folder`: NULL for none; it must exist. */
struct report *report_new(bool json, const char *folder);
void report_free(struct report *report);

/* Begin a benchmark, and each of its runs.  Values belong to the run that was begun last.  The
 * value "others" is the processor time that other processes took during the run. */
void report_begin(struct report *report, const char *bench, const char *about);
void report_run(struct report *report);

/* Something a reader of the figures should know: plain text of one line. */
void report_note(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What `who` did in this run.  A run that lost a message is void: none of its values counts. */
void report_tally(struct report *report, const char *who, struct tally_counts counts,
                  double seconds);

/* This run is void for another reason: text as of a note. */
void report_void(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One value of a figure in this run, as "messages/s". */
void report_value(struct report *report, const char *figure, const char *unit, double value);

/* A figure "send/raw": the ratio of two values in this run. */
void report_ratio(struct report *report, const char *figure, double value, double by);

/* The figure of this run does not count: `why`, a constant. */
void report_uncounted(struct report *report, const char *figure, const char *unit, const char *why);

/* Are lines of this benchmark kept already? */
bool report_kept(const struct report *report, const char *bench);

/* Print the medians.  `done`: the benchmark completed after `seconds`.  false: it did not, a run
 * was void, nothing was measured, or a figure is beyond its limit.  Only the last is kept. */
bool report_end(struct report *report, bool done, double seconds);

/* The goal of a figure, and the limit of what is acceptable; the goal is the larger one where more
 * is better.  NULL: the figure has none. */
struct goal {
    const char *figure;
    double goal, limit;
};
const struct goal *goal_of(const char *figure);

/* The limit of a figure of which less is better is at least `times` the value of another one of the
 * same benchmark.  NULL: it has no such rival. */
struct rival {
    const char *figure, *rival;
    double times;
};
const struct rival *rival_of(const char *figure);

#endif
