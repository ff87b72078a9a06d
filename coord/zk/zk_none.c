/* zk_none.c - the session with ZooKeeper of a library that was built without it
 * (-Dzookeeper=disabled): there is none.
 *
 * Pure. */
#include "base/status.h"
#include "coord/zk/zk_session.h"

smq_status zk_session_new(struct session **out, const struct zk_servers *servers, smq_error *err)
{
    (void) out;
    (void) servers;
    return status_set(err, SMQ_INVALID,
                      "this library was built without ZooKeeper, and the client has the option "
                      "zookeeper: use one that was built with it, or leave that option out, and "
                      "the fleet is in Redis");
}
