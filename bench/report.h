/* report.h - collects the values of all runs of a benchmark; prints runs, medians and what they
 * were meant to be.
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

/* `folder`: NULL for none; it must exist. */
struct report *report_new(bool json, const char *folder);
void report_free(struct report *report);

/* A benchmark begins, and each of its runs.  Values belong to the run that was begun last; one of
 * them, "others", is what everybody else took of the machine meanwhile. */
void report_begin(struct report *report, const char *bench, const char *about);
void report_run(struct report *report);

/* Something a reader of the figures should know: plain text of one line. */
void report_note(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What `who` did in this run.  A run in which anything was lost is void: none of its values
 * counts. */
void report_tally(struct report *report, const char *who, struct tally_counts counts,
                  double seconds);

/* One value of a figure in this run, as "messages/s". */
void report_value(struct report *report, const char *figure, const char *unit, double value);

/* A figure "send/raw": how one compares with another in this run. */
void report_ratio(struct report *report, const char *figure, double value, double by);

/* The ratio of this run does not count: `why`, a constant. */
void report_uncounted(struct report *report, const char *figure, const char *why);

/* Are lines of this benchmark kept already? */
bool report_kept(const struct report *report, const char *bench);

/* Print the medians.  `done`: the benchmark came to its end, after `seconds`.  false: it did not, a
 * run was void, or nothing was measured. */
bool report_end(struct report *report, bool done, double seconds);

/* What a figure should be, and what is not acceptable; the goal is the larger one where more is
 * better.  NULL: nobody set one. */
struct goal {
    const char *figure;
    double goal, limit;
};
const struct goal *goal_of(const char *figure);

#endif
