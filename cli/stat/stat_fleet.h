/* stat_fleet.h - which owners of slots are no members of their fleet any more. */
#ifndef CLI_STAT_FLEET_H
#define CLI_STAT_FLEET_H

#include "cli/stat/stat_read.h"

/* Marks the slots, read before, whose owner is no member of the fleet at the root of the client any
 * more, and does not count such an owner.  ZooKeeper is asked only if the client has one and an
 * owner has messages.  Fails as smq_fleet_describe(); then nothing is marked. */
smq_status stat_fleet_mark_gone(struct stat_topics *topics, smq_client *client, smq_error *err);

/* The same, and says when it fails. */
void stat_fleet_mark_or_say(struct stat_topics *topics, smq_client *client);

#endif
