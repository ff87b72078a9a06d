/* verdict.h - what slotmq check says, for /metrics and /readyz: it is asked again and again.
 *
 * Thread: any, but for verdict_begin(), verdict_end() and verdict_free(): main. */
#ifndef SERVE_VERDICT_H
#define SERVE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/verb/verb.h"

struct verdict;

/* Starts its thread.  It pauses so long that Redis works half a percent of the time for it at most,
 * and at least 30 s; 2 s while a
 * server refuses writes. */
struct verdict *verdict_begin(const struct command *command);
void verdict_end(struct verdict *verdict); /* waits for a check that runs: 7 s at most */
void verdict_free(struct verdict *verdict);

/* The verdict as Prometheus text behind *text, of *size bytes without a NUL, which grows; nothing,
 * while there is none yet. */
void verdict_append(struct verdict *verdict, char **text, size_t *size);

/* Does a server refuse writes, as the last check found?  `why` names it, with the words of Redis.
 */
bool verdict_refuses(struct verdict *verdict, char *why, size_t size);

#endif
