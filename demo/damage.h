/* damage.h - one slot loses its keys, as when a Redis node returns empty, and is repaired.
 *
 * Thread: main. */
#ifndef DEMO_DAMAGE_H
#define DEMO_DAMAGE_H

#include <slotmq/slotmq.h>

#include "support/servers.h"

/* A slot of `topic` without messages, so that no message is lost with it; -1: there is none. */
int32_t damage_choose(smq_client *client, const char *topic);

/* Remove its keys, and break the node's subscriptions as its absence would. */
bool damage_do(const struct servers *servers, const char *topic, int32_t slot);

/* Does a history say that a worker reported this slot as "damaged", or "repaired"? */
bool damage_is_reported(const char *path, const char *topic, int32_t slot, const char *what);

#endif
