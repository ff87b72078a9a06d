/* doctor_report.h - what the checks of slotmq doctor have found.
 *
 * Pure. */
#ifndef CLI_DOCTOR_REPORT_H
#define CLI_DOCTOR_REPORT_H

#include <stddef.h>

/* UNKNOWN: it may not be read, or was not asked for; that is no fault.  BLIND: the same of that
 * which slotmq check is asked for, so it cannot tell. */
enum doctor_severity { DOCTOR_OK, DOCTOR_UNKNOWN, DOCTOR_BLIND, DOCTOR_WARNING, DOCTOR_ERROR };

struct doctor_finding {
    const char *check; /* the name of its row */
    enum doctor_severity severity;
    char subject[300]; /* a server, topic or member; "": all */
    char text[600];    /* what was found */
    char advice[600];  /* what to do; "" for OK and UNKNOWN */
};

/* Invariant: `worst` is the largest severity of all findings. */
struct doctor_report {
    const char *check; /* that runs now */
    struct doctor_finding *finding;
    size_t count;
    enum doctor_severity worst;
};

void doctor_report_fini(struct doctor_report *report);

/* Adds a finding; what follows `advice` is its text as for printf(). */
void doctor_report_add(struct doctor_report *report, enum doctor_severity severity,
                       const char *subject, const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
