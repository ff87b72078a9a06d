/* no_zookeeper.c - what coord.h promises about ZooKeeper, in a library that was built without it
 * (-Dzookeeper=disabled): each call fails at once.
 *
 * Thread: the caller's. */
#include "base/status.h"
#include "coord/coord.h"

static smq_status no_zookeeper(smq_error *err)
{
    return status_set(err, SMQ_INVALID,
                      "this library was built without ZooKeeper, and the client has the option "
                      "zookeeper: use one that was built with it, or a shared or standalone topic "
                      "without this option");
}

smq_status coord_zookeeper_new(struct coord **out, const struct coord_options *options,
                               smq_error *err)
{
    (void) out;
    (void) options;
    return no_zookeeper(err);
}

smq_status coord_raise_fence(struct coord_fence *out, const struct coord_options *options,
                             uint32_t above, const char *bound, smq_error *err)
{
    (void) out;
    (void) options;
    (void) above;
    (void) bound;
    return no_zookeeper(err);
}

smq_status coord_fleet_each(const struct coord_options *options, const smq_fleet_visitor *visitor,
                            smq_error *err)
{
    (void) options;
    (void) visitor;
    return no_zookeeper(err);
}

smq_status coord_fleet_evict(const struct coord_options *options, const char *member,
                             int64_t incarnation, smq_error *err)
{
    (void) options;
    (void) member;
    (void) incarnation;
    return no_zookeeper(err);
}

smq_status coord_fleet_forget(size_t *removed, const struct coord_options *options,
                              coord_keep_fn *keep, void *user, smq_error *err)
{
    (void) removed;
    (void) options;
    (void) keep;
    (void) user;
    return no_zookeeper(err);
}
