/* fleet.h - the fleet of a client, for one operation of an operator.
 *
 * Below: admin.h.  Thread: any but the core's. */
#ifndef ADMIN_FLEET_H
#define ADMIN_FLEET_H

#include "admin/admin.h"
#include "core/tree_port.h"

struct fleet_use {
    struct coord_options options;
    struct tree_port *port; /* of a fleet in Redis, or NULL */
};

/* The options of coordination of this client; fleet_used() follows. */
void fleet_use(struct fleet_use *out, struct core *core);
void fleet_used(struct fleet_use *use);

#endif
