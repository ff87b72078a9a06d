/* check_bounds.h - the bounds of slotmq check, and what of a topic is beyond them.
 *
 * Pure. */
#ifndef CLI_CHECK_BOUNDS_H
#define CLI_CHECK_BOUNDS_H

#include <slotmq/slotmq.h>

#include "cli/doctor/doctor_facts.h"
#include "cli/doctor/doctor_report.h"
#include "cli/text/exit.h"

enum {
    CHECK_LAG,
    CHECK_DUE,
    CHECK_WAITING,
    CHECK_RESTING,
    CHECK_DEAD,
    CHECK_WORK,
    CHECK_BOUND_COUNT
};

/* What is larger is a warning, an error; without a warning of its own both are the same. */
struct check_bound {
    bool given;
    int64_t warning, error;
};

/* Is it a time, of which that of several topics is the longest?  Others are numbers. */
bool check_bound_is_time(int number);

/* "lag", "due", ... */
const char *check_bound_name(int number);

/* Reads "N" or "N,M"; times of the lag and of work.  On any other result than EXIT_DONE the error
 * has been printed. */
enum exit_code check_bounds_read(struct check_bound out[CHECK_BOUND_COUNT],
                                 const char *const texts[CHECK_BOUND_COUNT]);

/* What it is in these stats.  false: not known. */
bool check_bound_value(int64_t *out, int number, const smq_stats *stats);

/* Adds a finding for each bound that the topic is beyond, or that cannot be judged: for a topic
 * that was named and has due messages this one is BLIND. */
void check_bounds_judge(struct doctor_report *report, const struct check_bound *bounds,
                        const struct doctor_topic *topic, bool named);

#endif
