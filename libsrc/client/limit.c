/* limit.c - public entry points: a limit of several consumers.
 *
 * Thread: any. */
#include "consume/consumer/consumer.h"

#include <inttypes.h>

#include "base/status.h"
#include "client/client.h"

static smq_status limit_check_most(int32_t most, smq_error *err)
{
    return most >= 0 ? SMQ_OK
                     : status_set(err, SMQ_INVALID,
                                  "a limit of deliveries must be 0 or more, not %" PRId32, most);
}

SMQ_API smq_status smq_limit_new(smq_limit **out, smq_client *client, int32_t most, smq_error *err)
{
    smq_status status = client_check(client, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (out == NULL) {
        return status_set(err, SMQ_INVALID, "there is no place for the new limit: out is NULL");
    }
    *out = NULL;
    status = limit_check_most(most, err);
    if (status != SMQ_OK) {
        return status;
    }
    *out = limit_new(core_ref(client->core), most);
    return SMQ_OK;
}

SMQ_API smq_status smq_limit_set(smq_limit *limit, int32_t most, smq_error *err)
{
    smq_status status;

    if (limit == NULL) {
        return status_set(err, SMQ_INVALID, "the limit is NULL");
    }
    status = core_check(limit->core, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = limit_check_most(most, err);
    if (status == SMQ_OK) {
        limit_set(limit, most);
    }
    return status;
}

SMQ_API void smq_limit_free(smq_limit *limit)
{
    if (limit != NULL && core_check(limit->core, NULL) == SMQ_OK) {
        limit_unref(limit);
    }
}
