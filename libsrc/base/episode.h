/* episode.h - a trouble that comes again and again is reported once, until it has ended.
 *
 * Pure.  Thread: its owner's. */
#ifndef BASE_EPISODE_H
#define BASE_EPISODE_H

#include <stdbool.h>
#include <stdint.h>

enum { EPISODE_QUIET_MS = 10000 };

/* Zeroed: there was no trouble yet. */
struct episode {
    bool begun, good_since;
    int64_t last_ms; /* when the trouble last came */
};

/* The trouble has come; true: report it.  Later ones belong to the same episode, until all went
 * well at least once and no trouble came for EPISODE_QUIET_MS. */
bool episode_trouble(struct episode *episode, int64_t now_ms);

/* All went well. */
void episode_good(struct episode *episode);

#endif
