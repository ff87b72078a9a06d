/* store.h - which store of a fleet the options name, for members and for what operators do.
 *
 * Below: coord.h, session.h, zk_session.h, tree_session.h.  Thread: any. */
#ifndef COORD_STORE_H
#define COORD_STORE_H

#include "coord/coord.h"
#include "coord/session/session.h"

/* Its strings are its own, but those that the options have. */
struct coord_store {
    char root[SESSION_ROOT_MAX];
    char *hosts;             /* of ZooKeeper, or NULL */
    char *name;              /* as messages name it: "ZooKeeper at HOSTS", "Redis" */
    const char *kind;        /* "ZooKeeper", "Redis" */
    struct session *session; /* not started */
};

/* Check the options, and make the store's session.  Fails: INVALID. */
smq_status coord_store_init(struct coord_store *out, const struct coord_options *options,
                            smq_error *err);

/* Free it, but for the root, and the session, whose loop has ended.  A zeroed store is none. */
void coord_store_fini(struct coord_store *store);

#endif
