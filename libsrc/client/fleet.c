/* fleet.c - public entry points: operations on a fleet.
 *
 * Thread: any. */
#include <slotmq/ops.h>

#include "admin/admin.h"
#include "client/client.h"
#include "client/options.h"

SMQ_API smq_status smq_fleet_raise_fence(smq_client *client, smq_fence *out, smq_error *err)
{
    smq_fence fence = SMQ_FENCE_INIT;
    smq_status status = client_check(client, err);

    if (status != SMQ_OK) {
        return status;
    }
    status =
        out != NULL ? options_copy_out(out, &fence, sizeof(fence), "SMQ_FENCE_INIT", err) : SMQ_OK;
    if (status != SMQ_OK) {
        return status;
    }
    status = admin_raise_fence(&fence, client->core, err);
    return status == SMQ_OK && out != NULL
               ? options_copy_out(out, &fence, sizeof(fence), "SMQ_FENCE_INIT", err)
               : status;
}

SMQ_API smq_status smq_fleet_describe(smq_client *client, const smq_fleet_visitor *visitor,
                                      smq_error *err)
{
    smq_fleet_visitor full;
    smq_status status = client_check_visit(client, visitor != NULL, err);

    if (status == SMQ_OK) {
        status =
            options_check_and_copy(&full, sizeof(full), visitor, "SMQ_FLEET_VISITOR_INIT", err);
    }
    return status == SMQ_OK ? admin_fleet_describe(client->core, &full, err) : status;
}

SMQ_API smq_status smq_fleet_evict(smq_client *client, const char *member, int64_t incarnation,
                                   smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_fleet_evict(client->core, member, incarnation, err) : status;
}

SMQ_API smq_status smq_topic_binding(smq_client *client, const char *topic, smq_binding *out,
                                     smq_error *err)
{
    smq_binding binding = SMQ_BINDING_INIT;
    smq_status status = client_check_visit(client, true, err);

    if (status == SMQ_OK) { /* before anything is asked: is the caller's struct one? */
        status = options_copy_out(out, &binding, sizeof(binding), "SMQ_BINDING_INIT", err);
    }
    if (status == SMQ_OK) {
        status = admin_topic_binding(&binding, client->core, topic, err);
    }
    return status == SMQ_OK
               ? options_copy_out(out, &binding, sizeof(binding), "SMQ_BINDING_INIT", err)
               : status;
}
