/* fleet.h - the workers of one client and their slots: joins coordination when the first worker of
 * an exclusive topic starts, and passes grants on to the workers' strands.
 *
 * Thread: as each function says. */
#ifndef QUEUE_FLEET_H
#define QUEUE_FLEET_H

#include <slotmq/core.h>

struct fleet;
struct hub;

struct fleet *fleet_new(struct hub *hub);

/* Leave coordination and free; no worker exists any more.  Blocks: 5 s.  Thread: none of the hub's.
 */
void fleet_free(struct fleet *fleet);

#endif
