/* store.c - see store.h.
 *
 * Thread: any. */
#include "coord/store.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/status.h"
#include "coord/tree/tree_session.h"
#include "coord/zk/zk_session.h"

static smq_status store_init_redis(struct coord_store *out, const struct coord_options *options,
                                   smq_error *err)
{
    smq_status status = coord_check_root(options->root, err);

    if (status == SMQ_OK) {
        (void) snprintf(out->root, sizeof(out->root), "%s", options->root);
        out->session = tree_session_new(options->port);
    }
    return status;
}

static smq_status store_init_zookeeper(struct coord_store *out, const struct coord_options *options,
                                       smq_error *err)
{
    smq_status status = coord_check_servers(out->root, sizeof(out->root), options->servers, err);

    if (status != SMQ_OK) {
        return status;
    }
    out->hosts = coord_servers_hosts(options->servers);
    return zk_session_new(&out->session,
                          &(struct zk_servers){.hosts = out->hosts,
                                               .auth = options->auth,
                                               .auth_file = options->auth_file},
                          err);
}

smq_status coord_store_init(struct coord_store *out, const struct coord_options *options,
                            smq_error *err)
{
    struct buf name = {0};
    smq_status status;

    *out = (struct coord_store){.kind = options->port != NULL ? "Redis" : "ZooKeeper"};
    status = options->port != NULL ? store_init_redis(out, options, err)
                                   : store_init_zookeeper(out, options, err);
    if (status != SMQ_OK) {
        coord_store_fini(out);
        return status;
    }
    buf_printf(&name, "%s%s%s", out->kind, out->hosts != NULL ? " at " : "",
               out->hosts != NULL ? out->hosts : "");
    out->name = name.data;
    return SMQ_OK;
}

void coord_store_fini(struct coord_store *store)
{
    session_free(store->session);
    free(store->hosts);
    free(store->name);
    store->session = NULL;
    store->hosts = store->name = NULL;
}
