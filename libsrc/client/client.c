/* client.c - public entry points: the client.
 *
 * Thread: any. */
#include "client/client.h"

#include <stdlib.h>

#include <slotmq/hooks.h>

#include "admin/admin.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/status.h"
#include "client/options.h"
#include "redis/credentials.h"

smq_status client_check(const smq_client *client, smq_error *err)
{
    if (client == NULL) {
        return status_set(err, SMQ_INVALID, "the client is NULL");
    }
    return core_check(client->core, err);
}

smq_status client_check_visit(const smq_client *client, bool visitor, smq_error *err)
{
    smq_status status = client_check(client, err);

    if (status == SMQ_OK && !visitor) {
        return status_set(err, SMQ_INVALID, "the visitor is NULL");
    }
    return status;
}

smq_status client_check_timeout(int64_t timeout_ms, smq_error *err)
{
    if (timeout_ms < 0 && timeout_ms != SMQ_FOREVER) {
        return status_set(err, SMQ_INVALID,
                          "timeout_ms is negative; give 0 or more, or SMQ_FOREVER");
    }
    return SMQ_OK;
}

smq_status client_complete(void *out, smq_option_set set, const smq_client *client,
                           const void *options, smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? options_complete(out, set, options, err) : status;
}

SMQ_API smq_status smq_process_set(const smq_process_settings *settings, smq_error *err)
{
    smq_process_settings known;
    smq_status status =
        options_check_and_copy(&known, sizeof(known), settings, "SMQ_PROCESS_SETTINGS_INIT", err);

    if (status == SMQ_OK) {
        descriptors_leave(known.leave_descriptors);
        memory_on_lack(known.no_memory, known.user);
    }
    return status;
}

/* Let the options have the hooks in a struct of this library's size. */
static smq_status client_complete_hooks(smq_hooks *out, smq_client_options *options, smq_error *err)
{
    smq_status status;

    if (options->hooks == NULL) {
        return SMQ_OK;
    }
    status = options_check_and_copy(out, sizeof(*out), options->hooks, "SMQ_HOOKS_INIT", err);
    options->hooks = out;
    return status;
}

SMQ_API smq_status smq_client_new(smq_client **out, const smq_client_options *options,
                                  smq_error *err)
{
    smq_client_options known;
    smq_hooks hooks;
    struct core *core;
    smq_status status;

    if (out == NULL) {
        return status_set(err, SMQ_INVALID, "there is no place for the new client: out is NULL");
    }
    *out = NULL;
    status = options_complete(&known, SMQ_OPTION_SET_CLIENT, options, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (known.poll_events && known.event != NULL) {
        return status_set(err, SMQ_INVALID, "event and poll_events are both given; give one");
    }
    status = client_complete_hooks(&hooks, &known, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = core_new(&core, &known, admin_topic_expire, err);
    if (status != SMQ_OK) {
        return status;
    }
    *out = memory_new(sizeof(**out));
    (*out)->core = core;
    return SMQ_OK;
}

SMQ_API smq_status smq_credentials_set(smq_credentials *credentials, const char *user,
                                       const char *password, int64_t valid_ms, smq_error *err)
{
    return credentials_set(credentials, user, password, valid_ms, err);
}

SMQ_API smq_status smq_client_poll_events(smq_client *client, const smq_event **out,
                                          size_t capacity, size_t *count, int64_t timeout_ms,
                                          smq_error *err)
{
    smq_status status = client_check(client, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (events_fd(client->core->events) < 0) {
        return status_set(err, SMQ_INVALID,
                          "smq_client_poll_events() is only for clients with poll_events");
    }
    if (out == NULL || count == NULL || capacity == 0) {
        return status_set(err, SMQ_INVALID,
                          "there is no place for events: out or count is NULL, or capacity is 0");
    }
    status = client_check_timeout(timeout_ms, err);
    if (status == SMQ_OK) {
        *count = events_poll(client->core->events, out, capacity, timeout_ms);
    }
    return status;
}

SMQ_API int smq_client_fd(const smq_client *client)
{
    return client_check(client, NULL) == SMQ_OK ? events_fd(client->core->events) : -1;
}

SMQ_API void smq_client_free(smq_client *client)
{
    if (client == NULL || core_check(client->core, NULL) != SMQ_OK) {
        return; /* in a child of fork() the threads do not exist, so nothing can end them */
    }
    core_unref(client->core);
    free(client);
}
