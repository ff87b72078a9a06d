/* history.h - what handlers did, as they themselves wrote it down, and a judgement over it.
 *
 * Every process appends lines to a file of its own, one write(2) each, so that a SIGKILL loses at
 * most the line that was being written.  The judgement is computed from these lines alone, never
 * from counters of the library:
 *
 *   A ns topic key body                                 a send was acknowledged
 *   S ns pid run topic slot token attempt key body      a handler began
 *   E ns pid run outcome                                it ended: done, retry, reject
 *   F ns pid                                            the library said that a call was fenced
 *   G ns pid topic slot token                           the library said that a slot is this
 *                                                       process's: its token is stored
 *   X ns pid topic slot damaged|repaired                the library said that Redis has lost a part
 *                                                       of a slot, or that it is whole again
 *   D topic body                                        seen among the dead letters at the end
 *   M ns pid kind                                       the fleet changed: join, leave, kill, pause
 *
 * Times are CLOCK_MONOTONIC of one machine.  Keys hold no white space, bodies no newline.
 *
 * Thread: history_... of one struct history may be called from any thread; the rest is one
 * thread's. */
#ifndef SUPPORT_HISTORY_H
#define SUPPORT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <slotmq/slotmq.h>

/* --- writing --- */

struct history;

/* Append to `path`, made if missing.  NULL: the file cannot be opened (errno). */
struct history *history_open(const char *path);
void history_close(struct history *history);

void history_sent(struct history *history, const char *topic, const char *key, const char *body);

/* The number to give to history_end().  The key is the first white-space separated word of the
 * body. */
uint64_t history_start(struct history *history, const smq_message_info *message);
void history_end(struct history *history, uint64_t run, const char *outcome);
void history_fenced(struct history *history);
void history_gained(struct history *history, const char *topic, int32_t slot, const char *token);
void history_damage(struct history *history, const char *topic, int32_t slot, bool repaired);
void history_dead(struct history *history, const smq_message_info *message);
void history_moved(struct history *history, pid_t pid, const char *kind);

/* --- judging --- */

enum { VERDICT_CHANGES_MAX = 64 };

/* One change of the fleet, and what the handlers' lines say about the slots of that process. */
struct verdict_change {
    char kind[8];
    pid_t pid;
    int64_t at_ns;
    int slots;           /* that changed hands because of it */
    int fenced;          /* calls of that process refused afterwards */
    int64_t takeover_ns; /* until the last of them was handled elsewhere (join: here) */
};

struct verdict {
    uint64_t sent;       /* messages acknowledged, each (topic, body) once */
    uint64_t runs;       /* handlers begun */
    uint64_t handled;    /* messages done at least once */
    uint64_t repeated;   /* messages done more than once */
    uint64_t dead;       /* dead letters at the end */
    uint64_t wrong_dead; /* dead, but done as well, or never sent */
    uint64_t lost;       /* sent, but neither done nor dead */
    uint64_t overlaps;   /* pairs of runs of one key at once under one token */
    uint64_t unfenced;   /* messages done only by runs that ended after a newer owner had begun */
    uint64_t fenced;     /* calls that were refused for their token */
    uint64_t outlived;   /* handlers begun after a newer token of their slot was stored, in time */
    uint64_t late;       /* the same, but too long after */
    int change_count;
    struct verdict_change changes[VERDICT_CHANGES_MAX];
    char example[256]; /* the first thing that is wrong, or "" */
};

/* Read all files and judge.  A handler is late that begins more than `bound_ms`, and
 * VERDICT_SLACK_MS for the reading of clocks, after a newer token was stored.  false: a file cannot
 * be read, or holds a line of another form (`error`). */
enum { VERDICT_SLACK_MS = 100 };
bool verdict_read(struct verdict *out, char *const *paths, size_t count, int64_t bound_ms,
                  char *error, size_t size);

/* Nothing lost, no overlap, nothing unfenced, nothing late, dead letters as they must be. */
bool verdict_good(const struct verdict *verdict);

void verdict_print(const struct verdict *verdict, FILE *out);

#endif
