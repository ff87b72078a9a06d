/* client.c - public entry points: the client.
 *
 * Thread: any. */
#include "client/client.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "client/options.h"

smq_status client_check(const smq_client *client, smq_error *err)
{
    if (client == NULL) {
        return status_set(err, SMQ_INVALID, "the client is NULL");
    }
    return hub_check(client->hub, err);
}

smq_status client_check_visit(const smq_client *client, bool visitor, smq_error *err)
{
    smq_status status = client_check(client, err);

    if (status == SMQ_OK && !visitor) {
        return status_set(err, SMQ_INVALID, "the visitor is NULL");
    }
    return status;
}

SMQ_API smq_status smq_client_new(smq_client **out, const smq_client_options *options,
                                  smq_error *err)
{
    smq_client_options known;
    struct hub *hub;
    smq_status status;

    if (out == NULL) {
        return status_set(err, SMQ_INVALID, "no place for the new client: out is NULL");
    }
    *out = NULL;
    status = options_take(&known, sizeof(known), options, "SMQ_CLIENT_OPTIONS_INIT", err);
    if (status == SMQ_OK) {
        status = hub_new(&hub, &known, err);
    }
    if (status != SMQ_OK) {
        return status;
    }
    *out = memory_new(sizeof(**out));
    (*out)->hub = hub;
    return SMQ_OK;
}

SMQ_API void smq_client_free(smq_client *client)
{
    if (client == NULL || hub_check(client->hub, NULL) != SMQ_OK) {
        return; /* the threads of a forked copy do not exist: nothing could end them */
    }
    hub_unref(client->hub);
    free(client);
}
