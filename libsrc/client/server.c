/* server.c - public entry points: the servers of a client.
 *
 * Thread: any. */
#include <slotmq/ops.h>

#include "admin/admin.h"
#include "client/client.h"

SMQ_API smq_status smq_server_each(smq_client *client, smq_server_fn *visit, void *user,
                                   smq_error *err)
{
    smq_status status = client_check_visit(client, visit != NULL, err);

    return status == SMQ_OK ? admin_server_each(client->core, visit, user, err) : status;
}

SMQ_API smq_status smq_sender_each(smq_client *client, const char *topic, smq_sender_fn *visit,
                                   void *user, smq_error *err)
{
    smq_status status = client_check_visit(client, visit != NULL, err);

    return status == SMQ_OK ? admin_sender_each(client->core, topic, visit, user, err) : status;
}
