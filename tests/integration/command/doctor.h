/* doctor.h - one run of slotmq doctor, and what it found.
 *
 * What goes wrong fails the test that runs.
 *
 * Thread: main. */
#ifndef COMMAND_DOCTOR_H
#define COMMAND_DOCTOR_H

#include "command.h"

/* Run slotmq doctor --json with these further arguments; it must end with this exit code.  What it
 * printed, to be given to json_decref(). */
json_t *doctor_run(int code, const char *const *arguments);

/* Is there a finding of this check and severity whose text and subject hold these?  `subject` "":
 * any. */
bool doctor_found(const json_t *document, const char *check, const char *severity,
                  const char *subject, const char *text);

/* There is; or there is none of this check that is a warning or an error. */
void assert_found(const json_t *document, const char *check, const char *severity,
                  const char *subject, const char *text);
void assert_not_found(const json_t *document, const char *check);

#endif
