/* doctor_report.c - what the checks of slotmq doctor have found.
 *
 * Pure. */
#include "cli/doctor/doctor_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/text/say.h"

void doctor_report_add(struct doctor_report *report, enum doctor_severity severity,
                       const char *subject, const char *advice, const char *format, ...)
{
    struct doctor_finding *finding = NULL;
    va_list args;

    report->finding = say_grow(report->finding, report->count, sizeof(*report->finding));
    finding = &report->finding[report->count++];
    finding->check = report->check;
    finding->severity = severity;
    snprintf(finding->subject, sizeof(finding->subject), "%s", subject);
    snprintf(finding->advice, sizeof(finding->advice), "%s", advice);
    va_start(args, format);
    vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
    report->worst = severity > report->worst ? severity : report->worst;
}

void doctor_report_fini(struct doctor_report *report)
{
    free(report->finding);
    *report = (struct doctor_report){.count = 0};
}
