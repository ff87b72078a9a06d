/* doctor.h - an examination of servers, topics and the fleet: for slotmq doctor and slotmq check.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <jansson.h>

#include "cli/doctor/doctor_checks.h"
#include "cli/text/table.h"

/* Connects, finds out the facts and runs the checks.  `facts` is all zero but for `probe` and
 * `only`.  That there is no Redis is a finding; on any other result than EXIT_DONE the error has
 * been printed, and nothing is known. */
enum exit_code doctor_examine(struct doctor_report *report, struct doctor_facts *facts,
                              const struct command *command);

/* The exit code of slotmq check for its worst finding. */
enum exit_code doctor_probe_code(enum doctor_severity worst);

/* The report as JSON; and all findings: an array, and a table. */
json_t *doctor_json(const struct doctor_report *report);
json_t *doctor_findings_json(const struct doctor_report *report);
struct table *doctor_table(const struct doctor_report *report);

#endif
