/* handle.c - the handles of the library that JavaScript has, their descriptors, and the end of all
 * of them. */
#include <stdlib.h>

#include "addon.h"

struct addon *addon_of(napi_env env)
{
    void *addon = NULL;

    napi_get_instance_data(env, &addon);
    return addon;
}

void addon_drop(struct addon *addon)
{
    if (--addon->owners == 0) {
        arena_reset(&addon->arena);
        free(addon);
    }
}

/* Its memory goes when nobody knows it any more. */
static void handle_settle(struct handle *handle)
{
    if (handle->native == NULL && handle->end == NULL && handle->is_dropped &&
        handle->poll_state == POLL_NONE) {
        struct addon *addon = handle->addon;

        LIST_REMOVE(handle, entry);
        free(handle->held);
        free(handle);
        addon_drop(addon);
    }
}

static void handle_drop(napi_env env, void *data, void *hint)
{
    struct handle *handle = data;

    (void) env;
    (void) hint;
    handle->is_dropped = true;
    handle_settle(handle);
}

napi_value handle_new(struct addon *addon, enum handle_kind kind, void *native)
{
    struct handle *handle = calloc(1, sizeof(*handle));
    napi_value value = NULL;

    if (handle == NULL) {
        abort();
    }
    handle->addon = addon;
    handle->kind = kind;
    handle->native = native;
    addon->owners++;
    LIST_INSERT_HEAD(&addon->handles, handle, entry);
    if (napi_create_external(addon->env, handle, handle_drop, NULL, &value) != napi_ok) {
        handle->is_dropped = true;
    }
    return value;
}

void *handle_native(const struct handle *handle)
{
    return handle != NULL ? handle->native : NULL;
}

struct handle *handle_get(napi_env env, napi_value value, enum handle_kind kind)
{
    void *data = NULL;

    if (napi_get_value_external(env, value, &data) != napi_ok ||
        ((struct handle *) data)->kind != kind) {
        napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", "another handle is expected");
        return NULL;
    }
    if (((struct handle *) data)->closed) {
        call_throw(env, SMQ_CLOSED, "it was closed");
        return NULL;
    }
    return data;
}

struct handle *handle_arg(napi_env env, napi_callback_info info, size_t count, napi_value *argv,
                          enum handle_kind kind)
{
    napi_get_cb_info(env, info, &count, argv, NULL, NULL);
    return handle_get(env, argv[0], kind);
}

/* A handle of any kind, also a closed one. */
static struct handle *handle_any(napi_env env, napi_callback_info info, napi_value *argv,
                                 size_t count)
{
    void *data = NULL;

    napi_get_cb_info(env, info, &count, argv, NULL, NULL);
    return napi_get_value_external(env, argv[0], &data) == napi_ok ? data : NULL;
}

/* === Descriptors ======================================================== */

/* The callback of JavaScript takes what there is.  What it throws is an uncaught exception. */
static void handle_on_readable(uv_poll_t *poll, int status, int events)
{
    struct handle *handle = poll->data;
    napi_env env = handle->addon->env;
    napi_value callback = NULL, error;
    napi_handle_scope scope;

    (void) status;
    (void) events;
    napi_open_handle_scope(env, &scope);
    napi_get_reference_value(env, handle->callback, &callback);
    napi_status made = napi_make_callback(env, NULL, callback, callback, 0, NULL, NULL);
    if (made == napi_pending_exception &&
        napi_get_and_clear_last_exception(env, &error) == napi_ok) {
        napi_fatal_exception(env, error);
    } else if (made != napi_ok) {
        uv_poll_stop(poll); /* the environment ends */
    }
    napi_close_handle_scope(env, scope);
}

/* watch(handle, callback): the callback takes what comes, once listen() was called. */
ADDON_CALL(handle_watch)
{
    napi_value argv[2];
    struct handle *handle = handle_any(env, info, argv, 2);

    if (handle != NULL && !handle->closed && handle->poll_state == POLL_NONE &&
        uv_poll_init(handle->addon->loop, &handle->poll,
                     handle_kinds[handle->kind].fd(handle->native)) == 0) {
        handle->poll.data = handle;
        handle->poll_state = POLL_OPEN;
        napi_create_reference(env, argv[1], 1, &handle->callback);
    }
    return NULL;
}

/* listen(handle, listens, holds): `holds`: the process lives as long as it listens. */
ADDON_CALL(handle_listen)
{
    napi_value argv[3];
    struct handle *handle = handle_any(env, info, argv, 3);

    if (handle != NULL && handle->poll_state == POLL_OPEN) {
        bool listens = value_bool(env, argv[1]);

        if (listens && !handle->listens) {
            uv_poll_start(&handle->poll, UV_READABLE, handle_on_readable);
        } else if (!listens && handle->listens) {
            uv_poll_stop(&handle->poll);
        }
        handle->listens = listens;
        (value_bool(env, argv[2]) ? uv_ref : uv_unref)((uv_handle_t *) &handle->poll);
    }
    return NULL;
}

/* clientPoll(client): records of events; undefined: there is none. */
ADDON_CALL(handle_events)
{
    enum { AT_ONCE = 64 };
    const smq_event *events[AT_ONCE];
    napi_value argv[1];
    size_t count = 0;
    const struct handle *client = handle_arg(env, info, 1, argv, HANDLE_CLIENT);

    if (client == NULL) {
        return NULL;
    }
    smq_client_poll_events(client->native, events, AT_ONCE, &count, 0, NULL);
    return pack_buffer(env, &record_event, (const void *const *) events, count);
}

/* === Ends =============================================================== */

static void handle_on_closed(uv_handle_t *poll)
{
    struct handle *handle = poll->data;
    struct addon *addon = handle->addon;

    handle->poll_state = POLL_NONE;
    handle_settle(handle);
    if (addon->closing > 0 && --addon->closing == 0) {
        napi_remove_async_cleanup_hook(addon->hook);
        addon_drop(addon);
    }
}

static void handle_close_poll(struct handle *handle)
{
    handle->closed = true;
    if (handle->poll_state == POLL_OPEN) {
        handle->poll_state = POLL_CLOSING;
        uv_poll_stop(&handle->poll);
        uv_close((uv_handle_t *) &handle->poll, handle_on_closed);
    }
}

static void handle_run_end(struct call *call)
{
    const struct handle *handle = call->made;

    handle_kinds[handle->kind].free(handle->native);
}

static napi_value handle_ended(napi_env env, struct call *call)
{
    struct handle *handle = call->made;

    (void) env;
    handle->native = NULL;
    handle->end = NULL;
    consumer_release_held(handle);
    handle_settle(handle);
    return NULL;
}

static const struct call_kind handle_end = {.run = handle_run_end, .result = handle_ended};

void handle_leave(struct handle *handle)
{
    if (--handle->calls == 0 && handle->end != NULL) {
        napi_queue_async_work(handle->addon->env, handle->end->work);
    }
}

/* close(handle): a promise of its end, which waits for calls that run. */
ADDON_CALL(handle_close)
{
    napi_value argv[2];
    struct handle *handle = handle_any(env, info, argv, 2);

    if (handle == NULL || handle->closed) {
        return NULL;
    }
    handle_close_poll(handle);
    if (handle->callback != NULL) {
        napi_delete_reference(env, handle->callback);
    }
    handle->end = call_new(env, &handle_end);
    handle->end->made = handle;
    napi_value promise = call_prepare(env, handle->end);
    handle->calls++;
    handle_leave(handle);
    return promise;
}

/* The environment ends, and no call runs: it has waited for them. */
void handle_end_all(napi_async_cleanup_hook_handle hook, void *arg)
{
    struct addon *addon = arg;
    struct handle *handle, *next;

    addon->closing = 1;
    for (handle = LIST_FIRST(&addon->handles); handle != NULL; handle = next) {
        next = LIST_NEXT(handle, entry);
        handle_close_poll(handle);
        addon->closing += handle->poll_state != POLL_NONE;
        handle_kinds[handle->kind].free(handle->native);
        handle->native = NULL;
        consumer_release_held(handle);
        handle_settle(handle);
    }
    if (--addon->closing == 0) {
        napi_remove_async_cleanup_hook(hook);
        addon_drop(addon);
    }
}
