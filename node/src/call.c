/* call.c - calls of the library that wait: on a thread of the pool of Node.js, with a promise of
 * their result. */
#include <stdlib.h>

#include "addon.h"

struct call *call_new(napi_env env, struct handle *handle)
{
    struct call *call = calloc(1, sizeof(*call));

    if (call == NULL) {
        abort();
    }
    call->addon = addon_of(env);
    call->handle = handle;
    return call;
}

napi_value call_drop(struct call *call)
{
    if (call->work != NULL) {
        napi_delete_async_work(call->addon->env, call->work);
    }
    smq_options_free(call->options);
    arena_reset(&call->arena);
    free(call);
    return NULL;
}

napi_value call_error(napi_env env, smq_status status, const char *text)
{
    napi_value make = NULL, error = NULL;
    napi_value argv[] = {value_of_number(env, status), value_of_text(env, smq_status_name(status)),
                         value_of_number(env, smq_status_class(status)),
                         value_of_text(env, text[0] != '\0' ? text : smq_status_text(status))};

    napi_get_reference_value(env, addon_of(env)->error_of, &make);
    napi_call_function(env, make, make, sizeof(argv) / sizeof(argv[0]), argv, &error);
    return error;
}

napi_value call_throw(napi_env env, smq_status status, const char *text)
{
    napi_throw(env, call_error(env, status, text));
    return NULL;
}

static void call_execute(napi_env env, void *data)
{
    struct call *call = data;

    (void) env;
    call->run(call);
}

/* At the end of the environment promises can be neither kept nor broken, but handles are made and
 * left. */
static void call_complete(napi_env env, napi_status done, void *data)
{
    struct call *call = data;
    napi_value undefined = NULL, result = NULL;

    (void) done;
    napi_get_undefined(env, &undefined);
    if (call->status != SMQ_OK) {
        napi_reject_deferred(env, call->deferred, call_error(env, call->status, call->err.text));
    } else {
        result = call->result != NULL ? call->result(env, call) : NULL;
        napi_resolve_deferred(env, call->deferred, result != NULL ? result : undefined);
    }
    if (call->also != NULL) {
        handle_leave(call->also);
    }
    if (call->handle != NULL) {
        handle_leave(call->handle);
    }
    call_drop(call);
}

napi_value call_prepare(napi_env env, struct call *call)
{
    napi_value promise = NULL;

    if (napi_create_async_work(env, NULL, value_of_text(env, "slotmq"), call_execute, call_complete,
                               call, &call->work) != napi_ok ||
        napi_create_promise(env, &call->deferred, &promise) != napi_ok) {
        abort();
    }
    return promise;
}

napi_value call_begin(napi_env env, struct call *call)
{
    napi_value promise = call_prepare(env, call);

    if (call->handle != NULL) {
        call->handle->calls++;
    }
    if (call->also != NULL) {
        call->also->calls++;
    }
    napi_queue_async_work(env, call->work);
    return promise;
}
