/* health.c - public entry points: the health of this process.
 *
 * Thread: any. */
#include <slotmq/health.h>

#include "admin/health_report.h"
#include "client/client.h"
#include "client/options.h"

SMQ_API smq_status smq_client_health(smq_client *client, smq_health *out, smq_error *err)
{
    smq_health health;
    smq_status status = client_check(client, err);

    if (status == SMQ_OK) {
        status = health_report(&health, client->core, err);
    }
    if (status != SMQ_OK) {
        return status;
    }
    return options_copy_out(out, &health, sizeof(health), "SMQ_HEALTH_INIT", err);
}
