/* report.c - see report.h.
 *
 * Pure. */
#include "admin/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One more thing that was done, or is to be known. */
static void report_add(smq_topic_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void report_add(smq_topic_report *report, const char *format, ...)
{
    size_t used = strlen(report->text);
    va_list args;

    if (used > 0) {
        used += (size_t) snprintf(report->text + used, sizeof(report->text) - used, "; ");
        used = used < sizeof(report->text) ? used : sizeof(report->text) - 1;
    }
    va_start(args, format);
    (void) vsnprintf(report->text + used, sizeof(report->text) - used, format, args);
    va_end(args);
}

void report_created(smq_topic_report *report, const struct topic *stored, const struct topic *asked)
{
    char difference[160];

    if (topic_difference(difference, sizeof(difference), stored, asked)) {
        report->differs = true;
        report_add(report, "%s (it is not changed: see topic alter)", difference);
    }
}

void report_repaired(smq_topic_report *report, const struct damage_verdict *verdict, bool restored)
{
    report->repaired = true;
    report->restored = restored;
    report->slots_reopened = verdict->closed;
    report->lost_alteration = verdict->lost_alteration;
    if (restored) {
        report->adopted = verdict->messages;
        report_add(report, "its definition was lost and is restored, with %" PRIu64 " messages",
                   verdict->messages);
    } else if (verdict->rewrite) {
        report_add(report, "its definition had lost changes, which are restored from its slots");
    }
    if (verdict->closed > 0) {
        report_add(report, "%s %s had lost %s keys and %s open again",
                   verdict->closed == 1 ? "slot" : "slots", verdict->closed_list,
                   verdict->closed == 1 ? "its" : "their", verdict->closed == 1 ? "is" : "are");
    }
    if (verdict->lost_alteration) {
        report_add(report, "the last alteration is lost: check the options");
    }
    if (restored && verdict->coord[0] != '\0') {
        report_add(report, "it is bound to \"%.60s\" as before", verdict->coord);
    } else if (restored && !verdict->topic.shared) {
        report_add(report, "no slot knows its former binding: its next consumer binds it");
    }
}

void report_relisted(smq_topic_report *report)
{
    report->repaired = true;
    report_add(report, "its name was missing in the list of topics");
}

void report_forgotten(smq_topic_report *report)
{
    report->repaired = true;
    report_add(report, "it was deleted, and its last keys are removed");
}

void report_nodes(smq_topic_report *report, size_t topics, const char *why)
{
    if (topics > 0) {
        report_add(report, "the nodes of %zu deleted %s are removed from ZooKeeper", topics,
                   topics == 1 ? "topic" : "topics");
        report->repaired = true;
    }
    if (why != NULL) {
        report_add(report, "it is not known whether ZooKeeper has nodes of deleted topics: %.300s",
                   why);
    }
}

void report_join(smq_topic_report *report, const smq_topic_report *group, const char *name)
{
    report->repaired = report->repaired || group->repaired;
    report->restored = report->restored || group->restored;
    report->lost_alteration = report->lost_alteration || group->lost_alteration;
    report->slots_reopened += group->slots_reopened;
    report->adopted += group->adopted;
    if (group->text[0] != '\0') {
        report_add(report, "%s: %s", name, group->text);
    }
}
