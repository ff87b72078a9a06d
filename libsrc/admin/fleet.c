/* fleet.c - describing the fleet at the root of the client's ZooKeeper, evicting a member from it,
 * and removing what deleted topics have left there.
 *
 * Thread: the caller's. */
#include <string.h>

#include "admin/admin.h"
#include "base/status.h"

static smq_status fleet_options(struct coord_options *out, const struct core *core, smq_error *err)
{
    if (core->zookeeper == NULL) {
        return status_set(
            err, SMQ_INVALID,
            "the client has no option zookeeper; a fleet is coordinated through a root there");
    }
    *out = (struct coord_options){.servers = core->zookeeper,
                                  .events = core->events,
                                  .auth = core->zookeeper_auth,
                                  .auth_file = core->zookeeper_auth_file,
                                  .session_timeout_ms = core->session_timeout_ms};
    return SMQ_OK;
}

smq_status admin_fleet_describe(struct core *core, const smq_fleet_visitor *visitor, smq_error *err)
{
    struct coord_options options;
    smq_status status = fleet_options(&options, core, err);

    return status == SMQ_OK ? coord_fleet_each(&options, visitor, err) : status;
}

smq_status admin_fleet_evict(struct core *core, const char *member, int64_t incarnation,
                             smq_error *err)
{
    struct coord_options options;
    smq_status status = fleet_options(&options, core, err);

    if (status == SMQ_OK && (member == NULL || member[0] == '\0' || strchr(member, '/') != NULL)) {
        return status_set(err, SMQ_INVALID,
                          "give the member by the name that smq_fleet_describe() shows");
    }
    return status == SMQ_OK ? coord_fleet_evict(&options, member, incarnation, err) : status;
}

smq_status admin_fleet_forget(size_t *removed, struct core *core, coord_keep_fn *keep, void *user,
                              smq_error *err)
{
    struct coord_options options;

    *removed = 0;
    return core->zookeeper == NULL || fleet_options(&options, core, err) != SMQ_OK
               ? SMQ_OK
               : coord_fleet_forget(removed, &options, keep, user, err);
}
