/* episode.c - see episode.h.
 *
 * Pure. */
#include "base/episode.h"

bool episode_trouble(struct episode *episode, int64_t now_ms)
{
    bool same =
        episode->begun && (!episode->good_since || now_ms - episode->last_ms < EPISODE_QUIET_MS);

    *episode = (struct episode){.begun = true, .last_ms = now_ms};
    return !same;
}

void episode_good(struct episode *episode)
{
    episode->good_since = true;
}
