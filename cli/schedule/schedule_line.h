/* schedule_line.h - a schedule as a JSON object on a line of its own: what schedule get and list
 * print, and schedule put reads.
 *
 * Pure. */
#ifndef CLI_SCHEDULE_LINE_H
#define CLI_SCHEDULE_LINE_H

#include "cli/verb/members.h"

/* A schedule and what it points to. */
struct schedule_line {
    smq_schedule_info info; /* its topic is NULL if the line has none */
    smq_schedule schedule;
    smq_message message;
    struct members_line read;
};

/* Reads a line; what only the library can judge is not looked at.  false: `error` says what is
 * wrong with it.  Free `out` with schedule_line_fini() in both cases. */
bool schedule_line_read(struct schedule_line *out, char error[MEMBERS_ERROR], const char *text,
                        size_t size);
void schedule_line_fini(struct schedule_line *line);

#endif
