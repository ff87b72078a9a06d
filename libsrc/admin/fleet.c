/* fleet.c - describing the fleet at the root of the client, evicting a member from it,
 * and removing what deleted topics have left there.
 *
 * Thread: the caller's. */
#include <string.h>

#include "admin/fleet.h"
#include "base/status.h"

void fleet_use(struct fleet_use *out, struct core *core)
{
    *out = (struct fleet_use){.options = {.servers = core->zookeeper,
                                          .root = core->root,
                                          .events = core->events,
                                          .auth = core->zookeeper_auth,
                                          .auth_file = core->zookeeper_auth_file,
                                          .session_timeout_ms = core->session_timeout_ms}};
    if (core->root != NULL) {
        out->port = tree_port_new(core->io, core->redis, core->root);
        out->options.port = tree_port_door(out->port);
    }
}

void fleet_used(struct fleet_use *use)
{
    tree_port_free(use->port);
}

smq_status admin_fleet_describe(struct core *core, const smq_fleet_visitor *visitor, smq_error *err)
{
    struct fleet_use use;
    smq_status status;

    fleet_use(&use, core);
    status = coord_fleet_each(&use.options, visitor, err);
    fleet_used(&use);
    return status;
}

smq_status admin_fleet_evict(struct core *core, const char *member, int64_t incarnation,
                             smq_error *err)
{
    struct fleet_use use;
    smq_status status;

    if (member == NULL || member[0] == '\0' || strchr(member, '/') != NULL) {
        return status_set(err, SMQ_INVALID,
                          "give the member by the name that smq_fleet_describe() shows");
    }
    fleet_use(&use, core);
    status = coord_fleet_evict(&use.options, member, incarnation, err);
    fleet_used(&use);
    return status;
}

smq_status admin_fleet_forget(size_t *removed, struct core *core, coord_keep_fn *keep, void *user,
                              smq_error *err)
{
    struct fleet_use use;
    smq_status status;

    *removed = 0;
    fleet_use(&use, core);
    status = coord_fleet_forget(removed, &use.options, keep, user, err);
    fleet_used(&use);
    return status;
}
