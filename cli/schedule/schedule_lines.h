/* schedule_lines.h - schedules of a file, or of standard input, put as they were. */
#ifndef CLI_SCHEDULE_LINES_H
#define CLI_SCHEDULE_LINES_H

#include "cli/topic/topic.h"

/* Puts each line of the file in the topic that the first word names; NULL and "-" are standard
 * input.  Stops at the first line that fails, and says which one, why, and what was put.
 * *count: how many are there now. */
enum exit_code schedule_lines_put(uint64_t *count, smq_client *client,
                                  const struct command *command, const struct topic_facts *topic,
                                  const char *path);

#endif
