/* fleet_read.h - reading all nodes of a fleet in a session of its own.
 *
 * Below: fleet_tree.h, short_session.h.  Thread: any but smq:io. */
#ifndef COORD_FLEET_FLEET_READ_H
#define COORD_FLEET_FLEET_READ_H

#include "coord/coord.h"
#include "coord/fleet/fleet_tree.h"

/* The sorted tree of the fleet at options->servers, which has no path; the caller ends it with
 * fleet_tree_fini(), also after a failure.  Blocks and fails: as coord_fleet_each(). */
smq_status fleet_read_tree(struct fleet_tree *out, const struct coord_options *options,
                           smq_error *err);

#endif
